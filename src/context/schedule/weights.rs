//! The numbers that decisions rest on, each with its unit and where it comes from.
//!
//! Chances and half-lives were fitted on public recordings of many agents: `npm run bench:fit` measures them anew and says how much
//! they differ from one repository to the next. The others were swept in the closed loop, on 42 sessions of nine agents
//! unless another number stands there; those without a word on it were chosen. Prices and lives of caches are facts and stand
//! with `prices` and `clock`.

use crate::context::traits::identifiers::Kind;

/// A chance that halves after `half_life` calls.
#[derive(Clone, Copy, Debug)]
pub struct Forgetting {
    /// In the first calls.
    pub chance: f64,
    /// In calls.
    pub half_life: f64,
}

impl Forgetting {
    /// The chance after so many calls.
    #[must_use]
    pub fn after(&self, calls: f64) -> f64 {
        self.chance / (1.0 + calls / self.half_life)
    }
}

// The chances that what is shown is needed again.

/// Weight of a first use: where only tools have shown a name, nothing else could bring it back. Swept from 3 to 6
/// together with the weight of lines and the economies: what tools brought is kept better, the rest a little worse.
pub const FIRST_USE_WEIGHT: f64 = 5.0;
/// Worth of the agent's still seeing one of its own calls: what it did, and in which order. Without it the newest
/// calls of a long session are all it knows of its work. Swept from 0.3 to 1.1: each step keeps more calls in view, and high ones
/// fewer of the lines that edits need; that an old call should be worth less, no session tells.
pub const OWN_CALL: f64 = 0.6;
/// Weight of a copied span beside a name that is used again, for each UTF-16 code unit of a line. Swept from 0.012 to 0.05: copied
/// text costs the more dollars the higher.
pub const SPAN_WEIGHT: f64 = 0.0165;
/// The chance that an edit quotes a line that the model wrote itself, if it wrote no other with it: it falls with the fourth root
/// of their number, which is the same on every machine; an exponent of 0.3 was fitted.
pub const OWN_LINE: Forgetting = Forgetting { chance: 0.14, half_life: 9.0 };
/// The same of one it only read, by the lines of its file, where all edits are made from memory. Its time runs from the first edit
/// of anything after it was read: an agent that reads thirty files and then edits them remembers the first as well as the
/// last (`npm run bench:fit`: without an edit since they are quoted as often after 40 calls as after 5).
pub const READ_LINE: Forgetting = Forgetting { chance: 0.35, half_life: 18.0 };
/// Share of a line's age that is its file's: where the model works on a file, it may come back to any line of it.
pub const FILE_SHARE: f64 = 0.6;
/// A blind edit costs a failed call and another read, an identifier out of sight mostly nothing. Swept from 5.5 to 12
/// on 33 sessions: a blind edit less costs more dollars the higher.
pub const LINE_WEIGHT: f64 = 9.0;

/// Spans of 24 characters, one every 12, that answers still copy of a token before it is shown anew: `npm run bench:fit`, ages
/// of three calls and more. Of what the model wrote into files.
pub const COPIED_WRITTEN: Forgetting = Forgetting { chance: 0.060, half_life: 70.0 };
/// The same of all else that was shown, between what the fit says of answers and reads (0.040, 10) and of output and the user's
/// words (0.012, 16): apart they decided no better.
pub const COPIED: Forgetting = Forgetting { chance: 0.03, half_life: 12.0 };

/// Names that the model has not used, by their look.
#[must_use]
pub fn unused(kind: Kind) -> Forgetting {
    match kind {
        Kind::Word | Kind::Sequence => Forgetting { chance: 0.07, half_life: 100.0 },
        Kind::Path => Forgetting { chance: 0.03, half_life: 30.0 },
        Kind::Name => Forgetting { chance: 0.08, half_life: 6.0 },
    }
}

/// Names that the model has used once.
#[must_use]
pub fn used(kind: Kind) -> Forgetting {
    match kind {
        Kind::Word | Kind::Sequence => Forgetting { chance: 0.18, half_life: 80.0 },
        Kind::Path => Forgetting { chance: 0.28, half_life: 30.0 },
        Kind::Name => Forgetting { chance: 0.125, half_life: 13.0 },
    }
}

// Signs that a session gives of itself.

/// Calls after which what was shown is had from memory.
pub const FAR: u32 = 8;
/// Before any edit, this share of them is taken to be made from memory; it counts as much as so many edits of the session's own do.
/// Of five pairs the likeliest on 35 sessions.
pub const USUAL_FROM_MEMORY: f64 = 0.25;
/// The edits that the usual share counts as much as.
pub const USUAL_EDITS: f64 = 4.0;
/// Calls without an edit after which the next one is half as near: what an agent reads that changes nothing grows old, too. Swept
/// from 8 to 80 on 33 sessions: lower ones save one dollar in a hundred for more blind edits, higher ones leave such an agent whole.
pub const EDITING_HALF_LIFE: f64 = 30.0;

// Cuts by line.

/// Rows on each side with which a row is weighed as a line: an edit quotes lines that stand together.
pub const NEAR_ROWS: usize = 4;

// Prices, and when to move.

/// Tokens of context below which only a hard limit moves the frontier: what the first batch is expected to leave. Swept from
/// 10 000 to 32 000 on 33 sessions: the bill is the same, lower ones make more edits blind.
pub const LEAST_CONTEXT: f64 = 25_000.0;
/// Share of the tokens above the last batch's size that the next batch can be expected to remove: the rest is needed.
/// Swept from 0.15 to 0.8 on 52 recorded sessions: flat from 0.25 to 0.5, dearer rewriting above. At 1 only the batch as worked
/// out would decide: batches come earlier then, and at the same bill less stays that answers copy (37 sessions).
pub const REMOVABLE_SHARE: f64 = 0.3;
/// Of a limit that was passed, how much a batch leaves at most: a fuller context would pass it again after a few calls. From 0.4 to
/// 0.8, on 33 sessions in windows of 32 000 and 64 000 tokens, each tenth more keeps about half a point of recall for one dollar
/// in thirty.
pub const ROOM_SHARE: f64 = 0.5;
/// The price rises by this factor from one pass to the next where a limit demands more, and so many times before anything goes.
pub const PRICE_STEP: f64 = 1.5;
/// Passes at a finite price.
pub const PRICE_STEPS: i32 = 14;
/// A batch that would have cost more than carrying had is worked out again when carrying has cost so many times as much.
pub const REFUSED_GROWTH: f64 = 1.15;
/// Of what may be sent, how much is left where layer 4 has to act or user text has to go: at the full budget the next call would be
/// over it again, and what was sent would change at every call.
pub const SHRUNK_SHARE: f64 = 0.9;
