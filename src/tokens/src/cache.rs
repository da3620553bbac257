//! Caches token counts of pieces and of spans, and the tokens of short pieces; exact and bounded.
//!
//! The key of a piece of up to 14 bytes is these bytes and their number. The key of a longer piece, or of a span, is a hash. A
//! slot has room for two entries; a third overwrites the older one. A table takes its memory at the first entry: 1 MB for
//! counts of short pieces, 1 MB for other counts, 1 MB for tokens of short pieces, and 4.5 MB for tokens of spans.

use super::packing;

/// Longest piece whose bytes are its key.
pub(crate) const SHORT: usize = 14;
/// Longest piece that is kept by its hash.
pub(crate) const LONG: usize = 64;
/// Most tokens that are kept of a short piece.
pub(crate) const ROW: usize = 4;

/// Slots of two entries in a table, as powers of two.
const COUNT_BITS: u32 = 15;
const ROW_BITS: u32 = 14;
const SPAN_BITS: u32 = 13;
/// The number of a short piece's bytes is above them.
const LENGTH_SHIFT: u32 = 8 * SHORT as u32;
/// The top twelve bits of an entry are its count.
const COUNT_SHIFT: u32 = LENGTH_SHIFT + 4;

/// A piece or a span. The bits of the count are zero.
#[derive(Clone, Copy)]
pub(crate) struct Key(u128);

impl Key {
    /// The key of a piece of 1 to 14 bytes. No piece has the key of no bytes.
    #[inline(always)]
    pub(crate) fn of_bytes(text: &[u8], start: usize, len: usize) -> Self {
        let bytes = window(text, start) & ((1 << (8 * len)) - 1);
        Self(bytes | (len as u128) << LENGTH_SHIFT)
    }

    /// The key of a hash.
    pub(crate) fn of_hash(hash: u128) -> Self {
        Self(hash & ((1 << COUNT_SHIFT) - 1))
    }

    /// The count of an entry if it is this key's, or else 0.
    #[inline(always)]
    fn count_in(self, entry: u128) -> usize {
        let difference = entry ^ self.0;
        if difference << (u128::BITS - COUNT_SHIFT) == 0 { (difference >> COUNT_SHIFT) as usize } else { 0 }
    }
}

/// Counts of pieces or spans, and what is kept beside a count.
pub(crate) struct Table<V> {
    /// The newer entry of each slot comes first. Empty until something is put in.
    slots: Vec<[(u128, V); 2]>,
    bits: u32,
}

impl<V: Copy + Default> Table<V> {
    const fn new(bits: u32) -> Self {
        Self { slots: Vec::new(), bits }
    }

    #[inline(always)]
    fn home(&self, key: Key) -> usize {
        (packing::fold(key.0 as u64, (key.0 >> 64) as u64) >> (64 - self.bits)) as usize
    }

    /// The number of tokens, or 0 if it is not known.
    #[inline(always)]
    pub(crate) fn count(&self, key: Key) -> usize {
        let slot = self.slots.get(self.home(key));
        slot.map_or(0, |&[newer, older]| key.count_in(newer.0) | key.count_in(older.0))
    }

    /// Returns the number of tokens and the value beside it. The number is 0 if the key is not known.
    #[inline(always)]
    pub(crate) fn get(&self, key: Key) -> (usize, V) {
        let [newer, older] = self.slots.get(self.home(key)).copied().unwrap_or_default();
        match key.count_in(newer.0) {
            0 => (key.count_in(older.0), older.1),
            count => (count, newer.1),
        }
    }

    /// Caches what was not known.
    #[inline(never)]
    pub(crate) fn put(&mut self, key: Key, count: usize, value: V) {
        if self.slots.is_empty() {
            self.slots.resize(1 << self.bits, Default::default());
        }
        let home = self.home(key);
        if let Some(slot) = self.slots.get_mut(home) {
            *slot = [(key.0 | (count as u128) << COUNT_SHIFT, value), slot[0]];
        }
    }
}

/// Tokens in a full ring.
const RING: usize = 1 << 20;

/// The tokens of spans: the newest million.
#[derive(Default)]
pub(crate) struct Ring {
    tokens: Vec<u32>,
    /// Places written so far, with those skipped at the end of a round.
    written: u64,
}

impl Ring {
    /// Keeps the tokens of a span, far fewer than the ring holds, and returns where they start.
    pub(crate) fn push(&mut self, tokens: &[u32]) -> u64 {
        let left = RING - self.written as usize % RING;
        if left < tokens.len() {
            // The tokens of a span lie in one piece.
            self.written += left as u64;
        }
        let (start, place) = (self.written, self.written as usize % RING);
        self.tokens.resize(self.tokens.len().max(place + tokens.len()), 0);
        if let Some(places) = self.tokens.get_mut(place..place + tokens.len()) {
            places.copy_from_slice(tokens);
        }
        self.written += tokens.len() as u64;
        start
    }

    /// Returns the tokens of a span, unless newer ones took their place.
    #[inline(always)]
    pub(crate) fn get(&self, start: u64, count: usize) -> Option<&[u32]> {
        let place = start as usize % RING;
        self.tokens.get(place..place + count).filter(|_| self.written - start <= RING as u64)
    }
}

/// The known pieces and spans.
pub(crate) struct PieceCache {
    pub(crate) short: Table<()>,
    /// Longer pieces and spans.
    pub(crate) hashed: Table<()>,
    /// Tokens of short pieces.
    pub(crate) rows: Table<[u32; ROW]>,
    /// Where the tokens of spans start in the ring.
    pub(crate) spans: Table<u64>,
    pub(crate) ring: Ring,
}

impl PieceCache {
    pub(crate) fn new() -> Self {
        Self {
            short: Table::new(COUNT_BITS),
            hashed: Table::new(COUNT_BITS),
            rows: Table::new(ROW_BITS),
            spans: Table::new(SPAN_BITS),
            ring: Ring::default(),
        }
    }
}

/// The 16 bytes from `start` on; bytes past the end of the text read as zero.
#[inline(always)]
fn window(text: &[u8], start: usize) -> u128 {
    let Some(rest) = text.get(start..) else { return 0 };
    if let Some(&bytes) = rest.first_chunk() {
        return u128::from_le_bytes(bytes);
    }
    if let Some(&bytes) = text.last_chunk() {
        return u128::from_le_bytes(bytes).checked_shr((16 - rest.len() as u32) * 8).unwrap_or(0);
    }
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte))
}
