//! UTF-16 text as JavaScript sees it: lengths, lines and cuts that never split a surrogate pair.
//! Knows nothing of tokens or messages.

/// A length in UTF-16 code units, JavaScript's `.length`. Not a byte length, not a character count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
pub struct Utf16Len(pub usize);

/// The line break.
pub const NEWLINE: u16 = b'\n' as u16;
const ELLIPSIS: u16 = '…' as u16;

/// `text` in UTF-16.
pub fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// The first `len` units of `text`, or one less where that would split a surrogate pair.
pub fn head(text: &[u16], len: Utf16Len) -> &[u16] {
    let end = len.0.min(text.len());
    let end = end - usize::from(splits_pair(text, end));
    text.get(..end).unwrap_or_default()
}

/// The last `len` units of `text`, or one less where that would split a surrogate pair.
pub fn tail(text: &[u16], len: Utf16Len) -> &[u16] {
    let start = text.len().saturating_sub(len.0);
    let start = start + usize::from(splits_pair(text, start));
    text.get(start..).unwrap_or_default()
}

/// `text`, or its beginning and its end around an ellipsis where it is longer, at most `len` units in all: seven tenths of
/// them for the beginning, the rest for the end.
///
/// ```
/// use pi_strata::text::{Utf16Len, clip_middle};
///
/// let text: Vec<u16> = "abcdefghijklmnop".encode_utf16().collect();
/// assert_eq!(String::from_utf16_lossy(&clip_middle(&text, Utf16Len(10))), "abcdefg…op");
/// ```
pub fn clip_middle(text: &[u16], len: Utf16Len) -> Vec<u16> {
    if text.len() <= len.0 {
        return text.to_vec();
    }
    let kept_head = len.0 * 7 / 10;
    let kept_tail = len.0.saturating_sub(kept_head + 1);
    [head(text, Utf16Len(kept_head)), &[ELLIPSIS], tail(text, Utf16Len(kept_tail))].concat()
}

fn splits_pair(text: &[u16], at: usize) -> bool {
    let around = at.checked_sub(1).and_then(|before| text.get(before..=at));
    matches!(around, Some([0xD800..=0xDBFF, 0xDC00..=0xDFFF]))
}

/// Number of lines of `text`: one more than its newlines.
pub fn line_count(text: &[u16]) -> usize {
    text.iter().filter(|&&unit| unit == NEWLINE).count() + 1
}

/// The lines of `text`, without their newlines.
pub fn lines(text: &[u16]) -> impl DoubleEndedIterator<Item = &[u16]> {
    text.split(|&unit| unit == NEWLINE)
}

/// True when `text` holds nothing but white space; providers reject such a block.
pub fn is_blank(text: &[u16]) -> bool {
    char::decode_utf16(text.iter().copied()).all(|unit| unit.is_ok_and(char::is_whitespace))
}

/// True when half a surrogate pair stands alone: no UTF-8 and no valid JSON can hold it.
pub fn has_lone_surrogate(text: &[u16]) -> bool {
    // The first pass decides nearly always, and the compiler turns it into wide compares.
    text.iter().any(|unit| (0xD800..=0xDFFF).contains(unit))
        && char::decode_utf16(text.iter().copied()).any(|unit| unit.is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cut_of_valid_text_is_valid(text in "\\PC{0,30}", at in 0usize..40) {
            let units = utf16(&text);
            prop_assert!(String::from_utf16(head(&units, Utf16Len(at))).is_ok());
            prop_assert!(String::from_utf16(tail(&units, Utf16Len(at))).is_ok());
        }
    }
}
