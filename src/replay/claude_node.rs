//! A line of a Claude Code transcript, by its place in the conversation's tree.

use serde_json::Value;

use super::claude_messages::{Compaction, LineContent, answers_in, calls_of, content_of_line};
use super::tree::Parent;
use super::{Id, Object, is_true, str_of, time_ms};

/// A line of the conversation's tree.
pub(super) struct Node {
    pub(super) uuid: Option<Id>,
    pub(super) parent: Parent,
    /// Of a compaction: the last line before it.
    pub(super) after: Option<Id>,
    pub(super) is_sidechain: bool,
    /// True if the conversation goes through it.
    pub(super) is_selected: bool,
    pub(super) content: LineContent,
    pub(super) time: Option<Value>,
}

impl Node {
    pub(super) fn speaks(&self) -> bool {
        !matches!(self.content, LineContent::Silent)
    }

    pub(super) fn compaction(&self) -> Option<&Compaction> {
        match &self.content {
            LineContent::Boundary(compaction) => Some(compaction),
            _ => None,
        }
    }

    pub(super) fn is_kept_by(&self, compaction: &Compaction) -> bool {
        self.uuid.is_some_and(|uuid| compaction.preserved.contains(&uuid))
    }

    pub(super) fn is_summary(&self) -> bool {
        matches!(self.content, LineContent::Summary(_))
    }

    /// A summary that no boundary announces begins a stretch by itself.
    pub(super) fn is_bare_summary(&self) -> bool {
        self.is_summary() && matches!(self.parent, Parent::Root)
    }

    /// The id shared by all lines of one API response.
    pub(super) fn response(&self) -> Option<Id> {
        match &self.content {
            LineContent::Assistant(message) => str_of(message, "id").map(Id::of),
            _ => None,
        }
    }

    pub(super) fn calls(&self) -> Vec<Id> {
        match &self.content {
            LineContent::Assistant(message) => calls_of(message).map(|(id, _)| Id::of(id)).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn answers(&self) -> Vec<Id> {
        match &self.content {
            LineContent::User { content, .. } => answers_in(content).map(Id::of).collect(),
            _ => Vec::new(),
        }
    }
}

/// `None` for a line that is no part of the conversation's tree (titles, file snapshots, queues).
pub(super) fn node_of(line: Object) -> Result<Option<Node>, String> {
    let parent = Parent::of(&line, "parentUuid");
    let uuid = str_of(&line, "uuid").map(Id::of);
    let after = str_of(&line, "logicalParentUuid").map(Id::of);
    let is_sidechain = is_true(&line, "isSidechain") || str_of(&line, "parent_tool_use_id").is_some();
    let is_attachment = str_of(&line, "type") == Some("attachment");
    let time = time_ms(line.get("timestamp")).map(Value::from);
    let content = content_of_line(line)?;
    let node = Node { uuid, parent, after, is_sidechain, is_selected: false, content, time };
    Ok(Some(node).filter(|node| node.speaks() || uuid.is_some() || is_attachment))
}
