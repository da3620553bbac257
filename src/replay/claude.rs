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
    let selected = complete(&nodes, marked_path(&nodes));
    let left = nodes.iter().zip(&selected).filter(|(_, is_selected)| !**is_selected).map(|(node, _)| node);
    unplayed.abandoned = responses(left);
    let timeline = timeline(&nodes, &selected, &tools);
    Recording { format: Format::ClaudeCode, timeline, problems, unplayed }
}

/// Number of API responses in these lines.
fn responses<'a>(nodes: impl Iterator<Item = &'a Node>) -> usize {
    let mut ids = HashSet::new();
    let mut count = 0;
    for node in nodes {
        if matches!(node.content, LineContent::Assistant(_)) {
            count += usize::from(node.response().is_none_or(|id| ids.insert(id)));
        }
    }
    count
}

/// Marks the lines from the last message up to the conversation's beginning, compactions on the way left behind.
fn marked_path(nodes: &[Node]) -> Vec<bool> {
    let places = places(nodes.iter().map(|node| node.uuid));
    let before = |index: usize| {
        let node = nodes.get(index)?;
        match (&node.parent, node.preserved(), node.after) {
            (Parent::Root, Some(_), Some(uuid)) => Parent::Id(uuid).place(index, &places),
            (Parent::Root, Some(_), None) => index.checked_sub(1),
            (Parent::Root, None, _) if node.is_summary() => index.checked_sub(1),
            (parent, ..) => parent.place(index, &places),
        }
    };
    let mut marked = vec![false; nodes.len()];
    for index in path(nodes.iter().rposition(Node::speaks), before) {
        if let Some(mark) = marked.get_mut(index) {
            *mark = true;
        }
    }
    marked
}

/// Adds the other lines of the responses on the path, and the results of calls nothing on the path answers.
fn complete(nodes: &[Node], mut selected: Vec<bool>) -> Vec<bool> {
    let chosen = |selected: &[bool]| -> Vec<&Node> {
        nodes.iter().zip(selected).filter_map(|(node, flag)| flag.then_some(node)).collect()
    };
    let responses: HashSet<Id> = chosen(&selected).iter().filter_map(|node| node.response()).collect();
    for (node, flag) in nodes.iter().zip(&mut selected) {
        *flag |= node.response().is_some_and(|id| responses.contains(&id));
    }
    let chosen = chosen(&selected);
    let answered: HashSet<Id> = chosen.iter().flat_map(|node| node.answers()).collect();
    let mut open: HashSet<Id> = chosen.iter().flat_map(|node| node.calls()).collect();
    open.retain(|id| !answered.contains(id));
    for (node, flag) in nodes.iter().zip(&mut selected) {
        let fresh = !*flag && node.answers().iter().any(|id| open.contains(id));
        if fresh {
            *flag = true;
            for id in node.answers() {
                open.remove(&id);
            }
        }
    }
    selected
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
