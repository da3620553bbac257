//! Counts tokens without making them: text in pieces, pieces into counts.
//!
//! UTF-8 bytes flow in, a number flows out. Two loops take turns: one finds the ends of a few hundred pieces, 64 bytes
//! at a step where the text is ASCII, the other looks the pieces up. Buffers and the piece cache belong to the
//! [`Counter`]; the module's users keep one per thread.

#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::{
    cache::{self, LONG, PieceCache, SHORT},
    ends::{Ends, Scanner},
    hash::SHORT_WORD,
    merge::Scratch,
    vocabulary,
};

/// What counting needs between texts: about 1.3 MB once the cache is full.
pub(crate) struct Counter {
    cache: PieceCache,
    pub(crate) scratch: Scratch,
    pub(crate) ends: Ends,
    unknown: Vec<Unknown>,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self { cache: PieceCache::new(), scratch: Scratch::default(), ends: Ends::new(), unknown: Vec::new() }
    }

    /// Tokens of valid UTF-8 text if they are at most `limit`.
    pub(crate) fn count(&mut self, scanner: Scanner, text: &[u8], limit: usize) -> Option<usize> {
        if text.len() / vocabulary::LONGEST_TOKEN > limit {
            return None;
        }
        let (mut total, mut at) = (0, 0);
        while at < text.len() {
            self.ends.find(scanner, text, at);
            total += self.count_pieces(text, at);
            at = self.ends.found().last().copied().unwrap_or(text.len());
            if total > limit {
                return None;
            }
        }
        Some(total)
    }

    /// Tokens of the pieces from `start` on that end at `ends`.
    #[inline(always)]
    fn count_pieces(&mut self, text: &[u8], mut start: usize) -> usize {
        let mut total = 0;
        for &end in self.ends.found() {
            let len = end - start;
            if len <= SHORT {
                let key = cache::short_key(text, start, len);
                match self.cache.short.get(key) {
                    Some(count) => total += count,
                    None => self.unknown.push(Unknown { key, start, place: 0 }),
                }
            } else {
                total += count_long(&mut self.cache, &mut self.scratch, text, start, len);
            }
            start = end;
        }
        if self.unknown.is_empty() { total } else { total + self.count_unknown(text) }
    }

    /// Tokens of the short pieces that were in no cache. The loads of each loop do not wait for one another, which
    /// halves the time of a first sight: the vocabulary is larger than a core's own cache.
    #[inline(never)]
    fn count_unknown(&mut self, text: &[u8]) -> usize {
        let mut total = 0;
        for unknown in &mut self.unknown {
            unknown.place = vocabulary::short_place(unknown.key);
        }
        for unknown in &mut self.unknown {
            let found = vocabulary::short_at(unknown.place, unknown.key).is_some();
            unknown.place = usize::from(found);
        }
        for &Unknown { key, start, place: is_word } in &self.unknown {
            // It may have come twice.
            total += self.cache.short.get(key).unwrap_or_else(|| {
                let len = cache::short_len(key);
                let count = match is_word {
                    1 => 1,
                    _ => count_new(&mut self.scratch, text.get(start..start + len).unwrap_or_default()),
                };
                self.cache.short.put(key, count);
                count
            });
        }
        self.unknown.clear();
        total
    }
}

/// A short piece to look up in the vocabulary.
struct Unknown {
    key: u128,
    start: usize,
    /// Its place in the table of words, then 1 if it is one, else 0.
    place: usize,
}

/// Tokens of a piece of more than 15 bytes.
#[inline(never)]
fn count_long(cache: &mut PieceCache, scratch: &mut Scratch, text: &[u8], start: usize, len: usize) -> usize {
    let piece = text.get(start..start + len).unwrap_or_default();
    if len > LONG {
        return count_new(scratch, piece);
    }
    let key = cache::long_key(text, start, len);
    cache.long.get(key).unwrap_or_else(|| {
        let count = count_new(scratch, piece);
        cache.long.put(key, count);
        count
    })
}

/// Tokens of a piece that is no short word.
fn count_new(scratch: &mut Scratch, piece: &[u8]) -> usize {
    if piece.len() > SHORT_WORD && vocabulary::long_word(piece).is_some() {
        return 1;
    }
    scratch.merge(piece);
    scratch.tokens.len()
}
