//! What folds have learned, kept for the next call of the same conversation.
//!
//! Forgetting any of it changes no decision, only how long the next one takes: a fold without a memo starts over.

use std::sync::Arc;

use parking_lot::Mutex;

use super::calibration::Known;
use super::every_call::EveryCall;
use super::fold::Fold;
use super::sticky::Sticky;
use crate::fault;
use crate::layers::Limits;
use crate::transcript::{Body, Message, Transcript};

/// Messages after a summary by which the conversation is recognised that was compacted to it: one may occur anywhere.
const KEPT_LOOKED_FOR: usize = 2;
/// Conversations remembered at once, of each kind.
const MAX_FOLDS: usize = 128;
/// Bytes that all conversations of a kind may keep from being freed, unless it is one alone: facts of messages, most of
/// which their host still holds, so that they are there anyway.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The memo of one hook.
#[derive(Default)]
pub struct Memo {
    pub(super) sticky: Folds<Sticky>,
    pub(super) every_call: Folds<EveryCall>,
}

impl Memo {
    /// What `transcript` taught before it was compacted, under whichever schedule that was.
    pub(super) fn known_before(&self, transcript: &Transcript) -> Option<Known> {
        self.sticky.known_before(transcript).or_else(|| self.every_call.known_before(transcript))
    }
}

/// Folds, the most recently used last.
pub(super) struct Folds<F>(Mutex<Vec<F>>);

impl<F> Default for Folds<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F: Fold> Folds<F> {
    /// The same under this schedule: another fold holds messages it kept, but not its summary.
    fn known_before(&self, transcript: &Transcript) -> Option<Known> {
        let messages = transcript.messages();
        let summary = messages.iter().rposition(|message| matches!(message.body, Body::Summary))?;
        let kept = messages.get(summary + 1..summary + 1 + KEPT_LOOKED_FOR)?;
        let folds = self.0.lock();
        let before = folds.iter().rev().find(|fold| {
            let holds = |run: &[Arc<Message>]| {
                let holds_at =
                    |at: usize| run.iter().zip(at..).all(|(message, index)| fold.has(index, message));
                (0..fold.len()).any(holds_at)
            };
            holds(kept) && messages.get(summary..=summary).is_some_and(|of| !holds(of))
        });
        before.and_then(Fold::known)
    }

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
        let mut bytes: usize = folds.iter().map(Fold::bytes).sum();
        let mut gone = 0;
        for fold in folds.iter() {
            let left = folds.len() - gone;
            if left <= 1 || (left <= MAX_FOLDS && bytes <= MAX_BYTES) {
                break;
            }
            bytes -= fold.bytes();
            gone += 1;
        }
        folds.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heavy(Limits, usize);

    impl Fold for Heavy {
        fn len(&self) -> usize {
            1
        }

        fn limits(&self) -> &Limits {
            &self.0
        }

        fn bytes(&self) -> usize {
            self.1
        }

        fn known(&self) -> Option<Known> {
            None
        }

        fn has(&self, _index: usize, _message: &Message) -> bool {
            false
        }
    }

    /// Bytes and number of what is kept after folds of this size.
    fn kept(count: usize, bytes: usize) -> (usize, usize) {
        let folds = Folds::default();
        for _ in 0..count {
            folds.keep(Heavy(Limits::default(), bytes));
        }
        let folds = folds.0.into_inner();
        (folds.iter().map(Fold::bytes).sum(), folds.len())
    }

    #[test]
    fn keeps_to_its_bounds_and_always_the_latest() {
        assert_eq!(kept(1000, 1), (MAX_FOLDS, MAX_FOLDS), "bounded by number");
        let (bytes, count) = kept(1000, MAX_BYTES / 10);
        assert!(bytes <= MAX_BYTES && count == 10, "bounded by bytes: {count} of {bytes}");
        assert_eq!(kept(3, MAX_BYTES * 2), (MAX_BYTES * 2, 1), "one alone may be larger");
    }
}
