//! Encodes text. All text is ordinary here.

use super::{
    cache::{self, ROW, Row, SHORT, SpanRow},
    count::Counter,
    spans,
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
        let bridges = Some(&*self.words.bridges);
        self.ends.find(self.vocabulary.pattern, bridges, text, at);
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
                self.scratch.encode(self.words, text.get(at..end).unwrap_or_default());
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
