//! Counts tokens without making them.
//!
//! Two loops take turns: one finds the ends of a few hundred pieces, the other looks the pieces up. The [`Counter`] owns
//! buffers and cache; each thread keeps one.

use super::{
    cache::{self, LONG, PieceCache, SHORT},
    ends::{Ends, cut},
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
            cache.short.put(cache::short_key(token, 0, token.len()), 1);
        }
        Self {
            vocabulary,
            words: vocabulary.words(),
            cache,
            scratch: Scratch::default(),
            ends: Ends::new(),
            seen: SeenTexts::new(),
            unknown: [(0, 0); GROUP],
        }
    }

    /// Tokens of valid UTF-8 text if they are at most `limit`.
    pub(crate) fn count(&mut self, text: &[u8], limit: usize) -> Option<usize> {
        if text.len() / self.words.longest > limit {
            return None;
        }
        let is_whole = self.seen.comes_again(text);
        let (mut total, mut at) = (0, 0);
        while at < text.len() {
            let span_end = if is_whole { spans::end(self.vocabulary.pattern, text, at) } else { None };
            let (counted, end) = match span_end {
                Some(end) => (self.count_span(text.get(at..end).unwrap_or_default()), end),
                None => self.count_batch(is_whole, text, at),
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
        let mut known = self.cache.spans.get(key);
        if known == 0 {
            known = self.count_pieces(span);
            self.cache.spans.put(key, known);
        }
        known
    }

    /// Tokens of valid UTF-8 text, piece by piece.
    fn count_pieces(&mut self, text: &[u8]) -> usize {
        let (mut total, mut at) = (0, 0);
        while at < text.len() {
            let (counted, end) = self.count_batch(true, text, at);
            total += counted;
            at = end;
        }
        total
    }

    /// Tokens of the next few hundred pieces, and their end. A new text is cut into parts: the cache knows more of them than of
    /// pieces. If `is_whole`, as for a text that comes again, the cache is asked for whole pieces and keeps them.
    #[inline(always)]
    fn count_batch(&mut self, is_whole: bool, text: &[u8], at: usize) -> (usize, usize) {
        let bridges = (!is_whole).then_some(&*self.words.bridges);
        self.ends.find(self.vocabulary.pattern, bridges, text, at);
        let (mut total, mut start) = (0, at);
        for ends in self.ends.found().chunks(GROUP) {
            // No branch depends on which pieces are known, so the waits for memory overlap.
            let mut unknown = 0;
            for &end in ends {
                let len = end - start;
                let known = self.cache.short.get(cache::short_key(text, start, len & SHORT));
                let count = if len > SHORT { 0 } else { known };
                total += count;
                if let Some(place) = self.unknown.get_mut(unknown) {
                    *place = (start, len);
                }
                unknown += usize::from(count == 0);
                start = end;
            }
            for &(start, len) in self.unknown.iter().take(unknown) {
                let piece = text.get(start..start + len).unwrap_or_default();
                total += count_unknown(self.words, &mut self.cache, &mut self.scratch, piece, is_whole);
            }
        }
        (total, self.ends.found().last().copied().unwrap_or(text.len()))
    }
}

/// Tokens of a piece of more than 15 bytes, or of one that the cache did not have. A longer whole piece is counted part by
/// part.
#[inline(never)]
fn count_unknown(
    words: &Words,
    cache: &mut PieceCache,
    scratch: &mut Scratch,
    piece: &[u8],
    is_whole: bool,
) -> usize {
    if piece.len() <= SHORT {
        // A group rarely has the same piece twice. Looking for it would cost more than counting it again.
        let count = scratch.count(words, piece);
        cache.short.put(cache::short_key(piece, 0, piece.len()), count);
        return count;
    }
    let key = (piece.len() <= LONG).then(|| spans::key(piece));
    let known = key.map_or(0, |key| cache.spans.get(key));
    if known != 0 {
        return known;
    }
    let count =
        if is_whole { count_parts(words, cache, scratch, piece) } else { scratch.count(words, piece) };
    if let Some(key) = key {
        cache.spans.put(key, count);
    }
    count
}

/// Tokens of a piece, part by part.
fn count_parts(words: &Words, cache: &mut PieceCache, scratch: &mut Scratch, piece: &[u8]) -> usize {
    let mut total = 0;
    cut(&words.bridges, piece, |start, end| {
        let len = end - start;
        let known = if len <= SHORT { cache.short.get(cache::short_key(piece, start, len)) } else { 0 };
        total += match piece.get(start..end) {
            Some(whole) if len == piece.len() => scratch.count(words, whole),
            Some(part) if known == 0 => count_unknown(words, cache, scratch, part, false),
            _ => known,
        };
    });
    total
}
