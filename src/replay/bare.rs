//! Finds bare messages: one JSON array of them, or one per line. They are taken as they are.

use super::{Recording, Timeline, UnreadLine, json, lines, str_of};
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

const NO_ROLE: &str = "This is not a message: it has no role.";

/// One message per line.
pub(super) fn in_lines(file: &[u8]) -> Recording {
    let mut timeline = Timeline::default();
    let problems = lines::for_each_object(file, |object| add(&mut timeline, &Value::Object(object)));
    Recording { timeline, problems, ..Recording::default() }
}

/// One array. The elements before the end of a cut one are kept.
pub(super) fn in_array(file: &[u8]) -> Recording {
    let file = String::from_utf8_lossy(file);
    let mut elements = Elements { file: &file, recording: Recording::default() };
    let mut array = serde_json::Deserializer::from_str(file.trim_start_matches('\u{feff}'));
    let read = array.deserialize_seq(&mut elements).and_then(|()| array.end());
    if let Err(error) = read {
        elements.recording.problems.push(UnreadLine { line: error.line(), message: json::sentence(&error) });
    }
    elements.recording
}

/// The elements of an array.
struct Elements<'a> {
    file: &'a str,
    recording: Recording,
}

impl<'a> Visitor<'a> for &mut Elements<'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'a RawValue>()? {
            let read = json::read(element.get().as_bytes());
            let Recording { timeline, problems, .. } = &mut self.recording;
            if let Err(message) = read.and_then(|value| add(timeline, &value)) {
                let offset = element.get().as_ptr().addr() - self.file.as_ptr().addr();
                let line = 1 + self.file.bytes().take(offset).filter(|&byte| byte == b'\n').count();
                problems.push(UnreadLine { line, message });
            }
        }
        Ok(())
    }
}

fn add(timeline: &mut Timeline, value: &Value) -> Result<(), String> {
    let role = value.as_object().and_then(|object| str_of(object, "role")).ok_or(NO_ROLE)?;
    timeline.push(value.to_string().into(), role == "assistant");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn an_array_and_lines_of_the_same_messages_read_the_same() {
        let array = Recording::read(
            b"\xef\xbb\xbf [{\"role\":\"user\",\"content\":\"a\"},\r\n {\"role\":\"x\",\"odd\":[1.5]}]",
        );
        let lines =
            Recording::read(b"{\"role\":\"user\",\"content\":\"a\"}\r\n\r\n{\"role\":\"x\",\"odd\":[1.5]}");
        assert_eq!(array.context(), lines.context());
        assert_eq!(array.context().len(), 2);
        assert!(array.problems.is_empty());
    }

    #[test]
    fn a_cut_array_keeps_its_whole_elements_and_names_the_line() {
        let session = Recording::read(b"[{\"role\":\"user\"},\n3,\n{\"role\":\"user\"},\n{\"role\":\"us");
        assert_eq!(session.context().len(), 2);
        let lines: Vec<_> = session.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn an_array_that_ends_between_its_elements_says_so_once() {
        for (file, line) in [("[{\"role\":\"user\"},\n", 2), ("[{\"role\":\"user\"}", 1), ("[", 1)] {
            let problems = Recording::read(file.as_bytes()).problems;
            assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [line], "{file}");
        }
        assert_eq!(Recording::read(b"[{\"role\":\"user\"}] x").problems.len(), 1);
    }

    #[test]
    fn a_lone_surrogate_in_an_array_costs_nothing() {
        let session = Recording::read(br#"[{"role":"user","content":"\ud83d"}]"#);
        assert_eq!(session.context().first().and_then(|m| m.get("content")), Some(&Value::from("\u{fffd}")));
        assert!(session.problems.is_empty());
    }

    #[test]
    fn a_line_without_a_role_is_reported() {
        let session = Recording::read(b"{\"role\":\"user\"}\n{\"text\":\"hi\"}");
        assert_eq!(session.context().len(), 1);
        assert_eq!(session.problems, [UnreadLine { line: 2, message: NO_ROLE.to_owned() }]);
    }
}
