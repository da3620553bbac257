//! The long text values of a call's arguments, cleared: a marker that says it is none stands for each.

use super::Rules;
use super::input::{Part, Raw};
use crate::context::shorten::Shortening;
use crate::text::Utf16Len;

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const COLON: u16 = b':' as u16;
/// Units of a character written as `\uXXXX`.
const ESCAPED_UNITS: usize = 6;

impl Raw<'_> {
    /// The arguments of each part, cleared where that makes them shorter. Nothing where the host did not ask for it, and
    /// where a call is signed: a provider that signs one may want back what it signed.
    pub(super) fn cleared_inputs(&self, rules: &Rules) -> Vec<Option<Vec<u16>>> {
        let (true, Shortening::Lines(summary)) = (rules.clear_tool_inputs && self.is_sent, &rules.shortening)
        else {
            return Vec::new();
        };
        let is_signed = |part: &Part<'_>| matches!(part, Part::Call { is_signed: true, .. });
        if self.parts.iter().any(is_signed) {
            return Vec::new();
        }
        let of_part = |part: &Part<'_>| match part {
            Part::Call { name, arguments, .. } if !rules.excludes(name) => {
                cleared(arguments, summary.min_len, |chars| rules.marker.input(chars))
            }
            _ => None,
        };
        self.parts.iter().map(of_part).collect()
    }
}

/// `json` with `marker` for each text value that is longer than `longest` and than its marker; `None` without one. Keys stay.
fn cleared(json: &[u16], longest: Utf16Len, marker: impl Fn(Utf16Len) -> Vec<u16>) -> Option<Vec<u16>> {
    let (mut left, mut rest) = (Vec::new(), json);
    let mut is_cleared = false;
    while let Some(start) = rest.iter().position(|&unit| unit == QUOTE) {
        let (before, text) = rest.split_at(start + 1);
        left.extend_from_slice(before);
        let (end, len) = text_end(text)?;
        let (inside, after) = text.split_at(end);
        let marker = (len > longest && after.get(1) != Some(&COLON)).then(|| marker(len));
        let marker = marker.filter(|marker| marker.len() < len.0);
        is_cleared |= marker.is_some();
        left.extend_from_slice(marker.as_deref().unwrap_or(inside));
        let (quote, behind) = after.split_at(1);
        left.extend_from_slice(quote);
        rest = behind;
    }
    left.extend_from_slice(rest);
    is_cleared.then_some(left)
}

/// The place of the quote that ends a text, and the length of what it says; `None` where none does.
fn text_end(text: &[u16]) -> Option<(usize, Utf16Len)> {
    let (mut at, mut len) = (0, 0);
    loop {
        at += match (*text.get(at)?, text.get(at + 1)) {
            (QUOTE, _) => return Some((at, Utf16Len(len))),
            (BACKSLASH, Some(&unit)) if unit == u16::from(b'u') => ESCAPED_UNITS,
            (BACKSLASH, _) => 2,
            _ => 1,
        };
        len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::shorten::MarkerLanguage;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The work of `cleared`, by a parser.
    fn by_parser(value: &mut Value, longest: usize) {
        match value {
            Value::String(text) => {
                let len = text.encode_utf16().count();
                let marker = String::from_utf16_lossy(&MarkerLanguage::En.input(Utf16Len(len)));
                if len > longest && marker.len() < len {
                    *text = marker;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| by_parser(value, longest)),
            Value::Object(fields) => fields.values_mut().for_each(|value| by_parser(value, longest)),
            _ => {}
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![".{0,9}", "[a-z\\\\\"\n\u{1}:{}😀]{0,300}"];
        let leaf = prop_oneof![text.prop_map(Value::from), any::<i32>().prop_map(Value::from)];
        leaf.prop_recursive(4, 30, 5, |inner| {
            let key = "[a-z\"\\\\:]{0,120}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..5)
                    .prop_map(|fields| Value::from(serde_json::Map::from_iter(fields))),
            ]
        })
    }

    proptest! {
        #[test]
        fn clears_what_a_parser_would(value in json(), longest in 0usize..200) {
            let text: Vec<u16> = value.to_string().encode_utf16().collect();
            let mut expected = value.clone();
            by_parser(&mut expected, longest);
            let left = cleared(&text, Utf16Len(longest), |chars| MarkerLanguage::En.input(chars));
            prop_assert_eq!(left.is_some(), expected != value);
            let left = String::from_utf16_lossy(&left.unwrap_or(text));
            prop_assert_eq!(left, expected.to_string());
        }
    }

    #[test]
    fn what_is_no_json_stays() {
        for broken in ["", "\"", "{\"a\":\"abc", "{\"a\":\"abc\\", "{\"a\":\"\\u"] {
            let text: Vec<u16> = broken.encode_utf16().collect();
            assert_eq!(cleared(&text, Utf16Len(1), |_| Vec::new()), None, "{broken}");
        }
    }
}
