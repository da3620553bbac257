//! Finds bare messages: one JSON array of them, or one per line. They are taken as they are.

use super::elements::{self, Element, End};
use super::lines::{self, Place};
use super::{Format, Index, Object, Recipe, Timeline, Unplayed, UnreadLine, json, str_of};
use serde_json::Value;
use std::io::{self, BufRead, Seek};

const NO_ROLE: &str = "This is not a message: it has no role.";

/// One message per line.
pub(super) fn in_lines<R: BufRead + Seek>(reader: &mut R) -> io::Result<Index> {
    let mut timeline = Timeline::default();
    let problems = lines::for_each_object(reader, |place, object| {
        let role = str_of(&object, "role").ok_or_else(|| NO_ROLE.to_owned())?;
        timeline.push(Recipe::Bare(place), role == "assistant");
        Ok(())
    })?;
    Ok(index(timeline, problems))
}

/// One array. What stands before the end of a cut one is kept.
pub(super) fn in_array<R: BufRead + Seek>(reader: &mut R) -> io::Result<Index> {
    let mut timeline = Timeline::default();
    let mut problems = Vec::new();
    let mut is_reported = false;
    let end = elements::for_each(reader, |element| {
        if let Err(message) = add(&mut timeline, &element) {
            is_reported = element.is_cut;
            problems.push(UnreadLine { line: element.line, message });
        }
    })?;
    match end {
        End::Cut(_) if is_reported => {}
        End::Whole => {}
        End::Trailing(line) => {
            problems
                .push(UnreadLine { line, message: "Something follows the array of messages.".to_owned() });
        }
        End::Cut(line) => {
            problems.push(UnreadLine { line, message: "The file ends before the array does.".to_owned() });
        }
    }
    Ok(index(timeline, problems))
}

fn add(timeline: &mut Timeline, element: &Element<'_>) -> Result<(), String> {
    let value = json::read(element.text)?;
    let role = value.as_object().and_then(|object: &Object| str_of(object, "role")).ok_or(NO_ROLE)?;
    let place = Place::new(element.offset, element.text.len()).ok_or(lines::TOO_LONG)?;
    timeline.push(Recipe::Bare(place), role == "assistant");
    Ok(())
}

fn index(timeline: Timeline, problems: Vec<UnreadLine>) -> Index {
    Index { format: Format::Messages, timeline, problems, unplayed: Unplayed::default(), tools: None }
}

/// The message that stands there.
pub(super) fn message<R: BufRead + Seek>(place: Place, reader: &mut R) -> io::Result<Value> {
    Ok(Value::Object(place.read(reader)?))
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
