//! Links each tool result to its call, and finds the messages between the two.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Assistant, Body, Message};

/// Number of newest answers searched for a result's call: a background tool answers late.
const REACH: usize = 8;

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

/// A link, and the facts that find the rest of its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLink {
    pub(super) link: Link,
    /// The position of a result's call among the calls of its assistant message.
    pub(super) call: usize,
    /// The index of the newest message in the group that a message opens.
    pub(super) newest: usize,
    /// True for a result if a provider would see another message between it and its call.
    pub(super) is_parted: bool,
}

impl GroupLink {
    /// The link of a message that stands alone.
    fn own(index: usize) -> Self {
        Self { link: Link::Own, call: 0, newest: index, is_parted: false }
    }
}

/// The links of a list of messages.
///
/// A result answers the nearest sent assistant message before it that has its id, if no earlier result took the call.
/// Messages that a provider would see between the two are strangers: they move behind the group.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    links: Vec<GroupLink>,
    /// The index of each stranger, and of the message that opens the innermost group around it.
    pub(super) strangers: BTreeMap<usize, usize>,
}

impl Links {
    /// The link of the message at `index`.
    pub(super) fn at(&self, index: usize) -> GroupLink {
        self.links.get(index).copied().unwrap_or_else(|| GroupLink::own(index))
    }

    /// Links again all messages whose links a change from `at` on can affect.
    pub(super) fn relink(&mut self, messages: &[Arc<Message>], at: usize) {
        let first = answers_before(messages, at).last().unwrap_or(0);
        // A result from `first` on can only answer a call from `from` on.
        let from = answers_before(messages, first).last().unwrap_or(first);
        self.strangers.split_off(&first);
        let known = self.links.split_off(from.min(self.links.len()));
        let mut open: VecDeque<OpenCalls<'_>> = VecDeque::new();
        for (index, message) in messages.iter().enumerate().skip(from) {
            let mut linked = GroupLink::own(index);
            match &message.body {
                Body::Assistant(assistant) => {
                    open.push_back(OpenCalls::of(index, message.is_sent, assistant));
                    if open.len() > REACH {
                        open.pop_front();
                    }
                }
                Body::ToolResult(result) => {
                    let nearest = open.iter_mut().rev().find_map(|calls| calls.take(&result.call_id));
                    linked.link = Link::Orphan;
                    if let Some((opener, Some(call))) = nearest {
                        let is_parted = self.note_strangers(messages, opener, index);
                        linked = GroupLink { link: Link::ResultOf(opener), call, newest: index, is_parted };
                    }
                }
                _ => {}
            }
            let is_older = |known: &&GroupLink| {
                index < first && matches!(known.link, Link::ResultOf(opener) if opener < from)
            };
            self.links.push(known.get(index - from).filter(is_older).copied().unwrap_or(linked));
        }
    }

    /// Makes the result at `index` the newest of its group, and the messages since the one before it strangers.
    /// Returns `true` if a stranger is between it and its call.
    fn note_strangers(&mut self, messages: &[Arc<Message>], opener: usize, index: usize) -> bool {
        let before = self.at(opener).newest;
        let mut is_parted = self.at(before).is_parted && before > opener;
        for (between, message) in messages.iter().enumerate().take(index).skip(before + 1) {
            let is_seen = match self.at(between).link {
                Link::Own => message.speaks(),
                // A result of an earlier group does not move.
                Link::ResultOf(other) => other > opener,
                Link::Orphan => false,
            };
            if is_seen {
                is_parted = true;
                let around = self.strangers.entry(between).or_insert(opener);
                *around = opener.max(*around);
            }
        }
        if let Some(opens) = self.links.get_mut(opener) {
            opens.newest = index;
        }
        is_parted
    }
}

/// Indices of the newest answers before `end` that a later result may reach, the newest first.
fn answers_before(messages: &[Arc<Message>], end: usize) -> impl Iterator<Item = usize> {
    let before = messages.iter().enumerate().take(end).rev();
    before.filter(|(_, message)| message.assistant().is_some()).map(|(index, _)| index).take(REACH)
}

/// The calls of an answer, by id.
struct OpenCalls<'a> {
    opener: usize,
    is_sent: bool,
    /// The position of each call; `None` once a result took it.
    positions: BTreeMap<&'a str, Option<usize>>,
}

impl<'a> OpenCalls<'a> {
    fn of(opener: usize, is_sent: bool, assistant: &'a Assistant) -> Self {
        let ids = assistant.call_ids.iter().enumerate();
        Self { opener, is_sent, positions: ids.map(|(position, id)| (&**id, Some(position))).collect() }
    }

    /// The opener of the call `id`, and its position unless a result took it; `None` if no such call is sent.
    fn take(&mut self, id: &str) -> Option<(usize, Option<usize>)> {
        let position = self.positions.get_mut(id).filter(|_| self.is_sent)?;
        Some((self.opener, position.take()))
    }
}
