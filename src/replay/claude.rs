//! Finds the conversation in Claude Code transcripts. The lines form a tree by `uuid` and `parentUuid`; one API
//! response is several lines of one message id, and parallel results hang on different ones of them, so the path to
//! the last line is completed with its responses' other lines and their results. A compaction begins a new root and a
//! new stretch; the path goes on before it. Sub-agents' lines (sidechains) are left out. The conversion to pi's
//! shapes is `claude_messages`.

use super::claude_messages::{self as messages, Compaction, LineContent, Response, content_of_line};
use super::claude_stretches::timeline;
use super::lines::{self, Place};
use super::{Format, Id, Index, Object, Unplayed, is_true, str_of};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The lines that a message is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Recipe {
    /// The lines of one response.
    Response(Vec<Place>),
    /// One of the tool results in a line.
    Result { line: Place, number: usize },
    /// The words of a line beside tool results.
    Prompt(Place),
    /// A compaction's summary, and the line that tells how large the prompt was before.
    Summary { line: Place, boundary: Option<Place> },
}

impl Recipe {
    /// The message.
    pub(super) fn message(&self, file: &[u8], tools: Option<&Tools>) -> Option<Value> {
        let read = |place: Place| content_of_line(place.read(file)?).ok();
        match self {
            Self::Response(lines) => {
                let mut response = Response::default();
                for line in lines {
                    let (LineContent::Assistant(message), time) = read(*line)? else { return None };
                    response.add(message, time);
                }
                response.finish()
            }
            Self::Result { line, number } => {
                let (LineContent::User(content) | LineContent::Meta(content), time) = read(*line)? else {
                    return None;
                };
                messages::result_in(content, *number, time, |id| tools?.name_of(id))
            }
            Self::Prompt(line) => match read(*line)? {
                (LineContent::User(content), time) => {
                    messages::said_in(content).map(|said| messages::prompt(said, time, false))
                }
                (LineContent::Meta(content), time) => {
                    messages::said_in(content).map(|said| messages::prompt(said, time, true))
                }
                _ => None,
            },
            Self::Summary { line, boundary } => {
                let (LineContent::Summary(content), time) = read(*line)? else { return None };
                let tokens_before = match boundary.and_then(read) {
                    Some((LineContent::Boundary(compaction), _)) => compaction.tokens_before,
                    _ => None,
                };
                Some(messages::summary(&content, tokens_before, time))
            }
        }
    }
}

/// The tool of each call in the file.
#[derive(Debug, Default)]
pub(super) struct Tools {
    names: Vec<String>,
    by_call: HashMap<Id, usize>,
}

impl Tools {
    fn add(&mut self, call: &str, name: &str) {
        let known = self.names.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.by_call.insert(Id::of(call), number);
    }

    fn name_of(&self, call: &str) -> Option<String> {
        self.names.get(*self.by_call.get(&Id::of(call))?).cloned()
    }
}

/// Reads the transcript and follows the path to its last line.
pub(super) fn read(file: &[u8]) -> Index {
    let mut nodes: Vec<Node> = Vec::new();
    let mut known = HashSet::new();
    let mut tools = Tools::default();
    let problems = lines::for_each_object(file, |place, line| {
        let node = node_of(place, line, &mut tools)?;
        // A resumed session repeats lines it already has.
        nodes.extend(node.filter(|node| node.uuid.is_none_or(|uuid| known.insert(uuid))));
        Ok(())
    });
    drop(known);
    let mut unplayed = Unplayed::default();
    // A sub-agent's own file has nothing but sidechain lines.
    if nodes.iter().any(|node| !node.is_sidechain && node.speaks()) {
        unplayed.sub_agents = responses(nodes.iter().filter(|node| node.is_sidechain));
        nodes.retain(|node| !node.is_sidechain);
    }
    let selected = complete(&nodes, path(&nodes));
    let with =
        |flag: bool| nodes.iter().zip(&selected).filter(move |(_, s)| **s == flag).map(|(node, _)| node);
    unplayed.abandoned = responses(with(false));
    let timeline = timeline(&nodes, &selected);
    Index { format: Format::ClaudeCode, timeline, problems, unplayed, tools: Some(tools) }
}

/// The parts of a line that are kept. Files have millions that say nothing to the model.
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) uuid: Option<Id>,
    pub(super) parent: Parent,
    pub(super) is_sidechain: bool,
    pub(super) speech: Option<Box<Speech>>,
}

pub(super) enum Parent {
    Root,
    Uuid(Id),
    /// None is named: the line before it in the file.
    Previous,
}

/// The words of a line that are kept.
pub(super) enum Speech {
    Assistant {
        /// The id shared by all lines of one API response.
        response: Option<Id>,
        calls: Vec<Id>,
    },
    Prompt {
        answers: Vec<Id>,
        /// True if it says anything beside them.
        says_more: bool,
    },
    Summary,
    Boundary(Boundary),
}

/// The place of a compaction.
pub(super) struct Boundary {
    /// Lines from before that were kept word for word.
    pub(super) preserved: HashSet<Id>,
    /// The last line before it.
    pub(super) after: Option<Id>,
}

impl Node {
    fn speaks(&self) -> bool {
        self.speech.is_some()
    }

    pub(super) fn boundary(&self) -> Option<&Boundary> {
        match self.speech.as_deref() {
            Some(Speech::Boundary(boundary)) => Some(boundary),
            _ => None,
        }
    }

    pub(super) fn is_summary(&self) -> bool {
        matches!(self.speech.as_deref(), Some(Speech::Summary))
    }

    /// A summary that no boundary announces begins a stretch by itself.
    pub(super) fn is_bare_summary(&self) -> bool {
        self.is_summary() && matches!(self.parent, Parent::Root)
    }

    fn response(&self) -> Option<Id> {
        match self.speech.as_deref() {
            Some(Speech::Assistant { response, .. }) => *response,
            _ => None,
        }
    }

    fn calls(&self) -> &[Id] {
        match self.speech.as_deref() {
            Some(Speech::Assistant { calls, .. }) => calls,
            _ => &[],
        }
    }

    fn answers(&self) -> &[Id] {
        match self.speech.as_deref() {
            Some(Speech::Prompt { answers, .. }) => answers,
            _ => &[],
        }
    }
}

/// `None` for a line that is no part of the conversation's tree (titles, file snapshots, queues).
fn node_of(place: Place, line: Object, tools: &mut Tools) -> Result<Option<Node>, String> {
    let parent = match line.get("parentUuid") {
        Some(Value::String(uuid)) => Parent::Uuid(Id::of(uuid)),
        Some(Value::Null) => Parent::Root,
        _ => Parent::Previous,
    };
    let uuid = str_of(&line, "uuid").map(Id::of);
    let after = str_of(&line, "logicalParentUuid").map(Id::of);
    let is_sidechain = is_true(&line, "isSidechain") || str_of(&line, "parent_tool_use_id").is_some();
    let is_attachment = str_of(&line, "type") == Some("attachment");
    let speech = match content_of_line(line)?.0 {
        LineContent::Assistant(message) => {
            let calls = messages::calls_of(&message);
            let calls = calls.inspect(|(id, name)| tools.add(id, name)).map(|(id, _)| Id::of(id)).collect();
            Some(Speech::Assistant { response: str_of(&message, "id").map(Id::of), calls })
        }
        LineContent::User(content) | LineContent::Meta(content) => {
            let answers = messages::answers_in(&content).map(Id::of).collect();
            Some(Speech::Prompt { answers, says_more: messages::said_in(content).is_some() })
        }
        LineContent::Summary(_) => Some(Speech::Summary),
        LineContent::Boundary(Compaction { preserved, .. }) => Some(Speech::Boundary(Boundary {
            preserved: preserved.iter().map(|uuid| Id::of(uuid)).collect(),
            after,
        })),
        LineContent::Silent if uuid.is_none() && !is_attachment => return Ok(None),
        LineContent::Silent => None,
    };
    Ok(Some(Node { place, uuid, parent, is_sidechain, speech: speech.map(Box::new) }))
}

/// Number of API responses in these lines.
fn responses<'a>(nodes: impl Iterator<Item = &'a Node>) -> usize {
    let mut ids = HashSet::new();
    let mut count = 0;
    for node in nodes {
        if let Some(Speech::Assistant { response, .. }) = node.speech.as_deref() {
            count += usize::from(response.is_none_or(|id| ids.insert(id)));
        }
    }
    count
}

/// Marks the lines from the last message up to the conversation's beginning, compactions on the way left behind.
fn path(nodes: &[Node]) -> Vec<bool> {
    let named = nodes.iter().enumerate().filter_map(|(index, node)| Some((node.uuid?, index)));
    let by_uuid: HashMap<Id, usize> = named.collect();
    // A parent lost to a broken line: the line before stands in.
    let at = |uuid: &Id, index: usize| by_uuid.get(uuid).copied().or_else(|| index.checked_sub(1));
    let mut on_path = vec![false; nodes.len()];
    let mut current = nodes.iter().rposition(Node::speaks);
    while let Some(index) = current {
        match on_path.get_mut(index) {
            Some(visited) if !*visited => *visited = true,
            _ => break,
        }
        current = nodes.get(index).and_then(|node| match (&node.parent, node.boundary()) {
            (Parent::Uuid(uuid), _) | (Parent::Root, Some(Boundary { after: Some(uuid), .. })) => {
                at(uuid, index)
            }
            (Parent::Previous, _) | (Parent::Root, Some(_)) => index.checked_sub(1),
            (Parent::Root, None) if node.is_bare_summary() => index.checked_sub(1),
            (Parent::Root, None) => None,
        });
    }
    on_path
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
    let answered: HashSet<Id> = chosen.iter().flat_map(|node| node.answers()).copied().collect();
    let mut open: HashSet<Id> = chosen.iter().flat_map(|node| node.calls()).copied().collect();
    open.retain(|id| !answered.contains(id));
    for (node, flag) in nodes.iter().zip(&mut selected) {
        let fresh = !*flag && node.answers().iter().any(|id| open.contains(id));
        if fresh {
            *flag = true;
            for id in node.answers() {
                open.remove(id);
            }
        }
    }
    selected
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
