//! Cuts a file into its non-blank lines, and collects what is wrong with them.

use super::{Object, UnreadLine, json};
use serde_json::Value;

/// The byte order mark some recorders begin with.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The lines of a file without the blanks around them and the file's mark, each with its number as an editor counts.
pub(super) fn lines(file: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let file = file.strip_prefix(BOM).unwrap_or(file);
    (1..).zip(file.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii))
}

/// Hands every line that is a JSON object to `each`; what `each` objects to is reported by the line's number.
pub(super) fn for_each_object(
    file: &[u8],
    mut each: impl FnMut(Object) -> Result<(), String>,
) -> Vec<UnreadLine> {
    let mut take = |value| match value {
        Value::Object(object) => each(object),
        _ => Err("The line is JSON, but not an object.".to_owned()),
    };
    let mut problems = Vec::new();
    for (line, text) in lines(file).filter(|(_, text)| !text.is_empty()) {
        let used = json::read(text).and_then(|value| match value {
            // pi's version 4 writes several records of one transaction as one array.
            Value::Array(records) => records.into_iter().try_for_each(&mut take),
            value => take(value),
        });
        if let Err(message) = used {
            problems.push(UnreadLine { line, message });
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_without_the_files_mark_and_blanks() {
        let read: Vec<_> = lines(b"\xef\xbb\xbf a\r\n\xef\xbb\xbf\n \t\r").collect();
        assert_eq!(read, [(1, &b"a"[..]), (2, b"\xef\xbb\xbf"), (3, b"")]);
    }

    #[test]
    fn each_bad_line_is_reported_by_number() {
        let file = b"{}\n{\"a\":\n7\n[{},{}]\nnull\n{\"x\":1}";
        let mut seen = 0;
        let problems = for_each_object(&file[..], |object| {
            seen += 1;
            if object.contains_key("x") { Err("no".to_owned()) } else { Ok(()) }
        });
        let numbers: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!((seen, numbers), (4, vec![2, 3, 5, 6]));
    }
}
