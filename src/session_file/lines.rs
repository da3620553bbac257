//! Cuts a file into its non-blank lines with their numbers, and collects what is wrong with them.

use super::{Object, Problem, json};
use serde_json::Value;

/// The lines with something on them, numbered from 1 as an editor does, without their line ends.
pub(super) fn of(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text.split(|byte| *byte == b'\n')
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
}

/// Hands every line that is a JSON object to `each`, with its number; what `each` objects to is reported too.
pub(super) fn for_each_object(
    text: &[u8],
    mut each: impl FnMut(usize, Object) -> Result<(), String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in of(text) {
        let used = json::read(line).and_then(|value| match value {
            Value::Object(object) => each(number, object),
            // pi's version 4 writes several records of one transaction as one array.
            Value::Array(records) => records.into_iter().try_for_each(|record| match record {
                Value::Object(object) => each(number, object),
                _ => Err(NOT_AN_OBJECT.to_owned()),
            }),
            _ => Err(NOT_AN_OBJECT.to_owned()),
        });
        if let Err(message) = used {
            problems.push(Problem { line: number, message });
        }
    }
    problems
}

const NOT_AN_OBJECT: &str = "The line is JSON, but not an object.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_blank_lines_and_crlf_is_trimmed() {
        let found: Vec<_> = of(b"a\r\n\r\n  \nb\n").collect();
        assert_eq!(found, [(1, b"a".as_slice()), (4, b"b".as_slice())]);
    }

    #[test]
    fn each_bad_line_is_reported_by_number() {
        let mut seen = 0;
        let problems = for_each_object(b"{}\n{\"a\":\n7\n[{},{}]\nnull\n{\"x\":1}", |number, _| {
            seen += 1;
            if number == 6 { Err("no".to_owned()) } else { Ok(()) }
        });
        let numbers: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!((seen, numbers), (4, vec![2, 3, 5, 6]));
    }
}
