//! A call of the past as a schedule saw it when it took in the answer.

use super::cache_watch::Sight;
use super::verdict::Verdict;
use crate::tokens::estimate::{Estimate, Size};

/// What was decided for a call, and what its answer reported.
#[derive(Clone, Copy, Debug)]
pub struct Played {
    /// Position of the answer.
    pub index: usize,
    /// The transcript as it was.
    pub raw: Size,
    /// What was sent of it.
    pub sent: Size,
    /// How its prompt was estimated.
    pub estimate: Estimate,
    /// What the sticky schedule decided; `None` where the layers were recomputed.
    pub verdict: Option<Verdict>,
    /// What was seen of the provider's cache.
    pub sight: Sight,
}
