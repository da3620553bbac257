//! Encodes text. All text is ordinary here.

use super::{
    cache::{Key, ROW, SHORT},
    count::Counter,
    spans,
};

impl Counter {
    /// Appends the tokens of valid UTF-8 text.
    pub(crate) fn encode(&mut self, text: &[u8], tokens: &mut Vec<u32>) {
        let comes_again = self.seen.comes_again(text);
        let mut at = 0;
        while at < text.len() {
            let span_end = if comes_again { spans::end(self.vocabulary.pattern, text, at) } else { None };
            at = match span_end {
                Some(end) => {
                    self.encode_span(text.get(at..end).unwrap_or_default(), tokens);
                    end
                }
                None => self.encode_batch(text, at, tokens),
            };
        }
    }

    /// Appends the tokens of a span, the same as of its bytes alone.
    fn encode_span(&mut self, span: &[u8], tokens: &mut Vec<u32>) {
        let key = spans::key(span);
        let (count, start) = self.cache.spans.get(key);
        if let Some(known) = self.cache.ring.get(start, count).filter(|known| !known.is_empty()) {
            tokens.extend_from_slice(known);
            return;
        }
        let (before, mut at) = (tokens.len(), 0);
        while at < span.len() {
            at = self.encode_batch(span, at, tokens);
        }
        let found = tokens.get(before..).unwrap_or_default();
        let start = self.cache.ring.push(found);
        self.cache.spans.put(key, found.len(), start);
    }

    /// Appends the tokens of the next few hundred pieces; where they end.
    fn encode_batch(&mut self, text: &[u8], mut at: usize, tokens: &mut Vec<u32>) -> usize {
        let mut count = tokens.len();
        self.ends.find(self.vocabulary.pattern, &self.words.bridges, text, at);
        // Four places are written for each piece, wanted or not; those beyond the last are cut off at the end.
        tokens.resize(count + self.ends.found().len() * ROW, 0);
        for &end in self.ends.found() {
            let len = end - at;
            let key = Key::of_bytes(text, at, if len > SHORT { 0 } else { len });
            let (known, row) = self.cache.rows.get(key);
            let place = tokens.get_mut(count..).and_then(|rest| rest.first_chunk_mut());
            if let (Some(place), 1..) = (place, known) {
                *place = row;
                count += known;
            } else {
                self.scratch.encode(self.words, text.get(at..end).unwrap_or_default());
                let found = &self.scratch.tokens;
                // Room for this piece beside that of the others.
                tokens.resize(tokens.len() + found.len(), 0);
                if let Some(places) = tokens.get_mut(count..count + found.len()) {
                    places.copy_from_slice(found);
                }
                count += found.len();
                let mut row = [0; ROW];
                if len <= SHORT
                    && let Some(row_tokens) = row.get_mut(..found.len())
                {
                    row_tokens.copy_from_slice(found);
                    self.cache.rows.put(key, found.len(), row);
                }
            }
            at = end;
        }
        tokens.truncate(count);
        at
    }
}
