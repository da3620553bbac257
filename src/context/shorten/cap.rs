//! The guard's bound on a tool result: head and tail around a note of what is missing.

use serde::Deserialize;

use crate::context::cuts::cut_text;
use crate::text::Utf16Len;

/// A bound on the length of a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cap {
    /// Only longer texts are cut.
    pub max_len: Utf16Len,
    /// Length of the beginning that stays.
    pub head: Utf16Len,
    /// Length of the end that stays.
    pub tail: Utf16Len,
}

impl Cap {
    /// Head and tail of `text`; `None` if it is within the bound or would not get shorter.
    pub fn cut(&self, text: &[u16]) -> Option<Vec<u16>> {
        let cut = (text.len() > self.max_len.0).then(|| cut_text(text, self.head, self.tail));
        cut.filter(|cut| cut.len() < text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_only_what_is_longer_and_gets_shorter() {
        let cap =
            |max, head, tail| Cap { max_len: Utf16Len(max), head: Utf16Len(head), tail: Utf16Len(tail) };
        let text = |len| vec![u16::from(b'a'); len];
        assert_eq!(cap(100, 10, 10).cut(&text(100)), None);
        let cut = cap(100, 10, 10).cut(&text(101)).map(|cut| String::from_utf16_lossy(&cut));
        let ends = "a".repeat(10);
        assert_eq!(cut, Some(format!("{ends}\n\n... [81 characters truncated] ...\n\n{ends}")));
        // The note has 37 characters here.
        assert_eq!(cap(50, 30, 24).cut(&text(90)), None, "it would be a character longer");
        assert_eq!(cap(50, 30, 23).cut(&text(90)), None, "it would be as long");
        assert_eq!(cap(50, 30, 22).cut(&text(90)).map(|cut| cut.len()), Some(89));
        assert_eq!(cap(50, 80, 80).cut(&text(90)), None);
        assert_eq!(cap(50, usize::MAX, usize::MAX).cut(&text(90)), None);
    }
}
