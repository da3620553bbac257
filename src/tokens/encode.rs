//! Tokens of a text, and the text of tokens. Special tokens are the tokenizer's: here all text is ordinary.

use super::{
    cache::{self, ROW, Row, SHORT},
    count::Counter,
    ends::Scanner,
    vocabulary::Vocabulary,
};

impl Counter {
    /// Appends the tokens of valid UTF-8 text.
    pub(crate) fn encode(&mut self, text: &[u8], tokens: &mut Vec<u32>) {
        let (mut at, mut count) = (0, tokens.len());
        while at < text.len() {
            self.ends.find(Scanner::Auto, self.vocabulary, text, at);
            // Four places are written for each piece, wanted or not; those beyond the last are cut off at the end.
            tokens.resize(count + self.ends.found().len() * ROW, 0);
            for &end in self.ends.found() {
                let len = end - at;
                let key = Row::of(cache::short_key(text, at, len & SHORT));
                let (known, row) = if len > SHORT { (0, key) } else { self.cache.rows.entry(key) };
                let place = tokens.get_mut(count..).and_then(|rest| rest.first_chunk_mut());
                if let (Some(place), 1..) = (place, known) {
                    *place = row.tokens;
                    count += known;
                } else {
                    self.scratch.encode(self.vocabulary, text.get(at..end).unwrap_or_default());
                    let found = self.scratch.tokens.iter().map(|token| token.id);
                    // Room for this piece beside that of the others.
                    tokens.resize(tokens.len() + found.len(), 0);
                    let places = tokens.get_mut(count..).unwrap_or_default();
                    places.iter_mut().zip(found.clone()).for_each(|(place, token)| *place = token);
                    count += found.len();
                    if len <= SHORT && found.len() <= ROW {
                        let mut row = key;
                        row.tokens.iter_mut().zip(found.clone()).for_each(|(place, token)| *place = token);
                        self.cache.rows.put(row, found.len());
                    }
                }
                at = end;
            }
        }
        tokens.truncate(count);
    }
}

/// The bytes of tokens that were asked for before. Only the pages of those that were are taken up.
pub(crate) struct Spelled {
    /// By id: up to fifteen bytes, and how many. None are known for 0, and more than fit for [`LONG`].
    words: Vec<[u8; WORD]>,
}

/// Bytes of an entry, the last of which is the length.
const WORD: usize = 16;
const LONG: u8 = u8::MAX;

impl Spelled {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        Self { words: vec![[0; WORD]; vocabulary.end as usize] }
    }

    /// Appends the bytes of tokens to `text`. What no ordinary token is called is asked of `special`; if it is no token
    /// either, its position is the error.
    pub(crate) fn decode<'a>(
        &mut self,
        vocabulary: &Vocabulary,
        tokens: &[u32],
        special: impl Fn(u32) -> Option<&'a str>,
        text: &mut Vec<u8>,
    ) -> Result<(), usize> {
        /// Tokens for which room is made at once.
        const BATCH: usize = 1024;
        let mut len = text.len();
        for (batch, tokens) in tokens.chunks(BATCH).enumerate() {
            text.resize(len + (tokens.len() + 1) * WORD, 0);
            for (index, &token) in tokens.iter().enumerate() {
                let word = self.words.get(token as usize).copied().unwrap_or_default();
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
                    return Err(batch * BATCH + index);
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
