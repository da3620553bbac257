//! Orders the selected lines of a Claude Code transcript: into messages, each response's results right behind it, and
//! into stretches between which the host compacted. Which lines are selected is `claude`'s.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

use super::claude_messages::{self as messages, LineContent};
use super::claude_node::Node;
use super::timeline::{Cause, Timeline};
use super::{Id, Object, str_of};

/// True if a compaction of this conversation took place at the position.
fn is_cut(nodes: &[Node], index: usize, node: &Node) -> bool {
    match node.compaction() {
        // A preserved line keeps its old parent, so such a path goes around the boundary.
        Some(compaction) => {
            let mut before = nodes.iter().take(index);
            node.is_selected
                || !compaction.preserved.is_empty()
                    && before.any(|node| node.is_selected && node.is_kept_by(compaction))
        }
        None => node.is_selected && index > 0 && node.is_bare_summary(),
    }
}

/// The messages of the selected lines, stretch by stretch. `tools` has the tool of each call in the file.
pub(super) fn timeline(nodes: &[Node], tools: &HashMap<Id, String>) -> Timeline {
    let mut timeline = Timeline::default();
    // By their JSON: what a compaction preserved is the very message that came before it.
    let mut numbers: HashMap<Id, usize> = HashMap::new();
    let cuts = nodes.iter().enumerate().filter(|(index, node)| is_cut(nodes, *index, node));
    let cuts: Vec<usize> = cuts.map(|(index, _)| index).collect();
    let ends = cuts.iter().copied().chain([nodes.len()]);
    for (start, end) in [None].into_iter().chain(cuts.iter().copied().map(Some)).zip(ends) {
        let mut items = Items { tools, list: Vec::new(), responses: HashMap::new(), is_open: false };
        let summary = start.and_then(|cut| open(nodes, cut, end, &mut items));
        items.is_open = true;
        let from = start.unwrap_or_default();
        for (index, node) in nodes.iter().enumerate().take(end).skip(from) {
            // The summary that opens the stretch comes again as a line of it.
            if node.is_selected && summary != Some(index) {
                items.add(node, None);
            }
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
            let is_answer = str_of(&item.fields, "role") == Some("assistant");
            numbers.insert(Id::of(&message), timeline.push(message, is_answer));
        }
    }
    timeline
}

/// Opens the stretch that the compaction at `cut` began: with its summary, whose place this gives, then what it preserved.
fn open(nodes: &[Node], cut: usize, end: usize, items: &mut Items<'_>) -> Option<usize> {
    let compaction = nodes.get(cut).and_then(Node::compaction);
    let summary = nodes.iter().enumerate().take(end).skip(cut).find(|(_, node)| node.is_summary());
    if let Some((_, node)) = summary {
        items.add(node, compaction.and_then(|compaction| compaction.tokens_before.as_ref()));
    }
    if let Some(compaction) = compaction {
        for node in nodes.iter().take(cut).filter(|node| node.is_kept_by(compaction)) {
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

impl Items<'_> {
    /// Adds the messages of a line; `tokens_before` is that of the compaction it sums up, where that is known.
    fn add(&mut self, node: &Node, tokens_before: Option<&Value>) {
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
        let fields = messages::response(message, node.time.as_ref());
        self.list.push(Item { fields, calls: node.calls(), answers: None, is_own: self.is_open });
    }

    fn push(&mut self, message: Value, answers: Option<Id>) {
        let Value::Object(fields) = message else { return };
        self.list.push(Item { fields, calls: Vec::new(), answers, is_own: self.is_open });
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
