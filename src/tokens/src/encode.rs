//! Encodes text and decodes tokens. All text is ordinary here.

use super::{
    cache::{self, ROW, Row, SHORT, SpanRow},
    count::Counter,
    ends::Scanner,
    spans,
    vocabulary::Vocabulary,
};

impl Counter {
    /// Appends the tokens of valid UTF-8 text.
    pub(crate) fn encode(&mut self, text: &[u8], tokens: &mut Vec<u32>) {
        let came_before = self.seen.comes_again(text);
        let mut at = 0;
        while at < text.len() {
            let span_end = if came_before { spans::end(self.vocabulary.pattern, text, at) } else { None };
            at = match span_end {
                Some(end) => {
                    self.encode_span(text.get(at..end).unwrap_or_default(), tokens);
                    end
                }
                None => self.encode_batch(text, at, tokens),
            };
        }
    }

    /// Appends the tokens of a span, which are those of its bytes alone.
    fn encode_span(&mut self, span: &[u8], tokens: &mut Vec<u32>) {
        let mut key = SpanRow::of(spans::key(span));
        let (count, row) = self.cache.span_rows.entry(key);
        if count != 0
            && let Some(known) = self.cache.ring.row(row.value, count)
        {
            tokens.extend_from_slice(known);
            return;
        }
        let (start, mut at) = (tokens.len(), 0);
        while at < span.len() {
            at = self.encode_batch(span, at, tokens);
        }
        let found = tokens.get(start..).unwrap_or_default();
        if let Some(start) = self.cache.ring.push(found) {
            key.value = start;
            self.cache.span_rows.put(key, found.len());
        }
    }

    /// Appends the tokens of the next few hundred pieces; where they end.
    fn encode_batch(&mut self, text: &[u8], mut at: usize, tokens: &mut Vec<u32>) -> usize {
        let mut count = tokens.len();
        self.ends.find(Scanner::Auto, self.vocabulary, text, at);
        // Four places are written for each piece, wanted or not; those beyond the last are cut off at the end.
        tokens.resize(count + self.ends.found().len() * ROW, 0);
        for &end in self.ends.found() {
            let len = end - at;
            let key = Row::of(cache::short_key(text, at, len & SHORT));
            let (known, row) = if len > SHORT { (0, key) } else { self.cache.rows.entry(key) };
            let place = tokens.get_mut(count..).and_then(|rest| rest.first_chunk_mut());
            if let (Some(place), 1..) = (place, known) {
                *place = row.value;
                count += known;
            } else {
                self.scratch.encode(self.vocabulary, text.get(at..end).unwrap_or_default());
                let found = &self.scratch.tokens;
                // Room for this piece beside that of the others.
                tokens.resize(tokens.len() + found.len(), 0);
                if let Some(places) = tokens.get_mut(count..count + found.len()) {
                    places.copy_from_slice(found);
                }
                count += found.len();
                let mut row = key;
                if len <= SHORT
                    && let Some(value) = row.value.get_mut(..found.len())
                {
                    value.copy_from_slice(found);
                    self.cache.rows.put(row, found.len());
                }
            }
            at = end;
        }
        tokens.truncate(count);
        at
    }
}

/// The bytes of tokens that were decoded before. Pages without such tokens take no memory.
pub(crate) struct TokenBytes {
    /// By id: up to fifteen bytes and their number; 0 if unknown, [`LONG`] if there are more.
    words: Vec<[u8; WORD]>,
}

/// Bytes of an entry, the last of which is the length.
const WORD: usize = 16;
const LONG: u8 = u8::MAX;

impl TokenBytes {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        Self { words: vec![[0; WORD]; vocabulary.end() as usize] }
    }

    /// Appends the bytes of tokens to `text`. `special` knows the texts of special tokens. The error is the position of a
    /// number that is no token.
    pub(crate) fn decode<'a>(
        &mut self,
        vocabulary: &Vocabulary,
        tokens: &[u32],
        special: impl Fn(u32) -> Option<&'a str>,
        text: &mut Vec<u8>,
    ) -> Result<(), usize> {
        /// Tokens looked up before the first is written: the waits for memory overlap, as no write stands between them.
        const GROUP: usize = 64;
        let mut len = text.len();
        for (group, tokens) in tokens.chunks(GROUP).enumerate() {
            let mut words = [[0; WORD]; GROUP];
            for (word, &token) in words.iter_mut().zip(tokens) {
                *word = self.words.get(token as usize).copied().unwrap_or_default();
            }
            text.resize(len + (tokens.len() + 1) * WORD, 0);
            for (index, (&word, &token)) in words.iter().zip(tokens).enumerate() {
                let place = text.get_mut(len..).and_then(|rest| rest.first_chunk_mut());
                if let (Some(place), [.., known]) = (place, word)
                    && (1..LONG).contains(&known)
                {
                    *place = word;
                    len += usize::from(known);
                    continue;
                }
                let mut bytes = Vec::new();
                if vocabulary.spell(token, &mut bytes) {
                    self.keep(token, &bytes);
                } else if let Some(special) = special(token) {
                    bytes.extend_from_slice(special.as_bytes());
                } else {
                    return Err(group * GROUP + index);
                }
                // Room for these beside that of the others.
                text.resize(text.len() + bytes.len(), 0);
                if let Some(place) = text.get_mut(len..len + bytes.len()) {
                    place.copy_from_slice(&bytes);
                }
                len += bytes.len();
            }
        }
        text.truncate(len);
        Ok(())
    }

    fn keep(&mut self, token: u32, bytes: &[u8]) {
        let Some(word) = self.words.get_mut(token as usize) else { return };
        let mut kept = [0; WORD];
        kept.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = byte);
        kept[WORD - 1] = if bytes.len() < WORD { bytes.len() as u8 } else { LONG };
        *word = kept;
    }
}
