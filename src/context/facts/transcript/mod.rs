//! The core's view of a conversation: per message the facts that decisions need, never its text.
//!
//! `measure` makes the messages. This room links each tool result to its call and finds groups and turns; it counts no
//! tokens and decides nothing.

mod link;
mod message;
mod source;

use std::collections::HashMap;
use std::sync::Arc;

pub use self::link::Link;
use self::link::Links;
pub use self::message::{
    Assistant, Body, Images, Message, Refusal, Shortened, Signature, Thinking, ToolResult, Usage,
};
pub use self::source::Source;

/// A conversation in sending order, with each tool result linked to the call it answers.
///
/// ```
/// use std::sync::Arc;
///
/// use pi_strata::context::facts::measure::{Part, Raw, RawRole, outline};
/// use pi_strata::context::facts::transcript::{Link, Transcript, Usage};
///
/// let id: Vec<u16> = "call_1".encode_utf16().collect();
/// let asks = RawRole::Assistant {
///     api: &[], provider: &[], model: &[], usage: Usage::default(), has_text_id: false,
/// };
/// let call = Part::Call { id: &id, name: &[], arguments: &[], is_signed: false };
/// let answers = RawRole::ToolResult { call_id: &id, tool_name: &[], marker: None };
/// let messages = [
///     Raw::new(RawRole::User, vec![]),
///     Raw::new(asks, vec![call]),
///     Raw::new(answers, vec![]),
///     Raw::new(answers, vec![]),
/// ];
/// let transcript = Transcript::new(messages.iter().map(|message| Arc::new(outline(message))).collect());
/// assert_eq!(transcript.link(2), Link::ResultOf(1));
/// assert_eq!(transcript.link(3), Link::Orphan, "the call has its result");
/// assert_eq!(transcript.group(1).collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    links: Links,
}

impl Transcript {
    /// Links each tool result to its call.
    pub fn new(messages: Vec<Arc<Message>>) -> Self {
        let mut links = Links::default();
        links.relink(&messages, 0);
        Self { messages, links }
    }

    /// Replaces the messages after the first `kept` with `rest`. The cost depends on `rest`, not on the length of the
    /// conversation.
    pub fn go_on(&mut self, kept: usize, rest: Vec<Arc<Message>>) {
        self.messages.truncate(kept);
        self.messages.extend(rest);
        self.links.relink(&self.messages, kept);
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The message at `index`.
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.messages.get(index).map(Arc::as_ref)
    }

    /// The link of the message at `index` to its neighbours.
    pub fn link(&self, index: usize) -> Link {
        self.links.at(index).link
    }

    /// A tool result's position among the calls of its assistant message.
    pub fn call_position(&self, index: usize) -> usize {
        self.links.at(index).call
    }

    /// Index of the message that opens the group of the message at `index`.
    pub fn group_start(&self, index: usize) -> usize {
        match self.link(index) {
            Link::ResultOf(call) => call,
            Link::Own | Link::Orphan => index,
        }
    }

    /// The group that opens at `start`: that message and the tool results that answer it.
    pub fn group(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        (start..=self.links.at(start).newest).filter(move |&index| self.group_start(index) == start)
    }

    /// Moves of the messages that a provider would see between a call and its results.
    pub fn moves(&self) -> impl Iterator<Item = Move> + '_ {
        let strangers = self.links.strangers.iter();
        strangers.map(|(&index, &opener)| Move { index, opener, after: self.links.at(opener).newest })
    }

    /// Returns `true` if a provider would see another message between the result at `index` and its call.
    pub fn is_parted(&self, index: usize) -> bool {
        self.links.at(index).is_parted
    }

    /// The indices in the order in which the messages are sent.
    pub fn sending_order(&self) -> Vec<usize> {
        let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
        for step in self.moves() {
            behind.entry(step.after).or_default().push(step.index);
        }
        let strangers = &self.links.strangers;
        let mut order = Vec::with_capacity(self.messages.len());
        for index in (0..self.messages.len()).filter(|index| !strangers.contains_key(index)) {
            let mut waiting = vec![index];
            while let Some(next) = waiting.pop() {
                order.push(next);
                waiting.extend(behind.remove(&next).unwrap_or_default().into_iter().rev());
            }
        }
        order
    }

    /// The index after the group of the message at `index`.
    pub fn group_end(&self, index: usize) -> usize {
        self.links.at(self.group_start(index)).newest + 1
    }

    /// Index of the last user message: what follows it is the open turn.
    pub fn last_user(&self) -> Option<usize> {
        self.messages.iter().rposition(|message| message.is_user())
    }
}

/// The move of a message from between a call and its results to behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Index of the message.
    pub index: usize,
    /// Index of the message that makes the call.
    pub opener: usize,
    /// Index of the newest result, behind which it is sent.
    pub after: usize,
}
