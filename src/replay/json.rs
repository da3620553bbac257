//! Reads one JSON value as JavaScript would, where serde is stricter: recorders written in JavaScript leave
//! escapes of lone surrogates and, in files cut by bytes, broken UTF-8. Both become U+FFFD.

use serde_json::{Value, error::Category};
use std::borrow::Cow;

/// The value, or one sentence that says why there is none. Depth is bounded by serde's limit of 128.
pub(super) fn read(line: &[u8]) -> Result<Value, String> {
    let error = match serde_json::from_slice(line) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match mend(line) {
        Some(mended) => serde_json::from_str(&mended).map_err(|error| sentence(&error)),
        None => Err(sentence(&error)),
    }
}

/// One sentence for the reader, naming the column but quoting nothing of the line.
pub(super) fn sentence(error: &serde_json::Error) -> String {
    let column = error.column();
    if error.classify() == Category::Eof {
        return format!("The line breaks off at column {column}, in the middle of a JSON value.");
    }
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or("syntax error");
    format!("The line is not valid JSON: {reason} at column {column}.")
}

/// The text with lone surrogates and broken UTF-8 replaced; `None` if there was neither.
pub(crate) fn mend(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mended = replace_lone_surrogates(&text);
    let changed = matches!(text, Cow::Owned(_)) || mended.len() != text.len() || mended != *text;
    changed.then_some(mended)
}

fn replace_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let kept = match escaped_unit(escape) {
            Some(0xD800..=0xDBFF) if escape.get(6..).and_then(escaped_unit).is_some_and(is_low) => 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            None => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (escape, after) = escape.split_at(kept);
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_low(unit: u16) -> bool {
    (0xDC00..=0xDFFF).contains(&unit)
}

/// The UTF-16 unit of a `\uXXXX` escape at the start of `text`.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        for (line, text) in [
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\ude00\ud83d\ud83d\ude00b""#, "a\u{fffd}\u{fffd}\u{1f600}b"),
            (r#""\\ud83d\ud83d""#, "\\ud83d\u{fffd}"),
            (r#""\ud83d\n\u00e9""#, "\u{fffd}\n\u{e9}"),
        ] {
            assert_eq!(read(line.as_bytes()), Ok(Value::from(text)), "{line}");
        }
    }

    #[test]
    fn broken_utf8_becomes_the_replacement_character() {
        assert_eq!(read(b"\"a\xff\xe4\xb8b\""), Ok(Value::from("a\u{fffd}\u{fffd}b")));
    }

    #[test]
    fn numbers_are_the_ones_javascript_reads() {
        assert_eq!(read(b"122.41629403378658"), Ok(Value::from(122.416_294_033_786_58_f64)));
        assert_eq!(read(b"9007199254740993"), Ok(Value::from(9_007_199_254_740_993_u64)));
    }

    #[test]
    fn errors_name_the_column_and_quote_nothing() {
        let cut = read(br#"{"secret":"te"#).unwrap_err();
        assert_eq!(cut, "The line breaks off at column 13, in the middle of a JSON value.");
        let wrong = read(br#"{"secret":nope}"#).unwrap_err();
        assert!(wrong.starts_with("The line is not valid JSON: ") && !wrong.contains("nope"), "{wrong}");
        let deep = read("[".repeat(100_000).as_bytes()).unwrap_err();
        assert!(deep.contains("recursion limit"), "{deep}");
    }
}
