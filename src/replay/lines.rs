//! Cuts a file into its non-blank lines, and collects what is wrong with them.

use super::{Object, UnreadLine, json};
use serde_json::Value;
use std::io::{BufRead, Result};

/// The byte order mark some recorders begin with.
const BOM: &[u8] = "\u{feff}".as_bytes();
const NOT_AN_OBJECT: &str = "The line is JSON, but not an object.";

/// A line without the blanks around it, and the first of a file without its mark.
pub(super) fn text_of(line: &[u8], is_first: bool) -> &[u8] {
    let marked = line.strip_prefix(BOM).filter(|_| is_first);
    marked.unwrap_or(line).trim_ascii()
}

/// Hands every line that is a JSON object to `each`; what `each` objects to is reported by the line's number, as an
/// editor counts.
pub(super) fn for_each_object(
    mut file: impl BufRead,
    mut each: impl FnMut(Object) -> std::result::Result<(), String>,
) -> Result<Vec<UnreadLine>> {
    let mut problems = Vec::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let text = text_of(&bytes, line == 1);
        if text.is_empty() {
            continue;
        }
        let used = json::read(text).and_then(|value| match value {
            Value::Object(object) => each(object),
            // pi's version 4 writes several records of one transaction as one array.
            Value::Array(records) => records.into_iter().try_for_each(|record| match record {
                Value::Object(object) => each(object),
                _ => Err(NOT_AN_OBJECT.to_owned()),
            }),
            _ => Err(NOT_AN_OBJECT.to_owned()),
        });
        if let Err(message) = used {
            problems.push(UnreadLine { line, message });
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_without_its_mark_and_blanks() {
        assert_eq!(text_of(b"\xef\xbb\xbf a\r\n", true), b"a");
        assert_eq!(text_of(b"\xef\xbb\xbf", false), b"\xef\xbb\xbf");
        assert_eq!(text_of(b" \t\r\n", false), b"");
    }

    #[test]
    fn each_bad_line_is_reported_by_number() {
        let file = b"{}\n{\"a\":\n7\n[{},{}]\nnull\n{\"x\":1}";
        let mut seen = 0;
        let problems = for_each_object(&file[..], |object| {
            seen += 1;
            if object.contains_key("x") { Err("no".to_owned()) } else { Ok(()) }
        })
        .expect("memory can be read");
        let numbers: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!((seen, numbers), (4, vec![2, 3, 5, 6]));
    }
}
