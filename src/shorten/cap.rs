//! The guard's bound on a tool result: head and tail around a note of what is missing.

use crate::cuts::cut_text;
use crate::text::Utf16Len;

/// A bound on the length of a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    /// Only longer texts are cut.
    pub max_len: Utf16Len,
    /// How much of the beginning stays.
    pub head: Utf16Len,
    /// How much of the end stays.
    pub tail: Utf16Len,
}

impl Cap {
    /// Head and tail of `text`; `None` if it is within the bound or would not get shorter.
    #[must_use]
    pub fn cut(&self, text: &[u16]) -> Option<Vec<u16>> {
        if text.len() <= self.max_len.0 || self.head.0.saturating_add(self.tail.0) >= text.len() {
            return None;
        }
        Some(cut_text(text, self.head, self.tail)).filter(|cut| cut.len() < text.len())
    }
}
