//! What a schedule must say of itself so that it can go on where it stopped.

use std::sync::Arc;

use super::calibration::{Calibration, Known, Past};
use super::economy::Policy;
use crate::context::account::Account;
use crate::context::layers::Limits;
use crate::context::transcript::{Message, Transcript};

/// A computation over a growing transcript that can go on where it stopped.
pub trait Fold {
    /// How many messages it has taken in.
    fn len(&self) -> usize;
    /// Whether it decides under these limits and prices: under others it would have decided otherwise.
    fn decides_by(&self, limits: &Limits, policy: &Policy) -> bool;
    /// What is sent of the messages it took in.
    fn account(&self) -> &Account;
    /// What the reports it took in taught.
    fn taught(&self) -> &Calibration;
    /// What it estimated the last planned prompt at, once reports taught it how.
    fn planned_tokens(&self) -> Option<f64>;
    /// Takes in the messages of `transcript` that are new; the others must be those taken in before.
    fn advance(&mut self, transcript: &Transcript);

    /// What the reports it took in taught of the agent.
    fn known(&self) -> Option<Known> {
        self.taught().known()
    }

    /// What its conversation was before its host changed the list.
    fn past(&self) -> &Past {
        self.taught().past()
    }

    /// The message it took in at `index`.
    fn message(&self, index: usize) -> Option<&Arc<Message>> {
        self.account().row(index).map(|row| &row.message)
    }

    /// Whether the message at `index` is the one it took in there.
    fn has(&self, index: usize, message: &Message) -> bool {
        self.message(index).is_some_and(|known| known.is_same(message))
    }

    /// Bytes it keeps from being freed, about.
    fn bytes(&self) -> usize;

    /// Whether it has taken in nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `transcript` begins with exactly what was taken in.
    fn continues_in(&self, transcript: &Transcript) -> bool {
        let messages = transcript.messages();
        let is_same = |index: usize| messages.get(index).is_some_and(|message| self.has(index, message));
        // The last one first: where conversations differ, it almost always does.
        self.len().checked_sub(1).is_none_or(|last| is_same(last) && (0..last).all(is_same))
    }
}
