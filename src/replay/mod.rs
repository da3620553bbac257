//! Reads a recorded session: which messages it holds, and which of them the model had before it at each call.
//!
//! pi's own session files (every version), Claude Code transcripts, a JSON array of messages and one message per
//! line are told apart by their content. A file is read once, line by line, and its messages are kept as JSON.
//! A line that cannot be read is reported with its number and left out.
//! Nothing here opens a file or counts tokens.

mod bare;
mod claude;
mod claude_messages;
mod claude_node;
mod claude_stretches;
mod json;
mod lines;
mod pi;
mod pi_entries;
mod timeline;
mod tree;

use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

pub use self::timeline::{Cause, Stretch, Timeline};
use crate::fault;

pub(crate) use json::mend as mend_json;

/// The recorder that wrote the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// A session of the pi coding agent (versions 1 to 3) or of pi's agent harness (version 4).
    Pi {
        /// The version the header names; 1 where it names none.
        version: u32,
    },
    /// A transcript of Claude Code, converted.
    ClaudeCode,
    /// Bare messages: one JSON array, or one message per line.
    #[default]
    Messages,
}

/// A line that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadLine {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// The problem in one sentence without the line's text.
    pub message: String,
}

/// Recorded calls that no stretch holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unplayed {
    /// On branches of the conversation that were left.
    pub abandoned: usize,
    /// Made by sub-agents, in conversations of their own.
    pub sub_agents: usize,
}

/// A recorded session: its messages, and which of them the model had before it when.
#[derive(Debug, Default)]
pub struct Recording {
    /// Who wrote the file.
    pub format: Format,
    /// The conversation.
    pub timeline: Timeline,
    /// The lines left out because they could not be read, by line number.
    pub problems: Vec<UnreadLine>,
    /// The calls that are recorded in the file but not part of the conversation.
    pub unplayed: Unplayed,
}

impl Recording {
    /// Reads a whole file. One without messages is no error: `problems` says what is in it.
    ///
    /// ```
    /// let file = br#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
    /// {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Hello","timestamp":1}}"#;
    /// let recording = pi_strata::replay::Recording::read(file);
    /// assert_eq!(recording.context().len(), 1);
    /// ```
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        fault::step();
        reader_of(file)(file)
    }

    /// The messages that an agent would go on with: those before the next call, oldest first, each an object with a
    /// `role`.
    #[must_use]
    pub fn context(&self) -> Vec<Value> {
        let last = self.timeline.transcript();
        let messages = last.into_iter().filter_map(|number| self.timeline.messages.get(number));
        messages.filter_map(|json| serde_json::from_str(json).ok()).collect()
    }
}

/// The JSON of a message. Several lists may hold one.
pub type Message = Arc<str>;

type Reader = fn(&[u8]) -> Recording;

/// By the first line that can only come from one recorder; a file without one holds bare messages.
fn reader_of(file: &[u8]) -> Reader {
    let mut lines = lines::lines(file).filter(|(_, line)| !line.is_empty()).peekable();
    if lines.peek().is_some_and(|(_, line)| line.starts_with(b"[")) {
        return bare::in_array;
    }
    let reader = |line| json::read(line).ok()?.as_object().and_then(reader_of_line);
    lines.find_map(|(_, line)| reader(line)).unwrap_or(bare::in_lines)
}

fn reader_of_line(line: &Object) -> Option<Reader> {
    let carries_message = line.get("message").is_some_and(Value::is_object);
    match str_of(line, "type") {
        Some("session") => return Some(pi::read),
        Some("message") if carries_message => return Some(pi::read),
        Some("user" | "assistant") if carries_message => return Some(claude::read),
        _ => {}
    }
    if str_of(line, "kind") == Some("header") && line.contains_key("v") {
        return Some(pi::read);
    }
    if line.contains_key("parentUuid") || line.contains_key("leafUuid") {
        return Some(claude::read);
    }
    line.get("role").is_some_and(Value::is_string).then_some(bare::in_lines)
}

type Object = Map<String, Value>;

/// An id of the file's, as it is kept: files have millions of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Id(u64);

impl Id {
    fn of(text: &str) -> Self {
        Self(xxh3_64(text.as_bytes()))
    }
}

fn str_of<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn take_string(object: &mut Object, key: &str) -> Option<String> {
    match object.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn is_true(object: &Object, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Milliseconds since 1970 of a line's `timestamp`: an RFC 3339 string, or already a number.
fn time_ms(timestamp: Option<&Value>) -> Option<u64> {
    match timestamp? {
        Value::String(text) => {
            let time = humantime::parse_rfc3339_weak(text).ok()?;
            let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
            u64::try_from(since.as_millis()).ok()
        }
        number => number.as_u64(),
    }
}

/// An object without the fields that are null.
fn present(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_blank_file_has_no_messages_and_no_problems() {
        for file in ["", "\n\n", "\u{feff}", " \r\n\t\r\n"] {
            let session = Recording::read(file.as_bytes());
            assert_eq!((session.format, session.context().len()), (Format::Messages, 0), "{file:?}");
            assert!(session.problems.is_empty(), "{file:?}");
        }
    }

    #[test]
    fn time_is_read_from_both_notations() {
        assert_eq!(time_ms(Some(&Value::from("2025-11-20T23:33:01.550Z"))), Some(1_763_681_581_550));
        assert_eq!(time_ms(Some(&Value::from(17))), Some(17));
        for bad in
            [Value::Null, Value::from("yesterday"), Value::from(-1), Value::from("1969-01-01T00:00:00Z")]
        {
            assert_eq!(time_ms(Some(&bad)), None);
        }
    }
}
