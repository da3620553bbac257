//! The numbers of the ladder and the schedule, each with its unit and its source or its reason.
//!
//! Chances and half-lives were fitted on public recordings of many agents: `npm run bench:fit` measures them anew and says
//! how much they differ from one repository to the next. The others were swept in the closed loop, on 43 sessions of nine
//! agents unless another number stands there. Prices and lives of caches are facts and stand with `prices`.

/// A worth, in expected uses, that halves after `half_life` calls.
#[derive(Clone, Copy, Debug)]
pub struct Forgetting {
    /// In the first calls.
    pub worth: f64,
    /// In calls.
    pub half_life: f64,
}

impl Forgetting {
    /// The worth after so many calls.
    pub fn after(&self, calls: f64) -> f64 {
        self.worth / (1.0 + calls / self.half_life)
    }

    /// The part of it that falls in the next `ahead` calls.
    pub fn within(&self, calls: f64, ahead: f64) -> f64 {
        self.after(calls) - self.after(calls + ahead)
    }
}

// What a loss costs. One use of a name is the unit.

/// A name that only tools have shown: nothing else could bring it back.
pub const NEW_NAME: Forgetting = Forgetting { worth: 0.307, half_life: 16.0 };
/// A name that the model has used once. It rises with the square root of its uses.
pub const USED_NAME: Forgetting = Forgetting { worth: 0.122, half_life: 30.0 };
/// A line of a file that the model wrote, for the edits that quote it.
pub const OWN_LINE: Forgetting = Forgetting { worth: 0.307, half_life: 9.0 };
/// A line of a file that the model read. Its age runs from the first edit of anything after it was read: an agent that reads
/// thirty files and then edits them remembers the first as well as the last.
pub const READ_LINE: Forgetting = Forgetting { worth: 0.3, half_life: 18.0 };
/// Calls without an edit after which the next quote of a line that was read is half as near: what an agent reads that changes
/// nothing grows old, too.
pub const EDITING_HALF_LIFE: f64 = 30.0;
/// A UTF-16 code unit of a line that the model wrote, for the answers that copy it.
pub const WRITTEN_UNIT: Forgetting = Forgetting { worth: 0.000_753, half_life: 70.0 };
/// A UTF-16 code unit of any other line, for the answers that copy it.
pub const SHOWN_UNIT: Forgetting = Forgetting { worth: 0.000_377, half_life: 12.0 };
/// The agent's sight of one of its own calls: what it did, and in which order.
pub const OWN_CALL: f64 = 0.714;

// When to move, and how far.

/// Tokens of context below which the layers apply at each call while nothing is known of a bill, and that the first batch is
/// expected to leave: an agent's task, its plan, and the files it works on.
pub const LEAST_CONTEXT: f64 = 25_000.0;
/// The same as a share of a small window at most.
pub const LEAST_SHARE: f64 = 1.0 / 3.0;
/// Carrying what a batch removes must have cost so many times what the batch costs: `economy` over this, 4 times at 230. Ski
/// rental knows 1, but each batch loses something. At the same bill, 1.5 makes a sixth more answers miss something.
pub const ECONOMY_PER_TIMES: f64 = 57.0;
/// The same between `context_ratio` of the window and its budget. On 16 unseen sessions, 318 answers miss something for $155.3 at
/// 1, 305 for $157.6 at 2, and 298 for $159.0 at 3.
pub const THRESHOLD_TIMES: f64 = 2.0;
/// Shares of the room beside what stays that a batch at a limit may leave, and shares of what is sent that it may leave as it
/// is. Finer steps won nothing on 33 stretches of 60 calls in windows of 8k, 16k and 32k.
pub const QUARTERS: [f64; 3] = [0.25, 0.5, 0.75];
/// A lost use costs so many times `economy` where room is short: only near uses count there. From 2 to 4, names in view rise with
/// the tokens evaluated.
pub const LIMIT_TIMES: f64 = 3.0;
/// The low water: share of a limit's room beside prompt and tools that a batch at the limit leaves. A fuller context would be back
/// after a few calls.
pub const LOW_WATER: f64 = 0.5;
/// The same share of the budget where people's words have to go: every cut of them rewrites all that is left.
pub const WORDS_WATER: f64 = 0.3;
/// Part of the room that older results share where the last group alone could fill it.
pub const OLDER_SHARE: f64 = 0.15;
/// Share of the window that all states which stay whole may take.
pub const KEPT_SHARE: f64 = 0.1;
/// Share of the room that is used where one group alone is too large: what cuts leave is known to within a few hundredths.
pub const FULL_SHARE: f64 = 0.95;
/// Share of a limit that a batch must leave free to make room for several calls, and by which a context grows before a batch
/// that could not is worked out again.
pub const GROWTH_SHARE: f64 = 0.1;
/// The price rises by this factor from one pass to the next where a limit demands more, up to a whole use for a token.
pub const PRICE_STEP: f64 = 1.5;
