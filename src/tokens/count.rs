//! Counts tokens without making them: text in pieces, pieces into counts.
//!
//! UTF-8 bytes flow in, a number flows out. Two loops take turns: one finds the ends of a few hundred pieces, 64 bytes
//! at a step where the text is ASCII, the other looks the pieces up. Buffers and the piece cache belong to the
//! [`Counter`]; the module's users keep one per thread.

use std::sync::Once;

use super::{
    cache::{self, LONG, PieceCache, SHORT},
    ends::{Ends, Scanner},
    merge::Scratch,
    vocabulary,
};

/// What counting needs between texts: about 1.3 MB once the cache is full.
pub(crate) struct Counter {
    cache: PieceCache,
    pub(crate) scratch: Scratch,
    pub(crate) ends: Ends,
}

impl Counter {
    pub(crate) fn new() -> Self {
        static TOUCHED: Once = Once::new();
        TOUCHED.call_once(vocabulary::touch);
        Self { cache: PieceCache::new(), scratch: Scratch::default(), ends: Ends::new() }
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

    /// Tokens of the pieces from `start` on that were found last.
    #[inline(always)]
    fn count_pieces(&mut self, text: &[u8], mut start: usize) -> usize {
        let mut total = 0;
        for &end in self.ends.found() {
            let len = end - start;
            total += if len <= SHORT {
                let key = cache::short_key(text, start, len);
                self.cache.short.get(key).unwrap_or_else(|| {
                    let count = count_new(&mut self.scratch, text, start, len);
                    self.cache.short.put(key, count);
                    count
                })
            } else {
                count_long(&mut self.cache, &mut self.scratch, text, start, len)
            };
            start = end;
        }
        total
    }
}

/// Tokens of a piece of more than 15 bytes.
#[inline(never)]
fn count_long(cache: &mut PieceCache, scratch: &mut Scratch, text: &[u8], start: usize, len: usize) -> usize {
    if len > LONG {
        return count_new(scratch, text, start, len);
    }
    let key = cache::long_key(text, start, len);
    cache.long.get(key).unwrap_or_else(|| {
        let count = count_new(scratch, text, start, len);
        cache.long.put(key, count);
        count
    })
}

/// Tokens of a piece that is in no cache.
#[inline(never)]
fn count_new(scratch: &mut Scratch, text: &[u8], start: usize, len: usize) -> usize {
    scratch.count(text.get(start..start + len).unwrap_or_default())
}
