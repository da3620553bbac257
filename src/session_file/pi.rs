//! Reads pi's session files: version 1 is a list, 2 and 3 are trees of entries, 4 is the agent harness's log of
//! records. In, the lines; out, the context pi itself would build: the path from the root to the leaf, with the
//! latest compaction and the edits on that path applied. Where a broken line tore a parent out of the tree, the
//! entry before it stands in, so that one bad line does not cost all of the history above it.

use super::{Format, Object, Session, is_true, lines, object, str_of, take_string, time_ms};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The last version without `id` and `parentId`; its entries form one list.
const LINEAR_VERSION: u32 = 1;

struct Entry {
    id: Option<String>,
    parent: Parent,
    kind: Kind,
}

enum Parent {
    Root,
    Id(String),
    /// None is named: the entry before it in the file.
    Previous,
}

enum Kind {
    Message(Value),
    Compaction(Compaction),
    Edit {
        target: String,
        replacement: Option<Value>,
    },
    /// Carries nothing the model sees, but may be a link of the path.
    Other,
}

struct Compaction {
    /// The system checkpoint (if any) and the summary.
    head: Vec<Value>,
    /// Copies of what was kept, in version 4.
    retained: Vec<Value>,
    first_kept: FirstKept,
}

enum FirstKept {
    Id(String),
    /// Version 1: its position among the parsed lines, header included.
    Line(usize),
    None,
}

#[derive(Default)]
struct File {
    version: Option<u32>,
    entries: Vec<Entry>,
    /// For each parsed line, the entry it became (the header became none).
    by_line: Vec<Option<usize>>,
    leaf: Leaf,
}

#[derive(Default)]
enum Leaf {
    #[default]
    LastEntry,
    Id(String),
    BeforeAll,
}

/// Reads the file and follows the path to its leaf.
pub(super) fn read(text: &[u8]) -> Session {
    let mut file = File::default();
    let problems = lines::for_each_object(text, |_, line| file.add(line));
    let version = file.version.unwrap_or(LINEAR_VERSION);
    Session { format: Format::Pi { version }, messages: file.into_context(version), problems }
}

impl File {
    fn add(&mut self, mut line: Object) -> Result<(), String> {
        if str_of(&line, "type") == Some("session") || str_of(&line, "kind") == Some("header") {
            let version = line.get("version").or_else(|| line.get("v")).and_then(Value::as_u64);
            let version = version.and_then(|version| u32::try_from(version).ok()).unwrap_or(LINEAR_VERSION);
            self.version.get_or_insert(version);
            self.by_line.push(None);
            return Ok(());
        }
        let is_record = line.contains_key("kind");
        match leaf_named_by(&line) {
            Some(leaf) => self.leaf = leaf,
            // A log of records names every move of the leaf; elsewhere it follows what is appended.
            None if is_record => {}
            None => self.leaf = Leaf::LastEntry,
        }
        if is_record && str_of(&line, "kind") != Some("entry") {
            return Ok(());
        }
        let id = take_string(&mut line, "id");
        let parent = match line.remove("parentId") {
            Some(Value::String(id)) => Parent::Id(id),
            Some(Value::Null) => Parent::Root,
            _ => Parent::Previous,
        };
        let kind = kind_of(line);
        let (kind, outcome) = match kind {
            Ok(kind) => (kind, Ok(())),
            Err(message) => (Kind::Other, Err(message)),
        };
        self.by_line.push(Some(self.entries.len()));
        self.entries.push(Entry { id, parent, kind });
        outcome
    }

    fn into_context(mut self, version: u32) -> Vec<Value> {
        let path = self.path(version);
        let compaction =
            path.iter().rposition(|index| matches!(self.kind(*index), Some(Kind::Compaction(_))));
        let Some(at) = compaction else { return self.project(&path) };
        let (before, from_compaction) = path.split_at(at);
        let (Some(&index), after) = (from_compaction.first(), from_compaction.get(1..).unwrap_or_default())
        else {
            return Vec::new();
        };
        let Some(Kind::Compaction(compaction)) = self.take_kind(index) else { return Vec::new() };
        let first_kept = before.iter().position(|index| self.is_first_kept(*index, &compaction.first_kept));
        let kept: Vec<usize> = first_kept
            .and_then(|first| before.get(first..))
            .unwrap_or_default()
            .iter()
            .copied()
            // The checkpoint in the compaction has folded the system messages in.
            .filter(
                |index| !matches!(self.kind(*index), Some(Kind::Message(m)) if role_of(m) == Some("system")),
            )
            .chain(after.iter().copied())
            .collect();
        let mut messages = compaction.head;
        messages.extend(compaction.retained);
        messages.extend(self.project(&kept));
        messages
    }

    /// Indices of the entries from the root to the leaf.
    fn path(&self, version: u32) -> Vec<usize> {
        if version <= LINEAR_VERSION {
            return (0..self.entries.len()).collect();
        }
        let named = self.entries.iter().enumerate().filter_map(|(index, e)| Some((e.id.as_deref()?, index)));
        let by_id: HashMap<&str, usize> = named.collect();
        let last = self.entries.len().checked_sub(1);
        let mut current = match &self.leaf {
            Leaf::BeforeAll => None,
            Leaf::Id(id) => by_id.get(id.as_str()).copied().or(last),
            Leaf::LastEntry => last,
        };
        let mut seen = vec![false; self.entries.len()];
        let mut path = Vec::new();
        while let Some(index) = current {
            match seen.get_mut(index) {
                Some(visited) if !*visited => *visited = true,
                _ => break,
            }
            path.push(index);
            current = self.entries.get(index).and_then(|entry| match &entry.parent {
                Parent::Root => None,
                Parent::Id(id) => by_id.get(id.as_str()).copied().or_else(|| index.checked_sub(1)),
                Parent::Previous => index.checked_sub(1),
            });
        }
        path.reverse();
        path
    }

    /// The messages of these entries, with the edits among them applied; the latest edit of an entry wins.
    fn project(&mut self, path: &[usize]) -> Vec<Value> {
        let mut edits = HashMap::new();
        for index in path {
            if let Some(Kind::Edit { target, replacement }) = self.kind(*index) {
                edits.insert(target.clone(), replacement.clone());
            }
        }
        let mut messages = Vec::new();
        for index in path {
            let Some(Kind::Message(mut message)) = self.take_kind(*index) else { continue };
            let id = self.entries.get(*index).and_then(|entry| entry.id.as_deref());
            match id.and_then(|id| edits.get(id)) {
                None => messages.push(message),
                Some(None) => {}
                Some(Some(replacement)) => {
                    replace_content(&mut message, replacement);
                    messages.push(message);
                }
            }
        }
        messages
    }

    fn kind(&self, index: usize) -> Option<&Kind> {
        self.entries.get(index).map(|entry| &entry.kind)
    }

    fn take_kind(&mut self, index: usize) -> Option<Kind> {
        self.entries.get_mut(index).map(|entry| std::mem::replace(&mut entry.kind, Kind::Other))
    }

    fn is_first_kept(&self, index: usize, first_kept: &FirstKept) -> bool {
        match first_kept {
            FirstKept::Id(id) => self.entries.get(index).is_some_and(|entry| entry.id.as_ref() == Some(id)),
            FirstKept::Line(line) => self.by_line.get(*line) == Some(&Some(index)),
            FirstKept::None => false,
        }
    }
}

/// Where the harness moved its leaf: a `leaf` entry, or the value record of a branch's tip.
fn leaf_named_by(line: &Object) -> Option<Leaf> {
    let key = match (str_of(line, "type"), str_of(line, "kind"), str_of(line, "namespace")) {
        (Some("leaf"), _, _) => "targetId",
        (_, Some("value"), Some("pi.branch.tip")) => "value",
        _ => return None,
    };
    match line.get(key)? {
        Value::String(id) => Some(Leaf::Id(id.clone())),
        Value::Null => Some(Leaf::BeforeAll),
        _ => None,
    }
}

fn kind_of(mut line: Object) -> Result<Kind, String> {
    let timestamp = time_ms(line.get("timestamp")).map(Value::from);
    let kind = take_string(&mut line, "type");
    match kind.as_deref() {
        Some("message") => match line.remove("message") {
            Some(Value::Object(message)) if str_of(&message, "role").is_some() => {
                Ok(Kind::Message(current_shape(message, timestamp)))
            }
            _ => Err("This message entry carries no message with a role.".to_owned()),
        },
        Some("custom_message") => Ok(Kind::Message(object([
            ("role", Some("custom".into())),
            ("customType", line.remove("customType")),
            ("content", Some(line.remove("content").filter(|c| !c.is_null()).unwrap_or_else(|| json!([])))),
            ("display", Some(is_true(&line, "display").into())),
            ("details", line.remove("details")),
            ("timestamp", timestamp),
        ]))),
        Some("branch_summary") => match take_string(&mut line, "summary") {
            Some(summary) if !summary.is_empty() => Ok(Kind::Message(object([
                ("role", Some("branchSummary".into())),
                ("summary", Some(summary.into())),
                ("fromId", line.remove("fromId")),
                ("timestamp", timestamp),
            ]))),
            _ => Ok(Kind::Other),
        },
        Some("compaction") => compaction_of(line, timestamp),
        Some("context_edit") => match (take_string(&mut line, "targetId"), line.remove("replacement")) {
            (Some(target), Some(replacement)) => {
                Ok(Kind::Edit { target, replacement: Some(replacement).filter(|r| !r.is_null()) })
            }
            _ => Err("This context edit names no target or no replacement.".to_owned()),
        },
        _ => Ok(Kind::Other),
    }
}

fn compaction_of(mut line: Object, timestamp: Option<Value>) -> Result<Kind, String> {
    let Some(summary) = take_string(&mut line, "summary") else {
        return Err("This compaction carries no summary.".to_owned());
    };
    let summary = object([
        ("role", Some("compactionSummary".into())),
        ("summary", Some(summary.into())),
        ("tokensBefore", line.remove("tokensBefore")),
        ("timestamp", timestamp),
    ]);
    let index = line.get("firstKeptEntryIndex").and_then(Value::as_u64).and_then(|i| usize::try_from(i).ok());
    let first_kept = match (take_string(&mut line, "firstKeptEntryId"), index) {
        (Some(id), _) => FirstKept::Id(id),
        (None, Some(index)) => FirstKept::Line(index),
        (None, None) => FirstKept::None,
    };
    let retained = match line.remove("retainedTail") {
        Some(Value::Array(messages)) => messages.into_iter().filter(|m| role_of(m).is_some()).collect(),
        _ => Vec::new(),
    };
    let system = line.remove("systemMessage").filter(|message| role_of(message).is_some());
    Ok(Kind::Compaction(Compaction {
        head: system.into_iter().chain([summary]).collect(),
        retained,
        first_kept,
    }))
}

/// What pi does to an old message on loading: one role renamed, missing content filled in.
fn current_shape(mut message: Object, entry_time: Option<Value>) -> Value {
    let role = str_of(&message, "role").unwrap_or_default();
    let empty = match role {
        "system" => Some(json!("")),
        "user" | "assistant" | "toolResult" => Some(json!([])),
        _ => None,
    };
    if role == "hookMessage" {
        message.insert("role".to_owned(), "custom".into());
    }
    if let Some(empty) = empty
        && message.get("content").is_none_or(Value::is_null)
    {
        message.insert("content".to_owned(), empty);
    }
    if let Some(time) = entry_time
        && !message.contains_key("timestamp")
    {
        message.insert("timestamp".to_owned(), time);
    }
    Value::Object(message)
}

fn replace_content(message: &mut Value, replacement: &Value) {
    let role = role_of(message).unwrap_or_default();
    let needs_blocks = matches!(role, "assistant" | "toolResult");
    if !needs_blocks && !matches!(role, "user" | "custom") {
        return;
    }
    let content = match replacement.get("content") {
        Some(Value::String(text)) if needs_blocks => json!([{ "type": "text", "text": text }]),
        Some(content) => content.clone(),
        None => return,
    };
    if let Some(message) = message.as_object_mut() {
        message.insert("content".to_owned(), content);
    }
}

fn role_of(message: &Value) -> Option<&str> {
    message.get("role").and_then(Value::as_str)
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
