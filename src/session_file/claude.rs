//! Reads Claude Code transcripts: which of the file's lines the model had before it at the end. The lines form a
//! tree by `uuid` and `parentUuid`; one API response is several lines of one message id, and parallel results hang
//! on different ones of them, so the path to the last line is completed with its responses' other lines and their
//! results. Sub-agents' lines (sidechains) are left out, and what a compaction cut off too. The conversion to pi's
//! shapes is `claude_messages`.

use super::claude_messages::{Body, Line, Transcript};
use super::{Format, Object, Session, is_true, lines, str_of, take_string, time_ms};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Reads the transcript and converts what is on the path to its last line.
pub(super) fn read(text: &[u8]) -> Session {
    let mut nodes: Vec<Node> = Vec::new();
    let mut known = HashSet::new();
    let problems = lines::for_each_object(text, |_, line| {
        let node = node_of(line)?;
        // A resumed session repeats lines it already has.
        nodes.extend(node.filter(|node| node.uuid.as_ref().is_none_or(|uuid| known.insert(uuid.clone()))));
        Ok(())
    });
    // A sub-agent's own file has nothing but sidechain lines.
    if nodes.iter().any(|node| !node.sidechain && node.speaks()) {
        nodes.retain(|node| !node.sidechain);
    }
    let selected = select(&nodes);
    let mut transcript = Transcript::new(nodes.iter().map(|node| &node.line));
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    for index in selected {
        if let Some(node) = nodes.get_mut(index).and_then(Option::take) {
            transcript.add(node.line);
        }
    }
    Session { format: Format::ClaudeCode, messages: transcript.finish(), problems }
}

struct Node {
    uuid: Option<String>,
    parent: Parent,
    sidechain: bool,
    line: Line,
    boundary: Option<Boundary>,
}

enum Parent {
    Root,
    Uuid(String),
    /// None is named: the line before it in the file.
    Previous,
}

/// Where a compaction took place.
struct Boundary {
    /// Lines from before that were kept word for word.
    preserved: HashSet<String>,
}

impl Node {
    fn speaks(&self) -> bool {
        !matches!(self.line.body, Body::Silent)
    }
}

/// `None` for a line that is no part of the conversation's tree (titles, file snapshots, queues).
fn node_of(mut line: Object) -> Result<Option<Node>, String> {
    let parent = match line.remove("parentUuid") {
        Some(Value::String(uuid)) => Parent::Uuid(uuid),
        Some(Value::Null) => Parent::Root,
        _ => Parent::Previous,
    };
    let uuid = take_string(&mut line, "uuid");
    let kind = take_string(&mut line, "type");
    let sidechain = is_true(&line, "isSidechain") || str_of(&line, "parent_tool_use_id").is_some();
    let time = time_ms(line.get("timestamp"));
    let mut boundary = None;
    let body = match (kind.as_deref(), line.remove("message")) {
        (Some("assistant"), Some(Value::Object(mut message))) => {
            if is_true(&line, "isApiErrorMessage") {
                message.insert("stop_reason".to_owned(), "api_error".into());
            }
            if let Some(request) = line.remove("requestId") {
                message.entry("id").or_insert(request);
            }
            Body::Assistant(message)
        }
        (Some("user"), Some(Value::Object(mut message))) => {
            let content = message.remove("content").unwrap_or_default();
            match (is_true(&line, "isCompactSummary"), is_true(&line, "isMeta")) {
                (true, _) => Body::Summary(content),
                (_, true) => Body::Meta(content),
                _ => Body::User(content),
            }
        }
        (Some("user" | "assistant"), _) => return Err("This line carries no message.".to_owned()),
        (Some("system"), _) if str_of(&line, "subtype") == Some("compact_boundary") => {
            let metadata = line.get("compactMetadata");
            boundary = Some(Boundary { preserved: preserved_by(metadata) });
            Body::Boundary(metadata.and_then(|data| data.get("preTokens")).cloned())
        }
        (Some("attachment"), _) => match queued_prompt(&mut line) {
            // Typed while the agent was at work, and sent along with the results.
            Some(prompt) => Body::User(prompt),
            None => Body::Silent,
        },
        _ if uuid.is_none() => return Ok(None),
        _ => Body::Silent,
    };
    Ok(Some(Node { uuid, parent, sidechain, line: Line { body, time }, boundary }))
}

fn queued_prompt(line: &mut Object) -> Option<Value> {
    let attachment = line.get_mut("attachment")?.as_object_mut()?;
    (str_of(attachment, "type") == Some("queued_command")).then(|| attachment.remove("prompt"))?
}

fn preserved_by(metadata: Option<&Value>) -> HashSet<String> {
    let uuids = metadata.and_then(|data| data.pointer("/preservedMessages/uuids")).and_then(Value::as_array);
    uuids.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Indices of the lines the model had before it, in the order they are to be replayed.
fn select(nodes: &[Node]) -> Vec<usize> {
    let on_path = path(nodes);
    let mut selected = complete(nodes, on_path);
    let is = |index: usize, selected: &[bool]| selected.get(index).copied().unwrap_or(false);
    let cut = nodes.iter().enumerate().rposition(|(index, node)| {
        node.boundary.as_ref().is_some_and(|boundary| {
            // What was preserved keeps its old parent, so such a path goes around the boundary.
            is(index, &selected)
                || !boundary.preserved.is_empty()
                    && nodes
                        .iter()
                        .take(index)
                        .zip(&selected)
                        .any(|(n, chosen)| *chosen && keeps(boundary, n))
        })
    });
    let mut order: Vec<usize> = Vec::new();
    if let Some(cut) = cut {
        let boundary = nodes.get(cut).and_then(|node| node.boundary.as_ref());
        let summary =
            nodes.iter().enumerate().skip(cut).find(|(_, node)| matches!(node.line.body, Body::Summary(_)));
        // The boundary knows the size, the summary the text; then what was kept, then what followed.
        order.push(cut);
        order.extend(summary.map(|(index, _)| index));
        for (index, node) in nodes.iter().enumerate() {
            let kept = index >= cut || boundary.is_some_and(|boundary| keeps(boundary, node));
            if let Some(flag) = selected.get_mut(index) {
                *flag = (*flag || index < cut) && kept && !order.contains(&index);
            }
        }
    }
    order.extend((0..nodes.len()).filter(|index| is(*index, &selected)));
    order
}

fn keeps(boundary: &Boundary, node: &Node) -> bool {
    node.uuid.as_ref().is_some_and(|uuid| boundary.preserved.contains(uuid))
}

/// Marks the lines from the last message up to its root.
fn path(nodes: &[Node]) -> Vec<bool> {
    let named = nodes.iter().enumerate().filter_map(|(index, node)| Some((node.uuid.as_deref()?, index)));
    let by_uuid: HashMap<&str, usize> = named.collect();
    let mut on_path = vec![false; nodes.len()];
    let mut current = nodes.iter().rposition(Node::speaks);
    while let Some(index) = current {
        match on_path.get_mut(index) {
            Some(visited) if !*visited => *visited = true,
            _ => break,
        }
        current = nodes.get(index).and_then(|node| match &node.parent {
            Parent::Root => None,
            // A parent lost to a broken line: the line before stands in.
            Parent::Uuid(uuid) => by_uuid.get(uuid.as_str()).copied().or_else(|| index.checked_sub(1)),
            Parent::Previous => index.checked_sub(1),
        });
    }
    on_path
}

/// Adds the other lines of the responses on the path, and the results of calls nothing on the path answers.
fn complete(nodes: &[Node], mut selected: Vec<bool>) -> Vec<bool> {
    let chosen = |selected: &[bool]| -> Vec<&Node> {
        nodes.iter().zip(selected).filter_map(|(node, flag)| flag.then_some(node)).collect()
    };
    let responses: HashSet<&str> = chosen(&selected).iter().filter_map(|n| n.line.response_id()).collect();
    for (node, flag) in nodes.iter().zip(&mut selected) {
        *flag |= node.line.response_id().is_some_and(|id| responses.contains(id));
    }
    let chosen = chosen(&selected);
    let answered: HashSet<&str> = chosen.iter().flat_map(|node| node.line.answers()).collect();
    let mut open: HashSet<&str> = chosen.iter().flat_map(|node| node.line.calls()).collect();
    open.retain(|id| !answered.contains(id));
    for (node, flag) in nodes.iter().zip(&mut selected) {
        let fresh = !*flag && node.line.answers().any(|id| open.contains(id));
        if fresh {
            *flag = true;
            node.line.answers().for_each(|id| {
                open.remove(id);
            });
        }
    }
    selected
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
