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
    // By their JSON: what a compaction preserved is the very message that came before it.
    let mut numbers: HashMap<Id, usize> = HashMap::new();
    let cuts = cuts(nodes, selected);
    let ends = cuts.iter().copied().chain([nodes.len()]);
    for (start, end) in [None].into_iter().chain(cuts.iter().copied().map(Some)).zip(ends) {
        let mut items = Items::of(tools);
        let summary = start.and_then(|cut| open(nodes, cut, end, &mut items));
        items.is_open = true;
        let from = start.unwrap_or_default();
        let own = nodes.iter().zip(selected).enumerate().take(end).skip(from);
        // The summary that opens the stretch comes again as a line of it.
        for (_, (node, _)) in own.filter(|(index, (_, is_selected))| **is_selected && summary != Some(*index))
        {
            items.add(node, None);
        }
        let (own, opening): (Vec<Item>, Vec<Item>) =
            items.ordered().into_iter().partition(|item| item.is_own);
        if start.is_some() {
            let opening = opening.into_iter().map(|item| {
                let message = item.message();
                let known = numbers.get(&Id::of(&message)).copied();
                known.unwrap_or_else(|| timeline.push_aside(message))
            });
            let opening = opening.collect();
            timeline.cut(Cause::Compaction, opening);
        }
        for item in own {
            let message = item.message();
            numbers.insert(Id::of(&message), timeline.push(message, item.is_answer));
        }
    }
    timeline
}

/// Opens the stretch that the compaction at `cut` began: with its summary, whose place this gives, then what it preserved.
fn open(nodes: &[Node], cut: usize, end: usize, items: &mut Items<'_>) -> Option<usize> {
    let boundary = nodes.get(cut).filter(|node| node.preserved().is_some());
    let summary = nodes.iter().enumerate().take(end).skip(cut).find(|(_, node)| node.is_summary());
    if let Some((_, node)) = summary {
        items.add(node, boundary);
    }
    if let Some(preserved) = boundary.and_then(Node::preserved) {
        for node in nodes.iter().take(cut).filter(|node| keeps(preserved, node)) {
            items.add(node, None);
        }
    }
    summary.map(|(index, _)| index)
}

/// A message, before it has its place.
struct Item {
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
    /// True if the opening is over.
    is_open: bool,
}

impl<'a> Items<'a> {
    fn of(tools: &'a HashMap<Id, String>) -> Self {
        Self { list: Vec::new(), tools, responses: HashMap::new(), is_open: false }
    }

    fn add(&mut self, node: &Node, boundary: Option<&Node>) {
        let time = node.time.as_ref();
        match &node.content {
            LineContent::Assistant(message) => self.add_response(node, message),
            LineContent::User { content, is_meta } => {
                for (id, result) in messages::results_in(content, time, self.tools) {
                    self.push(result, Some(id));
                }
                if let Some(said) = messages::said_in(content) {
                    self.push(messages::prompt(&said, time, *is_meta), None);
                }
            }
            LineContent::Summary(content) => {
                let tokens_before = match boundary.map(|node| &node.content) {
                    Some(LineContent::Boundary { tokens_before, .. }) => tokens_before.as_ref(),
                    _ => None,
                };
                self.push(messages::summary(content, tokens_before, time), None);
            }
            _ => {}
        }
    }

    fn add_response(&mut self, node: &Node, message: &Object) {
        let response = node.response();
        let open = response.and_then(|id| self.responses.get(&id)).and_then(|&at| self.list.get_mut(at));
        if let Some(item) = open {
            messages::add_line(&mut item.fields, message);
            item.calls.extend(node.calls());
            return;
        }
        self.responses.extend(response.map(|id| (id, self.list.len())));
        self.push(Value::Object(messages::response(message, node.time.as_ref())), None);
        if let Some(item) = self.list.last_mut() {
            item.calls = node.calls();
            item.is_answer = true;
        }
    }

    fn push(&mut self, message: Value, answers: Option<Id>) {
        let Value::Object(fields) = message else { return };
        let is_own = self.is_open;
        self.list.push(Item { fields, calls: Vec::new(), answers, is_answer: false, is_own });
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
