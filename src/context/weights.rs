//! The numbers of the ladder and the schedule, each with its unit and its source or its reason.
//! `npm run bench:fit` fits chances and half-lives on public recordings of many agents, and prints their spread over
//! repositories. The others were swept in the closed loop, on 43 sessions of nine agents unless stated. Prices and lifetimes
//! of caches are facts, in `cacheFamilies` of `contract.json`.

/// A worth, in expected uses, that halves after `half_life` calls.
#[derive(Clone, Copy, Debug)]
pub struct Forgetting {
    /// The worth at first.
    pub worth: f64,
    /// In calls.
    pub half_life: f64,
}

impl Forgetting {
    /// The worth after `calls` calls.
    pub fn after(&self, calls: f64) -> f64 {
        self.worth / (1.0 + calls / self.half_life)
    }

    /// The part of that worth in the next `ahead` calls.
    pub fn within(&self, calls: f64, ahead: f64) -> f64 {
        self.after(calls) - self.after(calls + ahead)
    }
}

// What a loss costs. One use of a name is the unit.

/// Initial expected uses of a new name, and quotes of a line in edits.
const FIRST_USES: f64 = 0.3;
// Half-lives, in calls. Some serve two kinds: separate ones change no figure of the closed loop by more than its noise.
/// Of a line that the model wrote, and of the answers that copy a line.
const SHORT: f64 = 10.0;
/// Of a new name, and of a line that the model read.
const MIDDLE: f64 = 17.0;
/// Of a name that the model used, and of its memory of files while it edits nothing.
const LONG: f64 = 30.0;
/// Of the model's own words, for the answers that copy them.
const LONGEST: f64 = 70.0;

/// A name that only tools have shown: nothing else could bring it back.
pub const NEW_NAME: Forgetting = Forgetting { worth: FIRST_USES, half_life: MIDDLE };
/// A name that the model has used once. It rises with the square root of its uses.
pub const USED_NAME: Forgetting = Forgetting { worth: 0.122, half_life: LONG };
/// A line of a file that the model wrote, for the edits that quote it.
pub const OWN_LINE: Forgetting = Forgetting { worth: FIRST_USES, half_life: SHORT };
/// A line of a file that the model read. Its age starts at the first edit after the read: an agent that reads thirty files
/// and then edits them remembers the first as well as the last.
pub const READ_LINE: Forgetting = Forgetting { worth: FIRST_USES, half_life: MIDDLE };
/// The chance of a quote from a read line by the calls since the last edit: lines age without edits, too.
pub const EDITING: Forgetting = Forgetting { worth: 1.0, half_life: LONG };
/// A UTF-16 code unit of a line that the model wrote, for the answers that copy it.
pub const WRITTEN_UNIT: Forgetting = Forgetting { worth: 0.000_753, half_life: LONGEST };
/// A UTF-16 code unit of any other line, for the answers that copy it.
pub const SHOWN_UNIT: Forgetting = Forgetting { worth: 0.000_377, half_life: SHORT };
/// One of the agent's own calls: it shows what was done, and in which order.
pub const OWN_CALL: f64 = 0.8;

// When to make a batch, and how large.

/// Tokens of an agent's task, its plan, and the files it works on. A first batch is expected to leave as many. Below this size
/// the layers apply at each call while no usage was reported.
pub const LEAST_CONTEXT: f64 = 25_000.0;
/// Largest share of a small window for [`LEAST_CONTEXT`].
pub const LEAST_SHARE: f64 = 1.0 / 3.0;
/// `economy` divided by this is the multiple of a batch's cost that carrying must have cost before: 4 at 230. Ski rental uses 1,
/// but each batch loses something. At the same bill, with 1.5 a sixth more answers miss something.
pub const ECONOMY_PER_TIMES: f64 = 57.0;
/// Shares of the free room that a batch at a limit may fill, and shares of the request that it may leave unedited in front.
/// Finer steps won nothing on 33 stretches of 60 calls in windows of 8k, 16k and 32k.
pub const QUARTERS: [f64; 3] = [0.25, 0.5, 0.75];
/// Multiple of `economy` that a lost use costs if room is short: only near uses count then. From 2 to 4, names in view rise
/// with the tokens evaluated.
pub const LIMIT_TIMES: f64 = 3.0;
/// The low water: share of a limit, less prompt and tools, that a batch at the limit leaves. A fuller context would be back
/// at the limit after a few calls.
pub const LOW_WATER: f64 = 0.5;
/// The same share of the budget if user text is cut: every such cut rewrites the whole request.
pub const WORDS_WATER: f64 = 0.3;
/// Share of the room for older results, if the last group alone could fill it.
pub const OLDER_SHARE: f64 = 0.15;
/// Share of the window for all states that stay whole.
pub const KEPT_SHARE: f64 = 0.1;
/// Share of the room that is used if one group alone is too large: sizes of cuts are off by a few hundredths.
pub const FULL_SHARE: f64 = 0.95;
/// Share of a limit that a batch must leave free for several calls. If it could not, the context must grow by this share
/// before the next try.
pub const GROWTH_SHARE: f64 = 0.1;
/// Factor by which the price rises from pass to pass if a limit demands more, up to a whole use for a token.
pub const PRICE_STEP: f64 = 1.5;
