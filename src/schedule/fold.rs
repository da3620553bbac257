//! What a schedule must say of itself so that it can go on where it stopped.

use super::calibration::Known;
use crate::layers::Limits;
use crate::transcript::{Message, Transcript};

/// A computation over a growing transcript that can go on where it stopped.
pub trait Fold {
    /// How many messages it has taken in.
    fn len(&self) -> usize;
    /// The limits it decides under.
    fn limits(&self) -> &Limits;
    /// What the reports it took in taught of the agent.
    fn known(&self) -> Option<Known>;
    /// Whether the message at `index` is the one it took in there.
    fn has(&self, index: usize, message: &Message) -> bool;

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
