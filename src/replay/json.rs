//! Reads one JSON value as JavaScript would, where serde is stricter: recorders written in JavaScript leave
//! escapes of lone surrogates and, in files cut by bytes, broken UTF-8. Both become U+FFFD.

use regex::{Captures, Regex};
use serde_json::{Value, error::Category};
use std::sync::LazyLock;

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

/// Any escape: a surrogate pair, half of one alone, which the group has, or another.
static ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\\u(?i:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|(\\u(?i:d[89a-f][0-9a-f]{2}))|\\.").ok()
});

/// The text with lone surrogates and broken UTF-8 replaced; `None` if there was neither.
pub(crate) fn mend(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let kept = |escape: &Captures<'_>| match escape.get(1) {
        Some(_) => "\\ufffd".to_owned(),
        None => escape.get_match().as_str().to_owned(),
    };
    let mended = ESCAPE.as_ref()?.replace_all(&text, kept);
    (mended.as_bytes() != line).then(|| mended.into_owned())
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
