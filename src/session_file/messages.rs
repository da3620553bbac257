//! Reads bare messages: one JSON array of them, or one per line. They are taken as they are.

use super::{Format, Object, Problem, Session, json, lines};
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

const NO_ROLE: &str = "This is not a message: it has no role.";

/// One message per line.
pub(super) fn from_lines(text: &[u8]) -> Session {
    let mut messages = Vec::new();
    let problems = lines::for_each_object(text, |_, object| {
        has_role(&object).then_some(()).ok_or_else(|| NO_ROLE.to_owned())?;
        messages.push(Value::Object(object));
        Ok(())
    });
    Session { format: Format::Messages, messages, problems }
}

/// One array. What stands before a syntax error is kept.
pub(super) fn from_array(text: &[u8]) -> Session {
    let (mut values, mut error) = collect(text);
    if error.is_some()
        && let Some(mended) = json::mend(text)
    {
        (values, error) = collect(mended.as_bytes());
    }
    let mut problems = Vec::new();
    let mut messages = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        if value.as_object().is_some_and(has_role) {
            messages.push(value);
        } else {
            problems.push(Problem {
                line: 1,
                message: format!("Element {index} of the array is not a message."),
            });
        }
    }
    problems.extend(error.map(|error| Problem { line: error.line(), message: json::sentence(&error) }));
    Session { format: Format::Messages, messages, problems }
}

fn has_role(object: &Object) -> bool {
    object.get("role").is_some_and(Value::is_string)
}

fn collect(text: &[u8]) -> (Vec<Value>, Option<serde_json::Error>) {
    let mut values = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = Elements(&mut values).deserialize(&mut reader).and_then(|()| reader.end());
    (values, read.err())
}

/// Keeps each element as it is read, so that a cut array loses only its last one.
struct Elements<'a>(&'a mut Vec<Value>);

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of messages")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element()? {
            self.0.push(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn an_array_and_lines_of_the_same_messages_read_the_same() {
        let array = parse(
            b"\xef\xbb\xbf [{\"role\":\"user\",\"content\":\"a\"},\r\n {\"role\":\"x\",\"odd\":[1.5]}]",
        );
        let lines = parse(b"{\"role\":\"user\",\"content\":\"a\"}\r\n\r\n{\"role\":\"x\",\"odd\":[1.5]}");
        assert_eq!(array, lines);
        assert_eq!(array.messages.len(), 2);
        assert!(array.problems.is_empty());
    }

    #[test]
    fn a_cut_array_keeps_its_whole_elements_and_names_the_line() {
        let session = parse(b"[{\"role\":\"user\"},\n3,\n{\"role\":\"user\"},\n{\"role\":\"us");
        assert_eq!(session.messages.len(), 2);
        let lines: Vec<_> = session.problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 4]);
    }

    #[test]
    fn a_lone_surrogate_in_an_array_costs_nothing() {
        let session = parse(br#"[{"role":"user","content":"\ud83d"}]"#);
        assert_eq!(session.messages.first().and_then(|m| m.get("content")), Some(&Value::from("\u{fffd}")));
        assert!(session.problems.is_empty());
    }

    #[test]
    fn a_line_without_a_role_is_reported() {
        let session = parse(b"{\"role\":\"user\"}\n{\"text\":\"hi\"}");
        assert_eq!(session.messages.len(), 1);
        assert_eq!(session.problems, [Problem { line: 2, message: NO_ROLE.to_owned() }]);
    }
}
