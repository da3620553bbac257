//! When the layers' frontier may move.
//!
//! `every_call` recomputes the layers each time; `sticky` folds over the transcript and moves only when that pays. Over a
//! transcript that only grows both are pure; a [`Conversation`] also knows what was really sent of one that was rewritten.

pub mod by_model;
pub mod cache_watch;
pub mod calibration;
pub mod conversation;
pub mod economy;
pub mod every_call;
pub mod fold;
pub mod held;
pub mod index;
pub mod lessons;
pub mod line_cuts;
pub mod reports;
mod rewrite;
pub mod sticky;
pub mod verdict;

pub use conversation::Conversation;
pub use lessons::Lessons;

use self::calibration::LearnedWindow;
use self::economy::Policy;
use self::verdict::Arithmetic;
use crate::context::facts::transcript::Transcript;
use crate::context::request::layers::Limits;
use crate::context::request::plan::Plan;
use crate::tokens::estimate::{Estimate, Size};

/// The schedule that the host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Recompute the layers at each call.
    EveryCall,
    /// Move when it pays. Servers that report no cached tokens mostly keep a prefix cache all the same.
    #[serde(alias = "auto")]
    Sticky,
}

/// The host's word at a call.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The prices and shares that are weighed.
    pub policy: Policy,
    /// The limits of the layers.
    pub limits: Limits,
    /// Tokens of its prompt and tools; `None` where it says nothing.
    pub overhead_tokens: Option<f64>,
}

/// The plan of a call, and its reasons.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The edits.
    pub plan: Plan,
    /// The size of the smallest request that could be sent.
    pub floor: Size,
    /// The estimate of prompts.
    pub estimate: Estimate,
    /// The arithmetic of the sticky schedule; `None` where the layers were recomputed.
    pub arithmetic: Option<Arithmetic>,
    /// True if the last request was refused for its length.
    pub is_refused: bool,
    /// The window of the model that answered last, as refusals taught it.
    pub learned: Option<LearnedWindow>,
    /// True if no conversation of the hook knew that window.
    pub is_news: bool,
    /// The limits that hold: the host's, narrowed by what refusals taught.
    pub limits: Limits,
}

/// Decides about the call that would follow `transcript`, met for the first time. `overhead_tokens` is what the host says of
/// its prompt and tools.
#[must_use]
pub fn decide(
    transcript: &Transcript,
    mode: Mode,
    policy: &Policy,
    limits: &Limits,
    overhead_tokens: Option<f64>,
) -> Decision {
    let terms = Terms { policy: *policy, limits: limits.clone(), overhead_tokens };
    Conversation::of(mode, transcript.clone()).decide(&terms, &mut Lessons::default())
}
