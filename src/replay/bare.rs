//! Finds bare messages: one JSON array of them, or one per line. They are taken as they are.

use super::lines::{self, Line, Place};
use super::{Format, Index, Recipe, Timeline, Unplayed, UnreadLine, json, str_of};
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

const NO_ROLE: &str = "This is not a message: it has no role.";

/// One message per line.
pub(super) fn in_lines(file: &[u8]) -> Index {
    let mut timeline = Timeline::default();
    let problems = lines::for_each_object(file, |place, object| {
        let role = str_of(&object, "role").ok_or_else(|| NO_ROLE.to_owned())?;
        timeline.push(Recipe::Bare(place), role == "assistant");
        Ok(())
    });
    index(timeline, problems)
}

/// One array, in UTF-8. What stands before the end of a cut one is kept.
pub(super) fn in_array(file: &str) -> Index {
    let mut found = Found { file, timeline: Timeline::default(), problems: Vec::new() };
    let begin = lines::with_text(file.as_bytes()).next().map_or(0, |Line { offset, .. }| offset);
    let mut array = serde_json::Deserializer::from_str(file.get(begin..).unwrap_or_default());
    let read = array.deserialize_seq(&mut found).and_then(|()| array.end());
    if let Err(error) = read {
        // serde counts lines from where it began.
        let line = found.line_of(begin) + error.line() - 1;
        found.problems.push(UnreadLine { line, message: json::sentence(&error) });
    }
    index(found.timeline, found.problems)
}

/// The elements of an array.
struct Found<'a> {
    file: &'a str,
    timeline: Timeline,
    problems: Vec<UnreadLine>,
}

impl Found<'_> {
    fn line_of(&self, offset: usize) -> usize {
        1 + self.file.bytes().take(offset).filter(|&byte| byte == b'\n').count()
    }

    fn add(&mut self, element: &str) {
        let offset = element.as_ptr().addr() - self.file.as_ptr().addr();
        let object = json::read(element.as_bytes()).map(|value| value.as_object().cloned());
        let role = object.map(|object| Some(str_of(&object?, "role")? == "assistant"));
        match role.and_then(|role| role.ok_or_else(|| NO_ROLE.to_owned())) {
            Ok(is_answer) => {
                self.timeline.push(Recipe::Bare(Place::new(offset, element.len())), is_answer);
            }
            Err(message) => self.problems.push(UnreadLine { line: self.line_of(offset), message }),
        }
    }
}

impl<'a> Visitor<'a> for &mut Found<'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'a RawValue>()? {
            self.add(element.get());
        }
        Ok(())
    }
}

fn index(timeline: Timeline, problems: Vec<UnreadLine>) -> Index {
    Index { format: Format::Messages, timeline, problems, unplayed: Unplayed::default(), tools: None }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::Value;

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
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn an_array_that_ends_between_its_elements_says_so_once() {
        for (file, line) in [("[{\"role\":\"user\"},\n", 2), ("[{\"role\":\"user\"}", 1), ("[", 1)] {
            let problems = parse(file.as_bytes()).problems;
            assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [line], "{file}");
        }
        assert_eq!(parse(b"[{\"role\":\"user\"}] x").problems.len(), 1);
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
        assert_eq!(session.problems, [UnreadLine { line: 2, message: NO_ROLE.to_owned() }]);
    }
}
