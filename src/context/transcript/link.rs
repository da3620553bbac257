//! Links each tool result to the call that it answers.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Assistant, Body, Message};

/// A link with what finding the rest of its group takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linked {
    pub(super) link: Link,
    /// Of a result, the position of its call among the calls of its assistant message.
    pub(super) call: usize,
    /// Of a message that opens a group, the newest in it.
    pub(super) newest: usize,
}

/// The link of a message to its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It stands alone, or is the assistant message that opens a group.
    Own,
    /// A tool result that answers a call of the assistant message at this index.
    ResultOf(usize),
    /// A tool result that answers no call a provider would see before it.
    Orphan,
}

/// Links the messages that have no link yet; the first of them opens no group that began before.
///
/// A result answers the nearest assistant message before it, if that one is sent, has its id, no earlier result took
/// it and nobody has spoken since: anything else reaches the provider without its call. A message of an unknown
/// role may be one the host never sends, so it does not count as speaking.
pub(super) fn link(messages: &[Arc<Message>], links: &mut Vec<Linked>) {
    let mut open: Option<OpenCalls<'_>> = None;
    for (index, message) in messages.iter().enumerate().skip(links.len()) {
        let mut linked = Linked { link: Link::Own, call: 0, newest: index };
        match &message.body {
            Body::Assistant(assistant) => open = message.is_sent.then(|| OpenCalls::of(index, assistant)),
            Body::ToolResult(result) => {
                linked.link = Link::Orphan;
                if let Some(calls) = &mut open
                    && let Some(call) = calls.take(&result.call_id)
                {
                    linked = Linked { link: Link::ResultOf(calls.message), call, newest: index };
                    if let Some(opens) = links.get_mut(calls.message) {
                        opens.newest = index;
                    }
                }
            }
            Body::User | Body::Summary => open = None,
            Body::System | Body::Other => {}
        }
        links.push(linked);
    }
}

/// The calls of the newest assistant message that have no result yet.
struct OpenCalls<'a> {
    message: usize,
    /// Positions by id, the first call of an id last.
    unanswered: HashMap<&'a str, Vec<usize>>,
}

impl<'a> OpenCalls<'a> {
    fn of(message: usize, assistant: &'a Assistant) -> Self {
        let mut unanswered: HashMap<&str, Vec<usize>> = HashMap::with_capacity(assistant.call_ids.len());
        for (position, id) in assistant.call_ids.iter().enumerate().rev() {
            unanswered.entry(id).or_default().push(position);
        }
        Self { message, unanswered }
    }

    /// The first call of this id that has no result yet; from now on it has one.
    fn take(&mut self, id: &str) -> Option<usize> {
        self.unanswered.get_mut(id)?.pop()
    }
}
