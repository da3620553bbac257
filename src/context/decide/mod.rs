//! Decides when and how far to edit.
//! `every_call` recomputes the layers each time; `sticky` folds over the transcript and edits only when that pays. Both are
//! pure over a transcript that only grows. A [`Conversation`] also knows what was sent before a rewrite.

pub mod by_model;
pub mod cache_watch;
pub mod calibration;
pub mod conversation;
pub mod economy;
pub mod every_call;
pub mod fold;
pub mod index;
pub mod lessons;
pub mod line_cuts;
pub mod pieces;
pub mod reports;
mod rewrite;
pub mod sticky;
pub mod verdict;
pub mod view;

pub use conversation::Conversation;
pub use lessons::Lessons;

use self::calibration::LearnedWindow;
use self::economy::Policy;
use self::verdict::Arithmetic;
use crate::context::request::layers::Limits;
use crate::context::request::plan::Plan;
use crate::tokens::estimate::{Estimate, Size};

/// The schedule that the host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Recompute the layers at each call.
    EveryCall,
    /// Edit when it pays. Most servers that report no cached tokens have a prefix cache, too.
    #[serde(alias = "auto")]
    Sticky,
}

/// Settings from the host for one call.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The settings of the sticky schedule.
    pub policy: Policy,
    /// The limits of the layers.
    pub limits: Limits,
    /// Tokens of prompt and tools, if the host states them.
    pub overhead_tokens: Option<f64>,
    /// True if the host says that the model is Claude: before any report it counts as Claude usually does.
    pub is_claude: bool,
    /// True if the model gets no images.
    pub is_blind: bool,
    /// When the host sent a request again to keep the provider's cache alive, in ms since 1970.
    pub warmed_ms: Vec<f64>,
    /// When the host gave up the cache, in ms since 1970.
    pub lost_ms: Vec<f64>,
}

/// The plan of a call, and its reasons.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The edits.
    pub plan: Plan,
    /// The size of the smallest possible request.
    pub floor: Size,
    /// The estimate of prompts.
    pub estimate: Estimate,
    /// The arithmetic of the sticky schedule; `None` under [`Mode::EveryCall`].
    pub arithmetic: Option<Arithmetic>,
    /// True if the request may not fit: the last one was refused for its length, or the estimate is over the budget.
    pub is_over: bool,
    /// The window of the model that answered last, if a refusal has just taught it.
    pub newly_learned: Option<LearnedWindow>,
    /// The limits in force: the host's, narrowed by what refusals taught.
    pub limits: Limits,
}
