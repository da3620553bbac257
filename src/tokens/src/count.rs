//! Counts tokens without making them.
//!
//! Two loops take turns: one finds the ends of a few hundred pieces, the other looks the pieces up. The [`Counter`] owns
//! buffers and cache; each thread keeps one.

use super::{
    cache::{Key, LONG, PieceCache, SHORT},
    ends::Ends,
    merge::Scratch,
    spans::{self, SeenTexts},
    vocabulary::{Vocabulary, Words},
};

/// The state of counting by one vocabulary: about 2 MB once the cache is full.
pub(crate) struct Counter {
    pub(crate) vocabulary: &'static Vocabulary,
    pub(crate) words: &'static Words,
    pub(crate) cache: PieceCache,
    pub(crate) scratch: Scratch,
    pub(crate) ends: Ends,
    pub(crate) seen: SeenTexts,
    /// Starts and lengths of those pieces of a group that were not known.
    unknown: [(usize, usize); GROUP],
}

/// Pieces looked up together.
const GROUP: usize = 64;

impl Counter {
    pub(crate) fn new(vocabulary: &'static Vocabulary) -> Self {
        let mut cache = PieceCache::new();
        for (_, token) in vocabulary.frequent().iter().filter(|(_, token)| token.len() <= SHORT) {
            cache.short.put(Key::of_bytes(token, 0, token.len()), 1, ());
        }
        Self {
            vocabulary,
            words: vocabulary.words(),
            cache,
            scratch: Scratch::default(),
            ends: Ends::default(),
            seen: SeenTexts::new(),
            unknown: [(0, 0); GROUP],
        }
    }

    /// Tokens of valid UTF-8 text if they are at most `limit`.
    pub(crate) fn count(&mut self, text: &[u8], limit: usize) -> Option<usize> {
        if text.len() / self.words.longest > limit {
            return None;
        }
        let comes_again = self.seen.comes_again(text);
        let (mut total, mut at) = (0, 0);
        while at < text.len() {
            let span_end = if comes_again { spans::end(self.vocabulary.pattern, text, at) } else { None };
            let (counted, end) = match span_end {
                Some(end) => (self.count_span(text.get(at..end).unwrap_or_default()), end),
                None => self.count_batch(text, at),
            };
            total += counted;
            at = end;
            if total > limit {
                return None;
            }
        }
        Some(total)
    }

    /// Tokens of a span, the same as of its bytes alone.
    fn count_span(&mut self, span: &[u8]) -> usize {
        let key = spans::key(span);
        let mut known = self.cache.hashed.count(key);
        if known == 0 {
            let mut at = 0;
            while at < span.len() {
                let (counted, end) = self.count_batch(span, at);
                known += counted;
                at = end;
            }
            self.cache.hashed.put(key, known, ());
        }
        known
    }

    /// Tokens of the next few hundred pieces, and their end.
    #[inline(always)]
    fn count_batch(&mut self, text: &[u8], at: usize) -> (usize, usize) {
        self.ends.find(self.vocabulary.pattern, &self.words.bridges, text, at);
        let (mut total, mut start) = (0, at);
        for ends in self.ends.found().chunks(GROUP) {
            // No branch depends on which pieces are known, so the waits for memory overlap.
            let mut unknown = 0;
            for &end in ends {
                let len = end - start;
                let count =
                    self.cache.short.count(Key::of_bytes(text, start, if len > SHORT { 0 } else { len }));
                total += count;
                if let Some(place) = self.unknown.get_mut(unknown) {
                    *place = (start, len);
                }
                unknown += usize::from(count == 0);
                start = end;
            }
            for &(start, len) in self.unknown.iter().take(unknown) {
                let piece = text.get(start..start + len).unwrap_or_default();
                total += count_unknown(self.words, &mut self.cache, &mut self.scratch, piece);
            }
        }
        (total, self.ends.found().last().copied().unwrap_or(text.len()))
    }
}

/// Tokens of a piece of more than 14 bytes, or of one that the cache did not have.
#[inline(never)]
fn count_unknown(words: &Words, cache: &mut PieceCache, scratch: &mut Scratch, piece: &[u8]) -> usize {
    if piece.len() > LONG {
        return scratch.count(words, piece);
    }
    let (key, table) = if piece.len() <= SHORT {
        // A group rarely has the same piece twice. Looking for it would cost more than counting it again.
        (Key::of_bytes(piece, 0, piece.len()), &mut cache.short)
    } else {
        let key = spans::key(piece);
        match cache.hashed.count(key) {
            0 => (key, &mut cache.hashed),
            known => return known,
        }
    };
    let count = scratch.count(words, piece);
    table.put(key, count, ());
    count
}
