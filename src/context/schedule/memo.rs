//! What folds have learned, kept for the next call of the same conversation.
//!
//! Forgetting any of it changes no decision, only how long the next one takes: a fold without a memo starts over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::calibration::Past;
use super::economy::Policy;
use super::every_call::EveryCall;
use super::fold::Fold;
use super::past::{Change, newest};
use super::sticky::Sticky;
use crate::context::layers::Limits;
use crate::context::transcript::{Message, Transcript};
use crate::fault;

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
    /// How many conversations there were so far, the remembered ones and those that are not any more.
    conversations: AtomicUsize,
}

impl Memo {
    /// What the conversation of a list that no fold goes on in was before, under whichever schedule that was.
    pub(super) fn past_of(&self, transcript: &Transcript) -> Past {
        let is_alone = self.conversations.load(Ordering::Relaxed) <= 1;
        let past = self.sticky.past_before(transcript).or_else(|| self.every_call.past_before(transcript));
        let past = past.or_else(|| self.sticky.past_of(transcript, is_alone));
        let past = past.or_else(|| self.every_call.past_of(transcript, is_alone));
        past.unwrap_or_else(|| {
            self.conversations.fetch_add(1, Ordering::Relaxed);
            Past::default()
        })
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
    /// What the conversation was before the very list that `transcript` goes on in, one call later.
    fn past_before(&self, transcript: &Transcript) -> Option<Past> {
        let is_call = |message: &Arc<Message>| message.assistant().is_some();
        let is_planned = |fold: &F| newest(fold).is_some_and(|last| !is_call(last));
        let is_one_call = |fold: &F| {
            let since = transcript.messages().iter().skip(fold.len());
            since.filter(|message| is_call(message)).count() <= 1
        };
        let folds = self.0.lock();
        let goes_on = |fold: &&F| is_planned(fold) && is_one_call(fold) && fold.continues_in(transcript);
        folds.iter().rev().find(goes_on).map(|fold| fold.past().clone())
    }

    /// The same under this schedule; `None` for a conversation it has not seen.
    fn past_of(&self, transcript: &Transcript, is_alone: bool) -> Option<Past> {
        let (mut fold, change) = {
            let mut folds = self.0.lock();
            let mut newest_first = folds.iter().enumerate().rev();
            let (at, change) =
                newest_first.find_map(|(at, fold)| Some((at, Change::find(fold, transcript, is_alone)?)))?;
            (folds.remove(at), change)
        };
        let past = change.past(&mut fold, transcript);
        self.keep(fold);
        Some(past)
    }

    /// Runs `work` on the fold that has come furthest in `transcript`, or on a new one, and keeps it.
    ///
    /// The fold is taken out meanwhile: calls at the same time do not wait for each other, and a panic loses it alone.
    pub(super) fn resume<T>(
        &self,
        transcript: &Transcript,
        (limits, policy): (&Limits, &Policy),
        start: impl FnOnce() -> F,
        work: impl FnOnce(&mut F) -> T,
    ) -> T {
        let mut fold = self.take(transcript, limits, policy).unwrap_or_else(start);
        let result = work(&mut fold);
        fault::step();
        self.keep(fold);
        result
    }

    /// A fold under other limits or prices, say another model's, would have decided otherwise.
    fn take(&self, transcript: &Transcript, limits: &Limits, policy: &Policy) -> Option<F> {
        let mut folds = self.0.lock();
        let fits = |fold: &F| fold.decides_by(limits, policy) && fold.continues_in(transcript);
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
    use super::super::calibration::Calibration;
    use super::*;
    use crate::context::account::Account;

    struct Heavy(Limits, usize, Account, Calibration);

    impl Fold for Heavy {
        fn len(&self) -> usize {
            1
        }

        fn decides_by(&self, limits: &Limits, _policy: &Policy) -> bool {
            self.0 == *limits
        }

        fn bytes(&self) -> usize {
            self.1
        }

        fn account(&self) -> &Account {
            &self.2
        }

        fn taught(&self) -> &Calibration {
            &self.3
        }

        fn planned_tokens(&self) -> Option<f64> {
            None
        }

        fn advance(&mut self, _transcript: &Transcript) {}
    }

    /// Bytes and number of what is kept after folds of this size.
    fn kept(count: usize, bytes: usize) -> (usize, usize) {
        let folds = Folds::default();
        for _ in 0..count {
            let calibration = Calibration::new(false, 0.0);
            folds.keep(Heavy(Limits::default(), bytes, Account::default(), calibration));
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
