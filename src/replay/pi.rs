//! Finds the conversation in pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the agent
//! harness's log of records. It is the path from the root to the leaf; each compaction and each edit on it begins a
//! stretch with the context pi itself would build there. Where a broken line tore a parent out of the tree, the
//! entry before it stands in, so that one bad line does not cost all of the history above it.

use super::pi_entries::{Entry, FirstKept, edited, read as read_entry};
use super::timeline::{Cause, Timeline};
use super::tree::{Parent, path, places};
use super::{Format, Id, Message, Object, Recording, Unplayed, lines, str_of};
use serde_json::Value;
use std::collections::HashMap;

/// The last version without `id` and `parentId`; its entries form one list.
const LINEAR_VERSION: u32 = 1;

/// An entry and its place in the tree.
struct Node {
    id: Option<Id>,
    parent: Parent,
    /// Its position among the parsed lines, the header's included.
    line: usize,
    entry: Entry,
}

#[derive(Default)]
struct Tree {
    version: Option<u32>,
    nodes: Vec<Node>,
    /// Lines that were parsed so far: entries, and the header.
    lines: usize,
    /// The entry that the next one would follow.
    leaf: Parent,
}

/// Reads the file and follows the path to its leaf.
pub(super) fn read(file: &[u8]) -> Recording {
    let mut tree = Tree::default();
    let problems = lines::for_each_object(file, |line| tree.add(line));
    let version = tree.version.unwrap_or(LINEAR_VERSION);
    let path = tree.path(version);
    let is_answer = |node: &&Node| matches!(node.entry, Entry::Message { is_answer: true, .. });
    let answers = tree.nodes.iter().filter(is_answer).count();
    let abandoned = answers - path.iter().copied().filter(is_answer).count();
    let unplayed = Unplayed { abandoned, sub_agents: 0 };
    Recording { format: Format::Pi { version }, timeline: timeline(&path), problems, unplayed }
}

impl Tree {
    fn add(&mut self, line: Object) -> Result<(), String> {
        if str_of(&line, "type") == Some("session") || str_of(&line, "kind") == Some("header") {
            let version = line.get("version").or_else(|| line.get("v")).and_then(Value::as_u64);
            let version = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(LINEAR_VERSION);
            self.version.get_or_insert(version);
            self.lines += 1;
            return Ok(());
        }
        let is_record = line.contains_key("kind");
        match leaf_key(&line) {
            Some(key) => self.leaf = Parent::of(&line, key),
            // A log of records names every move of the leaf; elsewhere it follows what is appended.
            None if is_record => {}
            None => self.leaf = Parent::Previous,
        }
        if is_record && str_of(&line, "kind") != Some("entry") {
            return Ok(());
        }
        let id = str_of(&line, "id").map(Id::of);
        let parent = Parent::of(&line, "parentId");
        let (entry, outcome) = match read_entry(line) {
            Ok(entry) => (entry, Ok(())),
            Err(message) => (Entry::Other, Err(message)),
        };
        self.nodes.push(Node { id, parent, line: self.lines, entry });
        self.lines += 1;
        outcome
    }

    /// The entries from the root to the leaf.
    fn path(&self, version: u32) -> Vec<&Node> {
        if version <= LINEAR_VERSION {
            return self.nodes.iter().collect();
        }
        let places = places(self.nodes.iter().map(|node| node.id));
        let leaf = self.leaf.place(self.nodes.len(), &places);
        let path = path(leaf, |index| self.nodes.get(index)?.parent.place(index, &places));
        path.into_iter().rev().filter_map(|index| self.nodes.get(index)).collect()
    }
}

impl Node {
    fn is_first_kept(&self, first_kept: &FirstKept) -> bool {
        match first_kept {
            FirstKept::Id(id) => self.id == Some(*id),
            FirstKept::Line(line) => self.line == *line,
            FirstKept::None => false,
        }
    }
}

/// The messages on the path, and where compactions and edits on it rewrote the past.
fn timeline(path: &[&Node]) -> Timeline {
    let mut context = Context::default();
    for (step, node) in path.iter().enumerate() {
        match &node.entry {
            Entry::Message { json, is_answer, .. } => context.append(step, node.id, json, *is_answer),
            Entry::Edit { target, replacement } => context.edit(*target, replacement.as_ref()),
            Entry::Compaction { head, first_kept } => {
                let before = path.iter().enumerate().take(step);
                let kept = before.skip_while(|(_, node)| !node.is_first_kept(first_kept));
                // The checkpoint in the compaction has folded the system messages in.
                let kept =
                    kept.filter(|(_, node)| matches!(node.entry, Entry::Message { is_system: false, .. }));
                context.compact(head, kept.map(|(step, _)| step));
            }
            Entry::Other => {}
        }
    }
    context.timeline
}

/// The context as it was built up along the path.
#[derive(Default)]
struct Context<'a> {
    timeline: Timeline,
    /// The latest edit of each entry: its content, or none where the entry was taken away.
    edits: HashMap<Id, Option<&'a Value>>,
    /// Number of each message entry as it now reads, by its step on the path.
    numbers: HashMap<usize, usize>,
    /// Each message entry with an id, by its step and as it came.
    originals: HashMap<Id, (usize, &'a Message)>,
}

impl<'a> Context<'a> {
    fn append(&mut self, step: usize, id: Option<Id>, message: &'a Message, is_answer: bool) {
        self.originals.extend(id.map(|id| (id, (step, message))));
        let message = match id.and_then(|id| self.edits.get(&id)) {
            Some(None) => return,
            Some(Some(replacement)) => edited(message, replacement),
            None => message.clone(),
        };
        let number = self.timeline.push(message, is_answer);
        self.numbers.insert(step, number);
    }

    /// The latest edit of an entry wins.
    fn edit(&mut self, target: Id, replacement: Option<&'a Value>) {
        self.edits.insert(target, replacement);
        let Some(&(step, message)) = self.originals.get(&target) else { return };
        let before = self.timeline.transcript();
        let old = self.numbers.remove(&step);
        let new = replacement.map(|replacement| self.timeline.push_aside(edited(message, replacement)));
        self.numbers.extend(new.map(|number| (step, number)));
        let after =
            before.into_iter().filter_map(|number| if Some(number) == old { new } else { Some(number) });
        let after = after.collect();
        self.timeline.cut(Cause::Edit, after);
    }

    fn compact(&mut self, head: &[Message], kept: impl Iterator<Item = usize>) {
        let mut opening: Vec<usize> =
            head.iter().map(|message| self.timeline.push_aside(message.clone())).collect();
        opening.extend(kept.filter_map(|step| self.numbers.get(&step)));
        self.timeline.cut(Cause::Compaction, opening);
    }
}

/// The field that names the leaf the harness moved to: of a `leaf` entry, or of the value record of a branch's tip.
fn leaf_key(line: &Object) -> Option<&'static str> {
    let key = match (str_of(line, "type"), str_of(line, "kind"), str_of(line, "namespace")) {
        (Some("leaf"), _, _) => "targetId",
        (_, Some("value"), Some("pi.branch.tip")) => "value",
        _ => return None,
    };
    line.get(key).is_some_and(|leaf| leaf.is_string() || leaf.is_null()).then_some(key)
}

#[cfg(test)]
mod tests;
