//! JSON as JavaScript writes it.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;

use super::failure::{Failure, Result};

/// Reads JSON as JavaScript writes it: lone surrogates are no UTF-8.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&well_formed(text)))
        .map_err(|error| refused(&error))
}

/// JSON with U+FFFD in place of each escape of a lone surrogate, which serde refuses.
fn well_formed(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        let is_pair = is_unit(escape, 0xD800..=0xDBFF)
            && escape.get(6..).is_some_and(|second| is_unit(second, 0xDC00..=0xDFFF));
        let is_lone = !is_pair && is_unit(escape, 0xD800..=0xDFFF);
        let escaped = escape.chars().nth(1).map_or(0, char::len_utf8);
        let length = if is_pair {
            12
        } else if is_lone {
            6
        } else {
            1 + escaped
        };
        mended.push_str(before);
        mended.push_str(if is_lone { "\\ufffd" } else { escape.get(..length).unwrap_or(escape) });
        rest = escape.get(length..).unwrap_or_default();
    }
    mended.push_str(rest);
    mended
}

/// True if the text begins with the escape of a UTF-16 unit in this range.
fn is_unit(escape: &str, range: RangeInclusive<u32>) -> bool {
    let hex = escape.strip_prefix("\\u").and_then(|rest| rest.get(..4));
    hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).is_some_and(|unit| range.contains(&unit))
}

/// The position alone: the text beside it may be the user's.
fn refused(error: &serde_json::Error) -> Failure {
    Failure::invalid(format!("not understood at column {}", error.column()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        for (json, text) in [
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\ude00\ud83d\ud83d\ude00b""#, "a\u{fffd}\u{fffd}\u{1f600}b"),
            (r#""\\ud83d\ud83d""#, "\\ud83d\u{fffd}"),
            (r#""\ud83d\n\u00e9""#, "\u{fffd}\n\u{e9}"),
        ] {
            assert_eq!(parsed::<String>(json).ok().as_deref(), Some(text), "{json}");
        }
        assert!(parsed::<String>("\"\\").is_err());
    }
}
