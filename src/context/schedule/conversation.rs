//! One conversation across its calls: the facts of its messages, and the fold that knows what was sent and reported.
//!
//! A host adds to its list, or rewrites it; either is a splice. What is known of calls outlives a rewrite, a change of the
//! window and one of prices: a report is of what was really sent.

use std::collections::HashMap;
use std::sync::Arc;

use super::fold::{Fold, Terms};
use super::{Decision, Mode};
use crate::context::transcript::{Message, Transcript};
use crate::fault;

/// A conversation between two calls.
#[derive(Clone, Debug)]
pub struct Conversation {
    mode: Mode,
    transcript: Transcript,
    fold: Option<Fold>,
    /// True if a call was made by what the fold decided.
    has_lived: bool,
    /// The first message that is not the one the fold took in there, and the end of those that it took in and that are left.
    rewritten: Option<(usize, usize)>,
}

impl Conversation {
    /// One without messages.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self::of(mode, Transcript::default())
    }

    /// One that is met with this transcript.
    #[must_use]
    pub fn of(mode: Mode, transcript: Transcript) -> Self {
        Self { mode, transcript, fold: None, has_lived: false, rewritten: None }
    }

    /// Its messages.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Says when the host kept the provider's cache warm, and when it gave it up, in ms.
    pub fn set_cache_times(&mut self, warmed: Vec<f64>, lost: Vec<f64>) {
        self.transcript.set_cache_times(warmed, lost);
    }

    /// Puts the first `inserted` of `newer` where `removed` messages stood from `at` on, and the others at the end.
    pub fn splice(&mut self, at: usize, removed: usize, inserted: usize, newer: Vec<Arc<Message>>) {
        let len = self.transcript.len();
        let (mut at, mut end) = (at.min(len), at.saturating_add(removed).min(len));
        let mut newer = newer;
        let mut added = newer.split_off(inserted.min(newer.len()));
        let (mut from, mut to) = (0, newer.len());
        let messages = self.transcript.messages();
        // A report that came in changes no list.
        let is_same = |known: usize, new: usize| {
            messages.get(known).zip(newer.get(new)).is_some_and(|(known, new)| known.is_same(new))
        };
        while at < end && from < to && is_same(at, from) {
            (at, from) = (at + 1, from + 1);
        }
        while at < end && from < to && is_same(end - 1, to - 1) {
            (end, to) = (end - 1, to - 1);
        }
        if end == len {
            // With nothing kept behind them, what comes after the last answer that was there is new: it may answer the last call.
            let there: HashMap<u128, &Arc<Message>> =
                messages.iter().skip(at).map(|message| (message.identity, message)).collect();
            let is_known = |new: &Arc<Message>| {
                let known = there.get(&new.identity).filter(|_| new.assistant().is_some());
                known.is_some_and(|known| known.is_same(new))
            };
            to = newer.iter().skip(from).rposition(is_known).map_or(from, |last| from + last + 1);
            added.splice(0..0, newer.drain(to..));
        }
        if at < end || from < to {
            // The end of the list that the fold took in, if it did take in all.
            let known = if self.known() == len { at + (to - from) + (len - end) } else { at };
            let (first, until) =
                self.rewritten.map_or((at, known), |(first, until)| (first.min(at), until.min(at)));
            if at < self.known() {
                self.rewritten = Some((first, until));
            }
        }
        let start = at - from;
        let stop = end + (newer.len() - to);
        self.transcript.splice(start..stop, newer.drain(..), added.drain(..));
    }

    /// Number of messages that the fold took in.
    fn known(&mut self) -> usize {
        self.fold.as_mut().map_or(0, |fold| fold.schedule().parts().0.len())
    }

    /// Decides about the call that would follow its messages. A panic loses what the fold had learned, and nothing else.
    pub fn decide(&mut self, terms: &Terms) -> Decision {
        let Self { mode, transcript, has_lived, .. } = self;
        let mut fold = self.fold.take();
        *has_lived &= fold.is_some();
        if let (Some(before), Some((at, known))) = (&mut fold, self.rewritten.take()) {
            let is_answered = transcript.messages().iter().skip(known).any(|of| of.assistant().is_some());
            if *has_lived || is_answered {
                before.schedule().rewrite(transcript, at, known);
            } else {
                // It knows no more than the list tells.
                fold = None;
            }
        }
        let mut fold = fold.unwrap_or_else(|| Fold::new(*mode, terms));
        let schedule = fold.schedule();
        let calibration = &mut schedule.parts().1.calibration;
        calibration.set_overhead(terms.overhead_tokens);
        calibration.set_known(terms.known_window);
        // The answers that came in are to calls made under the terms of then: they are taken in before the new ones hold.
        schedule.play(transcript, transcript.len(), &mut |request| *has_lived |= request.is_lived);
        fault::step();
        schedule.set_terms(transcript, terms.policy, &terms.limits);
        let (mut plan, floor, arithmetic) = schedule.plan();
        plan.moves = plan.moves_in(transcript);
        let calibration = &schedule.parts().1.calibration;
        let (estimate, is_refused) = (calibration.estimate(), calibration.room().is_some());
        let learned = calibration.learned();
        let limits = schedule.limits().clone();
        fault::step();
        self.fold = Some(fold);
        Decision { plan, floor, estimate, arithmetic, is_refused, learned, limits }
    }
}
