//! Exact cl100k_base token counts.
//!
//! Text flows in, numbers of tokens flow out. Special-token text is ordinary text. A count is made in three steps:
//!
//! 1. `ends` finds where the pieces of the cl100k pattern end: `blocks` by arithmetic on bit masks of 64 ASCII bytes
//!    (`simd` makes the masks), `pretokenize` one piece at a time where text goes beyond ASCII (`classes`).
//! 2. `cache` knows the counts of short pieces seen before, and those of whole `spans` of a text that comes again.
//! 3. `merge` encodes the others by walking the trie of `vocabulary` and checking neighbours, without merging.
//!
//! All tables are laid out by the build script and read in place: 2.4 MB, shared between threads and processes. What a
//! thread keeps between calls is bounded: 1 MB for counts of pieces to 15 bytes, 256 KB for those to 30, 1 MB for
//! spans, all growing only with what is seen, 1 MB of UTF-16 turned to UTF-8, and the merge's rows.
//!
//! # Tried and dropped
//!
//! - A table of whole words beside the trie (16 bytes a word, perfect hash, looked up in batches): level with the trie on
//!   a first sight of session text, for 1.7 MB more in the package.
//! - Merging pieces of up to 32 bytes in place, least rank first: 14 to 30 % quicker than the walk on words that never
//!   repeat, even after a greedy try, but slower on a first sight of session text, where few long tokens make a piece.
//! - Walking the trie for 16 new pieces in step, so that their waits for memory overlap: a third slower for all its
//!   bookkeeping. Asking for cache slots ahead of time, or keeping pieces to 7 bytes in words of their own: no quicker.
//! - Laying the trie out by rank instead of alphabet: no difference.
//! - Leaving the tables untouched until they are asked: reading them once in order (0.1 ms at the first count) makes the
//!   first sight of a text 10 to 15 % quicker.
//! - The piece cache at its full size from the start: a third of a small text's first sight went to page faults.
//! - Writing piece ends one by one: the loop's unforeseeable end cost as much as the masks; eight at a time, wanted or
//!   not, raised the scanner from 1.1 to 1.6 GB/s.
//! - Shifting a two-word mask by a variable length in the cache's key: a table of 16 masks is quicker.
//! - Remembering each pair's compatibility for long runs: 1 MB of dashes still took 225 ms. Remembering the longest token
//!   that fits, and finding the longest token once per run of one byte, took it from 446 ms to 13 ms.
//! - Remembering whole texts: one changed line and all is counted anew. Spans of a few lines that end where the bytes say
//!   so, not where the text began, are found again around the change.
//! - Remembering spans at first sight: a tenth slower there, whether each is counted alone or runs of them together.

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
mod spans;
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
    count_till_limit(text, usize::MAX).unwrap_or(usize::MAX)
}

/// The same count by a chosen scanner and without remembered spans, for tests and measurements.
#[must_use]
pub fn count_with(scanner: Scanner, text: &str) -> usize {
    with_kept(|(counter, _)| counter.count_pieces(scanner, text.as_bytes()))
}

/// Tokens of UTF-16 text; a lone surrogate counts as U+FFFD.
#[must_use]
pub fn count_utf16(units: &[u16]) -> usize {
    with_kept(|(counter, text)| {
        utf16::append(units, text);
        counter.count(text, usize::MAX)
    })
    .unwrap_or(usize::MAX)
}

/// Tokens of `text` if they are at most `limit`; stops soon after passing it.
#[must_use]
pub fn count_till_limit(text: &str, limit: usize) -> Option<usize> {
    with_kept(|(counter, _)| counter.count(text.as_bytes(), limit))
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
