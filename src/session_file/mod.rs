//! Reads a recorded session: bytes of a file in, the messages an agent would go on with out, in pi's shapes.
//!
//! pi's own session files (every version), Claude Code transcripts, a JSON array of messages and one message per
//! line are told apart by their content. What the recorder skips, this skips; a line that cannot be read is
//! reported with its number and left out. Nothing here touches the disk, counts tokens or changes a message.

mod claude;
mod claude_messages;
mod json;
mod lines;
mod messages;
mod pi;

use serde_json::{Map, Value};

use crate::fault;

/// Which recorder wrote the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A session of the pi coding agent (versions 1 to 3) or of pi's agent harness (version 4).
    Pi {
        /// The version the header names; 1 where it names none.
        version: u32,
    },
    /// A transcript of Claude Code, converted.
    ClaudeCode,
    /// Bare messages: one JSON array, or one message per line.
    Messages,
}

/// A line that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// What is wrong with it, in one sentence without the line's text.
    pub message: String,
}

/// A recorded session, ready to be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Who wrote it.
    pub format: Format,
    /// The messages on the path to the session's last entry, oldest first, each an object with a `role`.
    pub messages: Vec<Value>,
    /// The lines left out because they could not be read, by line number.
    pub problems: Vec<Problem>,
}

pub(crate) use json::mend as mend_json;

type Object = Map<String, Value>;

/// Reads a recorded session. Never fails: an empty or unreadable file has no messages, and says why in `problems`.
///
/// ```
/// let file = br#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
/// {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Hello","timestamp":1}}"#;
/// let session = pi_strata::session_file::parse(file);
/// assert_eq!(session.messages.len(), 1);
/// ```
#[must_use]
pub fn parse(bytes: &[u8]) -> Session {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    fault::step();
    match detect(text) {
        Shape::Array => messages::from_array(text),
        Shape::Lines => messages::from_lines(text),
        Shape::Pi => pi::read(text),
        Shape::Claude => claude::read(text),
    }
}

enum Shape {
    Array,
    Lines,
    Pi,
    Claude,
}

/// The first line that can only come from one recorder decides; a file without one is read as bare messages.
fn detect(text: &[u8]) -> Shape {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Shape::Array;
    }
    lines::of(text)
        .filter_map(|(_, line)| json::read(line).ok())
        .find_map(|value| value.as_object().and_then(shape_of_line))
        .unwrap_or(Shape::Lines)
}

fn shape_of_line(line: &Object) -> Option<Shape> {
    let carries_message = line.get("message").is_some_and(Value::is_object);
    match str_of(line, "type") {
        Some("session") => return Some(Shape::Pi),
        Some("message") if carries_message => return Some(Shape::Pi),
        Some("user" | "assistant") if carries_message => return Some(Shape::Claude),
        _ => {}
    }
    if str_of(line, "kind") == Some("header") && line.contains_key("v") {
        return Some(Shape::Pi);
    }
    if line.contains_key("parentUuid") || line.contains_key("leafUuid") {
        return Some(Shape::Claude);
    }
    line.get("role").is_some_and(Value::is_string).then_some(Shape::Lines)
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

/// Builds an object from pairs, leaving out what is `None`.
fn object<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    let present = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(present.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_blank_file_has_no_messages_and_no_problems() {
        for file in ["", "\n\n", "\u{feff}", " \r\n\t\r\n"] {
            let session = parse(file.as_bytes());
            assert_eq!((session.format, session.messages.len()), (Format::Messages, 0), "{file:?}");
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
