//! A call of the past as a schedule saw it when it took in the answer.

use super::cache_watch::Sight;
use super::verdict::Verdict;
use crate::tokens::estimate::{Estimate, Size};

/// The decision for a call, and the report of its answer.
#[derive(Clone, Copy, Debug)]
pub struct Played {
    /// Position of the answer.
    pub index: usize,
    /// The transcript as it was.
    pub raw: Size,
    /// The sent part of it.
    pub sent: Size,
    /// The estimate of its prompt.
    pub estimate: Estimate,
    /// The decision of the sticky schedule; `None` where the layers were recomputed.
    pub verdict: Option<Verdict>,
    /// True if this process decided it before it was made.
    pub is_lived: bool,
    /// The cache as this call showed it.
    pub sight: Sight,
}
