//! Orders the selected lines of a Claude Code transcript: into messages, each response's results right behind it, and
//! into stretches between which the host compacted. Which lines are selected is `claude`'s.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

use super::claude_messages::{self as messages, LineContent};
use super::claude_node::Node;
use super::timeline::{Cause, Timeline};
use super::{Id, Object};

fn keeps(preserved: &HashSet<Id>, node: &Node) -> bool {
    node.uuid.is_some_and(|uuid| preserved.contains(&uuid))
}

/// Positions at which a compaction of this conversation took place.
fn cuts(nodes: &[Node], selected: &[bool]) -> Vec<usize> {
    let mut cuts = Vec::new();
    for (index, (node, is_selected)) in nodes.iter().zip(selected).enumerate() {
        let is_cut = match node.preserved() {
            // A preserved line keeps its old parent, so such a path goes around the boundary.
            Some(preserved) => {
                let mut before = nodes.iter().take(index).zip(selected);
                *is_selected
                    || !preserved.is_empty()
                        && before.any(|(node, is_selected)| *is_selected && keeps(preserved, node))
            }
            None => *is_selected && index > 0 && node.is_bare_summary(),
        };
        if is_cut {
            cuts.push(index);
        }
    }
    cuts
}

/// The messages of the selected lines, stretch by stretch. `tools` has the tool of each call in the file.
pub(super) fn timeline(nodes: &[Node], selected: &[bool], tools: &HashMap<Id, String>) -> Timeline {
    let mut timeline = Timeline::default();
    let mut numbers: HashMap<Key, usize> = HashMap::new();
    let cuts = cuts(nodes, selected);
    let ends = cuts.iter().copied().chain([nodes.len()]);
    for (start, end) in [None].into_iter().chain(cuts.iter().copied().map(Some)).zip(ends) {
        let mut items = Items::of(tools);
        if let Some(cut) = start {
            open(nodes, cut, end, &mut items);
        }
        items.is_open = true;
        let from = start.unwrap_or_default();
        let own = nodes.iter().zip(selected).enumerate().take(end).skip(from);
        for (index, (node, _)) in own.filter(|(_, (_, is_selected))| **is_selected) {
            items.add(index, node, None);
        }
        let (own, opening): (Vec<Item>, Vec<Item>) =
            items.ordered().into_iter().partition(|item| item.is_own);
        if start.is_some() {
            let opening = opening.into_iter().map(|item| match numbers.get(&item.key) {
                Some(number) => *number,
                None => timeline.push_aside(item.message()),
            });
            let opening = opening.collect();
            timeline.cut(Cause::Compaction, opening);
        }
        for item in own {
            let number = timeline.push(item.message(), item.is_answer);
            numbers.insert(item.key, number);
        }
    }
    timeline
}

/// Opens the stretch that the compaction at `cut` began: with its summary, then what it preserved.
fn open(nodes: &[Node], cut: usize, end: usize, items: &mut Items<'_>) {
    let boundary = nodes.get(cut).filter(|node| node.preserved().is_some());
    let mut after = nodes.iter().enumerate().take(end).skip(cut);
    if let Some((index, summary)) = after.find(|(_, node)| node.is_summary()) {
        items.add(index, summary, boundary);
    }
    if let Some(preserved) = boundary.and_then(Node::preserved) {
        for (index, node) in nodes.iter().enumerate().take(cut).filter(|(_, node)| keeps(preserved, node)) {
            items.add(index, node, None);
        }
    }
}

/// Lines that a message is made of, and which part of theirs it is: 0 for their words, then the tool results.
type Key = (Vec<usize>, usize);

/// A message, before it has its place.
struct Item {
    key: Key,
    fields: Object,
    calls: Vec<Id>,
    answers: Option<Id>,
    is_answer: bool,
    /// True if it came in the stretch; else it opens it.
    is_own: bool,
}

impl Item {
    fn message(&self) -> super::Message {
        serde_json::to_string(&self.fields).unwrap_or_default().into()
    }
}

/// The messages of one stretch, line by line.
struct Items<'a> {
    list: Vec<Item>,
    tools: &'a HashMap<Id, String>,
    /// Position of each response's message.
    responses: HashMap<Id, usize>,
    summary: Option<usize>,
    /// True if the opening is over.
    is_open: bool,
}

impl<'a> Items<'a> {
    fn of(tools: &'a HashMap<Id, String>) -> Self {
        Self { list: Vec::new(), tools, responses: HashMap::new(), summary: None, is_open: false }
    }

    fn add(&mut self, index: usize, node: &Node, boundary: Option<&Node>) {
        let time = node.time.as_ref();
        match &node.content {
            LineContent::Assistant(message) => self.add_response(index, node, message),
            LineContent::User { content, is_meta } => {
                let tools = self.tools;
                let name_of = |id: &str| tools.get(&Id::of(id)).cloned();
                for (number, (id, result)) in (1..).zip(messages::results_in(content, time, name_of)) {
                    self.push((vec![index], number), result, Some(id));
                }
                if let Some(said) = messages::said_in(content) {
                    self.push((vec![index], 0), messages::prompt(&said, time, *is_meta), None);
                }
            }
            // The one that opens the stretch comes again as a line of it.
            LineContent::Summary(content) if self.summary != Some(index) => {
                self.summary = Some(index);
                let tokens_before = match boundary.map(|node| &node.content) {
                    Some(LineContent::Boundary { tokens_before, .. }) => tokens_before.as_ref(),
                    _ => None,
                };
                self.push((vec![index], 0), messages::summary(content, tokens_before, time), None);
            }
            _ => {}
        }
    }

    fn add_response(&mut self, index: usize, node: &Node, message: &Object) {
        let response = node.response();
        let open = response.and_then(|id| self.responses.get(&id)).and_then(|&at| self.list.get_mut(at));
        if let Some(item) = open {
            if !item.key.0.contains(&index) {
                item.key.0.push(index);
                messages::add_line(&mut item.fields, message);
            }
            item.calls.extend(node.calls());
            return;
        }
        self.responses.extend(response.map(|id| (id, self.list.len())));
        self.push((vec![index], 0), Value::Object(messages::response(message, node.time.as_ref())), None);
        if let Some(item) = self.list.last_mut() {
            item.calls = node.calls();
            item.is_answer = true;
        }
    }

    fn push(&mut self, key: Key, message: Value, answers: Option<Id>) {
        let Value::Object(fields) = message else { return };
        let is_own = self.is_open;
        self.list.push(Item { key, fields, calls: Vec::new(), answers, is_answer: false, is_own });
    }

    /// Each response's results right behind it: that is how they were sent, though the transcript may have what the
    /// user typed meanwhile between them.
    fn ordered(self) -> Vec<Item> {
        let called: HashSet<Id> = self.list.iter().flat_map(|item| &item.calls).copied().collect();
        let mut results: HashMap<Id, Vec<Item>> = HashMap::new();
        let mut others = Vec::with_capacity(self.list.len());
        for item in self.list {
            match item.answers.filter(|id| called.contains(id)) {
                Some(id) => results.entry(id).or_default().push(item),
                None => others.push(item),
            }
        }
        let mut ordered = Vec::with_capacity(others.len());
        for item in others {
            let answers: Vec<Item> =
                item.calls.iter().filter_map(|id| results.remove(id)).flatten().collect();
            ordered.push(item);
            ordered.extend(answers);
        }
        ordered
    }
}
