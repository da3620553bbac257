//! Cuts a text into spans whose counts are remembered.
//!
//! A span ends a few lines further on, at a place that no piece of the pattern can cross whatever stands around it. So a
//! span has as many tokens in a text as alone. Ends are chosen by the bytes before them, not by their distance: a text
//! that comes again with one line changed, as a file read after an edit, has the same spans on both sides of it.
//!
//! A file of 24 lines of 40 bytes, about half of whose ends are chosen, and the same file with a line put in at the
//! third place. The last 512 bytes or less are one span. The spans behind the change hold the same lines as before:
//!
//! ```text
//! ends that are chosen     2 4 6 7 10 12 15 16 17 20 22
//! spans, of 128 bytes on   1-4 | 5-10 | 11-15 | 16-24
//! with one line put in     1-5 | 6-11 | 12-16 | 17-25
//!                          new   known  known   known
//! ```

use std::{
    hash::{BuildHasher, RandomState},
    mem,
    sync::LazyLock,
};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_secret};

use super::{
    cache::Key,
    classes::{self, Class, MARKED},
    packing,
    pattern::Pattern,
};

/// Least bytes of a span; shorter texts are counted piece by piece.
const LEAST: usize = 128;
/// Bytes within which a span ends at a line's end, and those after which it is given up.
const LINES: usize = 512;
const MOST: usize = 1024;
/// One line's end in this many is taken, as a power of two.
const TAKEN_BITS: u32 = 1;

/// The beginnings of texts that were seen lately, as a few bits each. Caching the spans of a new text takes a tenth longer,
/// so it is done for a text that begins like an earlier one.
pub(crate) struct SeenTexts([u16; BEGINNINGS]);

/// Beginnings remembered: 8 KB.
const BEGINNINGS: usize = 1 << 12;
/// Bytes of a beginning.
const BEGINNING: usize = 64;

impl SeenTexts {
    pub(crate) fn new() -> Self {
        Self([0; BEGINNINGS])
    }

    /// Returns `true` if an earlier text began like this one.
    #[inline(always)]
    pub(crate) fn comes_again(&mut self, text: &[u8]) -> bool {
        let Some(beginning) = text.first_chunk::<BEGINNING>() else { return false };
        let hash = xxh3_64(beginning);
        let mark = hash as u16 | 1;
        let place = self.0.get_mut((hash >> 16) as usize & (BEGINNINGS - 1));
        place.is_some_and(|place| mem::replace(place, mark) == mark)
    }
}

/// The key of a span: a hash no one outside the process can foresee. Of its 116 bits two spans will not share all
/// in the lifetime of the universe.
pub(crate) fn key(span: &[u8]) -> Key {
    static SECRET: LazyLock<Box<[u8]>> = LazyLock::new(|| {
        /// The hash asks for at least 136 bytes.
        const WORDS: u64 = 24;
        let random = RandomState::new();
        (0..WORDS).flat_map(|word| random.hash_one(word).to_le_bytes()).collect()
    });
    Key::of_hash(xxh3_128_with_secret(span, &SECRET))
}

/// The end of the span that starts at `start`, if one ends within reach.
#[inline(always)]
pub(crate) fn end(pattern: Pattern, text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    if rest.len() <= LINES {
        return (rest.len() >= LEAST).then_some(text.len());
    }
    let line_end = match pattern {
        Pattern::Regex(_) => return None,
        // White space may go on behind a line break.
        Pattern::Gpt2 => None,
        _ => memchr::memchr_iter(b'\n', rest.get(LEAST..LINES)?)
            .map(|newline| LEAST + newline + 1)
            .find(|&end| is_taken(rest, end) && is_line_end(rest, end)),
    };
    let end = line_end.or_else(|| (LINES..MOST.min(rest.len())).find(|&end| is_word_end(rest, end)));
    end.map(|end| start + end)
}

/// Returns `true` if the bytes before a line's end choose it.
#[inline(always)]
fn is_taken(text: &[u8], end: usize) -> bool {
    let before = text.get(..end).and_then(<[u8]>::last_chunk).map_or(0, |&bytes| u64::from_le_bytes(bytes));
    packing::fold(before, 0) >> (64 - TAKEN_BITS) == 0
}

/// Returns `true` if a piece ends behind this line break by every pattern but GPT-2's: no other one follows in a run of white
/// space, and no slash.
#[inline(always)]
fn is_line_end(text: &[u8], end: usize) -> bool {
    let after = text.get(end..).unwrap_or_default();
    let solid = after.iter().find(|&&byte| byte != b' ' && byte != b'\t');
    solid.is_some_and(u8::is_ascii_graphic) && after.first() != Some(&b'/')
}

/// Returns `true` if a piece ends here by every pattern: behind a word, where no contraction may follow, or before a space.
#[inline(always)]
fn is_word_end(text: &[u8], end: usize) -> bool {
    let (Some(before), Some((after, _))) = (class_before(text, end), classes::at(text, end)) else {
        return false;
    };
    match before {
        Class::Upper | Class::Lower | Class::Caseless => !MARKED.has(after) && text.get(end) != Some(&b'\''),
        Class::Space | Class::Newline => false,
        Class::Other | Class::Symbol | Class::Mark | Class::Number => text.get(end) == Some(&b' '),
    }
}

/// The class of the character that ends at `end`; none in the middle of one.
fn class_before(text: &[u8], end: usize) -> Option<Class> {
    let is_start = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 != 0x80);
    let start = (1..=4).find_map(|len| end.checked_sub(len).filter(|&at| is_start(at)))?;
    let (class, len) = classes::at(text, start)?;
    (start + len == end).then_some(class)
}
