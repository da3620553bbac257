//! Exact cl100k_base token counts.
//!
//! Text flows in, numbers of tokens flow out. Special-token text is ordinary text.

mod blocks;
mod cache;
mod classes;
mod count;
mod encode;
mod ends;
pub mod estimate;
mod hash;
mod merge;
mod pretokenize;
mod simd;
mod utf16;
mod vocabulary;

use std::cell::Cell;

pub use self::{encode::UnknownToken, ends::Scanner};

/// A thread's counter and the buffer UTF-16 is turned into.
type Kept = (count::Counter, Vec<u8>);

thread_local! {
    static KEPT: Cell<Option<Box<Kept>>> = const { Cell::new(None) };
}

/// Longest UTF-16 buffer kept for the next text.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Runs `task` with this thread's counter. It is taken out meanwhile, so a panic leaves nothing half-done behind.
fn with_kept<T>(task: impl FnOnce(&mut Kept) -> T) -> T {
    let mut kept = KEPT
        .try_with(Cell::take)
        .ok()
        .flatten()
        .unwrap_or_else(|| Box::new((count::Counter::new(), Vec::new())));
    let result = task(&mut kept);
    kept.1.clear();
    kept.1.shrink_to(KEPT_BUFFER_BYTES);
    // A thread that is ending has no place to keep it.
    let _ = KEPT.try_with(|cell| cell.set(Some(kept)));
    result
}

/// Tokens of `text`, exactly as tiktoken's `encode_ordinary` counts them.
#[must_use]
pub fn count(text: &str) -> usize {
    count_with(Scanner::Auto, text)
}

/// The same count by a chosen scanner, for tests and measurements.
#[must_use]
pub fn count_with(scanner: Scanner, text: &str) -> usize {
    with_kept(|(counter, _)| counter.count(scanner, text.as_bytes(), usize::MAX)).unwrap_or(usize::MAX)
}

/// Tokens of UTF-16 text; a lone surrogate counts as U+FFFD.
#[must_use]
pub fn count_utf16(units: &[u16]) -> usize {
    with_kept(|(counter, text)| {
        utf16::append(units, text);
        counter.count(Scanner::Auto, text, usize::MAX)
    })
    .unwrap_or(usize::MAX)
}

/// Tokens of `text` if they are at most `limit`; stops soon after passing it.
#[must_use]
pub fn count_till_limit(text: &str, limit: usize) -> Option<usize> {
    with_kept(|(counter, _)| counter.count(Scanner::Auto, text.as_bytes(), limit))
}

/// Tokens of `text` in order; special-token text is ordinary text.
#[must_use]
pub fn encode(text: &str) -> Vec<u32> {
    let mut tokens = Vec::with_capacity(text.len() / 3);
    with_kept(|(counter, _)| {
        encode::encode(&mut counter.scratch, &mut counter.ends, text.as_bytes(), &mut tokens);
    });
    tokens
}

/// The bytes of tokens, which need not be whole characters.
///
/// # Errors
/// [`UnknownToken`] names the first number that is no token and its position.
pub fn decode(tokens: &[u32]) -> Result<Vec<u8>, UnknownToken> {
    encode::decode(tokens)
}
