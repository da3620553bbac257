//! Finds the conversation in Claude Code transcripts. The lines form a tree by `uuid` and `parentUuid`; one API
//! response is several lines of one message id, and parallel results hang on different ones of them, so the path to
//! the last line is completed with its responses' other lines and their results. A compaction begins a new root and a
//! new stretch; the path goes on before it. Sub-agents' lines (sidechains) are left out. The conversion to pi's
//! shapes is `claude_messages`.

use super::claude_messages::{LineContent, calls_of};
use super::claude_node::{Node, node_of};
use super::claude_stretches::timeline;
use super::tree::{Parent, path, places};
use super::{Format, Id, Recording, Unplayed, lines};
use std::collections::{HashMap, HashSet};

/// Reads the transcript and follows the path to its last line.
pub(super) fn read(file: &[u8]) -> Recording {
    let mut nodes: Vec<Node> = Vec::new();
    let mut known = HashSet::new();
    let mut tools = HashMap::new();
    let problems = lines::for_each_object(file, |line| {
        let node = node_of(line)?;
        if let Some(LineContent::Assistant(message)) = node.as_ref().map(|node| &node.content) {
            tools.extend(calls_of(message).map(|(id, name)| (Id::of(id), name.to_owned())));
        }
        // A resumed session repeats lines it already has.
        nodes.extend(node.filter(|node| node.uuid.is_none_or(|uuid| known.insert(uuid))));
        Ok(())
    });
    let mut unplayed = Unplayed::default();
    // A sub-agent's own file has nothing but sidechain lines.
    if nodes.iter().any(|node| !node.is_sidechain && node.speaks()) {
        unplayed.sub_agents = responses(nodes.iter().filter(|node| node.is_sidechain));
        nodes.retain(|node| !node.is_sidechain);
    }
    select_path(&mut nodes);
    complete(&mut nodes);
    unplayed.abandoned = responses(nodes.iter().filter(|node| !node.is_selected));
    let timeline = timeline(&nodes, &tools);
    Recording { format: Format::ClaudeCode, timeline, problems, unplayed }
}

/// Number of API responses in these lines.
fn responses<'a>(nodes: impl Iterator<Item = &'a Node>) -> usize {
    let mut ids = HashSet::new();
    let lines = nodes.filter(|node| matches!(node.content, LineContent::Assistant(_)));
    lines.filter(|node| node.response().is_none_or(|id| ids.insert(id))).count()
}

/// Selects the lines from the last message up to the conversation's beginning, compactions on the way left behind.
fn select_path(nodes: &mut [Node]) {
    let places = places(nodes.iter().map(|node| node.uuid));
    let before = |index: usize| {
        let node = nodes.get(index)?;
        match (&node.parent, node.compaction(), node.after) {
            (Parent::Root, Some(_), Some(uuid)) => Parent::Id(uuid).place(index, &places),
            (Parent::Root, Some(_), None) => index.checked_sub(1),
            (Parent::Root, None, _) if node.is_summary() => index.checked_sub(1),
            (parent, ..) => parent.place(index, &places),
        }
    };
    for index in path(nodes.iter().rposition(Node::speaks), before) {
        if let Some(node) = nodes.get_mut(index) {
            node.is_selected = true;
        }
    }
}

/// Selects the other lines of the responses on the path, and the results of calls nothing on the path answers.
fn complete(nodes: &mut [Node]) {
    let responses: HashSet<Id> = selected(nodes).filter_map(Node::response).collect();
    for node in nodes.iter_mut() {
        node.is_selected |= node.response().is_some_and(|id| responses.contains(&id));
    }
    let mut open: HashSet<Id> = selected(nodes).flat_map(Node::calls).collect();
    for id in selected(nodes).flat_map(Node::answers) {
        open.remove(&id);
    }
    for node in nodes.iter_mut().filter(|node| !node.is_selected) {
        let answers = node.answers();
        node.is_selected = answers.iter().any(|id| open.contains(id));
        if node.is_selected {
            for id in &answers {
                open.remove(id);
            }
        }
    }
}

fn selected(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|node| node.is_selected)
}

#[cfg(test)]
mod tests;
