//! What folds have learned, kept for the next call of the same conversation.
//!
//! Forgetting any of it changes no decision, only how long the next one takes: a fold without a memo starts over.

use parking_lot::Mutex;

use super::every_call::EveryCall;
use super::fold::Fold;
use super::sticky::Sticky;
use crate::fault;
use crate::layers::Limits;
use crate::transcript::Transcript;

/// Conversations remembered at once, of each kind.
const MAX_FOLDS: usize = 128;
/// Messages remembered over all conversations of a kind: some 100 bytes each, and 4 per identifier in it.
const MAX_MESSAGES: usize = 100_000;

/// The memo of one hook.
#[derive(Default)]
pub struct Memo {
    pub(super) sticky: Folds<Sticky>,
    pub(super) every_call: Folds<EveryCall>,
}

/// Folds, the most recently used last.
pub(super) struct Folds<F>(Mutex<Vec<F>>);

impl<F> Default for Folds<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F: Fold> Folds<F> {
    /// Runs `work` on the fold that has come furthest in `transcript`, or on a new one, and keeps it.
    ///
    /// The fold is taken out meanwhile: calls at the same time do not wait for each other, and a panic loses it alone.
    pub(super) fn resume<T>(
        &self,
        transcript: &Transcript,
        limits: &Limits,
        start: impl FnOnce() -> F,
        work: impl FnOnce(&mut F) -> T,
    ) -> T {
        let mut fold = self.take(transcript, limits).unwrap_or_else(start);
        let result = work(&mut fold);
        fault::step();
        self.keep(fold);
        result
    }

    /// A fold under other limits, say another model's window, would have decided otherwise.
    fn take(&self, transcript: &Transcript, limits: &Limits) -> Option<F> {
        let mut folds = self.0.lock();
        let fits = |fold: &F| fold.limits() == limits && fold.continues_in(transcript);
        let fitting = folds.iter().enumerate().filter(|(_, fold)| fits(fold));
        let (at, _) = fitting.max_by_key(|(_, fold)| fold.len())?;
        Some(folds.remove(at))
    }

    fn keep(&self, fold: F) {
        let mut folds = self.0.lock();
        folds.push(fold);
        let mut messages: usize = folds.iter().map(Fold::len).sum();
        let mut gone = 0;
        for fold in folds.iter() {
            let left = folds.len() - gone;
            if left <= 1 || (left <= MAX_FOLDS && messages <= MAX_MESSAGES) {
                break;
            }
            messages -= fold.len();
            gone += 1;
        }
        folds.drain(..gone);
    }
}
