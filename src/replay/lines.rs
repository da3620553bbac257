//! Cuts a file into its non-blank lines, says where each stands, and collects what is wrong with them.

use super::{Object, UnreadLine, json};
use serde_json::Value;
use std::num::NonZeroU32;

/// The byte order mark some recorders begin with.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The place of one JSON value in the file, so that it can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Bytes before it, and its own: a file has fewer than 4 GiB.
    offset: u32,
    len: u32,
    /// In a line that holds several records, which of them, from 1.
    record: Option<NonZeroU32>,
}

impl Place {
    pub(super) fn new(offset: usize, len: usize) -> Self {
        Self { offset: offset as u32, len: len as u32, record: None }
    }

    /// The object that stands here; `None` in another file.
    pub(super) fn read(self, file: &[u8]) -> Option<Object> {
        let bytes = file.get(self.offset as usize..)?.get(..self.len as usize)?;
        let value = match (json::read(bytes).ok()?, self.record) {
            (Value::Array(records), Some(number)) => records.into_iter().nth(number.get() as usize - 1)?,
            (value, None) => value,
            _ => return None,
        };
        if let Value::Object(object) = value { Some(object) } else { None }
    }
}

/// A line of the file: its number from 1 as an editor counts, where its text begins, and the text without blanks
/// around it.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) offset: usize,
    pub(super) text: &'a [u8],
}

/// Every line with something on it.
pub(super) fn with_text(file: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut end = 0;
    (1..).zip(file.split(|&byte| byte == b'\n')).filter_map(move |(number, line)| {
        end += line.len() + 1;
        let line = if number == 1 { line.strip_prefix(BOM).unwrap_or(line) } else { line };
        let begins = line.trim_ascii_start();
        let offset = end - 1 - begins.len();
        let text = begins.trim_ascii_end();
        (!text.is_empty()).then_some(Line { number, offset, text })
    })
}

/// Hands every line that is a JSON object to `each`, with its place; what `each` objects to is reported too.
pub(super) fn for_each_object(
    file: &[u8],
    mut each: impl FnMut(Place, Object) -> Result<(), String>,
) -> Vec<UnreadLine> {
    let mut problems = Vec::new();
    for Line { number, offset, text } in with_text(file) {
        let place = Place::new(offset, text.len());
        let used = json::read(text).and_then(|value| match value {
            Value::Object(object) => each(place, object),
            // pi's version 4 writes several records of one transaction as one array.
            Value::Array(records) => (1..).zip(records).try_for_each(|(number, record)| match record {
                Value::Object(object) => each(Place { record: NonZeroU32::new(number), ..place }, object),
                _ => Err(NOT_AN_OBJECT.to_owned()),
            }),
            _ => Err(NOT_AN_OBJECT.to_owned()),
        });
        if let Err(message) = used {
            problems.push(UnreadLine { line: number, message });
        }
    }
    problems
}

const NOT_AN_OBJECT: &str = "The line is JSON, but not an object.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_blank_lines_and_places_leave_out_what_is_around() {
        let file = b"\xef\xbb\xbf a\r\n\r\n  \n  b\n";
        let found: Vec<_> = with_text(file).map(|line| (line.number, line.offset, line.text)).collect();
        assert_eq!(found, [(1, 4, b"a".as_slice()), (4, 14, b"b")]);
        assert_eq!(file.get(14), Some(&b'b'));
    }

    #[test]
    fn each_bad_line_is_reported_by_number() {
        let file = b"{}\n{\"a\":\n7\n[{},{}]\nnull\n{\"x\":1}";
        let mut seen = 0;
        let problems = for_each_object(file, |_, object| {
            seen += 1;
            if object.contains_key("x") { Err("no".to_owned()) } else { Ok(()) }
        });
        let numbers: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!((seen, numbers), (4, vec![2, 3, 5, 6]));
    }

    #[test]
    fn what_was_found_is_found_again_and_nothing_in_another_file() {
        let file = b" {\"a\":1}\n[{\"b\":2},{\"c\":3}]\n";
        let mut places = Vec::new();
        for_each_object(file, |place, object| {
            places.push((place, object));
            Ok(())
        });
        assert_eq!(places.len(), 3);
        for (place, object) in &places {
            assert_eq!(place.read(file).as_ref(), Some(object));
            assert_eq!((place.read(&[b'7'; 40]), place.read(&file[..3])), (None, None));
        }
    }
}
