//! The timeline of a recording: all messages of a recording in the order they came, and the stretches between
//! which the past was rewritten, by a compaction or an edit.

use super::Message;
use serde::Serialize;

/// Messages that grew one after the other, from one rewriting of the past to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// Why it begins.
    pub cause: Cause,
    /// Numbers of the messages it opens with, in sending order; calls among them were made earlier.
    pub opening: Vec<usize>,
    /// Number of the first message that came in it.
    pub from: usize,
    /// One more than the number of the last one.
    pub to: usize,
}

/// Why a stretch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The recording begins.
    Start,
    /// A compaction put a summary in the place of messages.
    Compaction,
    /// A message was rewritten or taken away.
    Edit,
}

impl Stretch {
    /// Numbers of all messages at its end, in sending order.
    #[must_use]
    pub fn all(&self) -> Vec<usize> {
        self.opening.iter().copied().chain(self.from..self.to).collect()
    }
}

/// Collects messages and rewritings in the order they came.
#[derive(Debug)]
pub struct Timeline {
    /// The messages, each the JSON of an object with a `role` in pi's shape.
    pub messages: Vec<Message>,
    /// Numbers of those that the model answered with, ascending.
    pub answers: Vec<usize>,
    /// The stretches between which the past was rewritten. At least one; the last ends with the recording.
    pub stretches: Vec<Stretch>,
}

impl Default for Timeline {
    fn default() -> Self {
        let first = Stretch { cause: Cause::Start, opening: Vec::new(), from: 0, to: 0 };
        Self { messages: Vec::new(), answers: Vec::new(), stretches: vec![first] }
    }
}

impl Timeline {
    /// Appends a message to the stretch at hand; its number.
    pub(super) fn push(&mut self, message: Message, is_answer: bool) -> usize {
        let number = self.push_aside(message);
        if is_answer {
            self.answers.push(number);
        }
        if let Some(stretch) = self.stretches.last_mut() {
            stretch.to = number + 1;
        }
        number
    }

    /// Adds a message for the opening of the stretch that `cut` is about to begin; its number.
    pub(super) fn push_aside(&mut self, message: Message) -> usize {
        self.messages.push(message);
        self.messages.len() - 1
    }

    /// Begins a stretch. One in which nothing came is forgotten.
    pub(super) fn cut(&mut self, cause: Cause, opening: Vec<usize>) {
        let from = self.messages.len();
        let is_idle = self.stretches.last().is_some_and(|stretch| stretch.from == stretch.to);
        if is_idle {
            self.stretches.pop();
        }
        self.stretches.push(Stretch { cause, opening, from, to: from });
    }

    /// Numbers of the messages the next call would have before it.
    pub(super) fn transcript(&self) -> Vec<usize> {
        self.stretches.last().map(Stretch::all).unwrap_or_default()
    }
}
