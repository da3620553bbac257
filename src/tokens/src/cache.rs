//! Caches token counts of short pieces and of spans, and the tokens of short pieces; exact and bounded.
//!
//! The key of a piece of up to 15 bytes is a u128 of these bytes, beside their length and count (1 MB of slots). The key
//! of a span, or of a piece of up to 64 bytes, is a hash (1 MB). The encoder keeps up to four tokens of a piece of 15 bytes
//! (1 MB), and the tokens of spans (4 MB, and 512 KB of places). A slot has room for two entries; a third overwrites the
//! older one. A table takes its memory at the first entry.

use super::packing;

/// Longest piece in one u128.
pub(crate) const SHORT: usize = 15;
/// Longest piece that is kept by its hash.
pub(crate) const LONG: usize = 64;

/// Slots of two entries in a table, as powers of two.
const SHORT_BITS: u32 = 15;
const SPAN_BITS: u32 = 15;
const ROW_BITS: u32 = 14;
const SPAN_ROW_BITS: u32 = 13;
/// The count of a short piece: the top four bits, above four of length.
const SHORT_COUNT: u32 = 124;

/// A key with room for a count in bits that are zero in the key.
pub(crate) trait Key: Copy + Default {
    /// 64 bits of hash; the top ones choose the slot.
    fn hash(self) -> u64;
    /// The count of an entry if it is this key's, or else 0.
    fn count_in(self, entry: Self) -> usize;
    /// The entry of this key and a count.
    fn with_count(self, count: usize) -> Self;
}

impl Key for u128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        packing::fold(self as u64, (self >> 64) as u64)
    }

    #[inline(always)]
    fn count_in(self, entry: Self) -> usize {
        let difference = entry ^ self;
        if difference << 4 == 0 { (difference >> SHORT_COUNT) as usize } else { 0 }
    }

    fn with_count(self, count: usize) -> Self {
        self | (count as u128) << SHORT_COUNT
    }
}

/// The key of a span (see `spans`): a hash, its low 16 bits zero for the count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Span(u128);

impl Span {
    pub(crate) fn new(hash: u128) -> Self {
        Self(hash & !0xffff)
    }
}

impl Key for Span {
    #[inline(always)]
    fn hash(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline(always)]
    fn count_in(self, entry: Self) -> usize {
        let difference = entry.0 ^ self.0;
        if difference >> 16 == 0 { difference as usize } else { 0 }
    }

    fn with_count(self, count: usize) -> Self {
        Self(self.0 | count as u128)
    }
}

/// A key, and what is kept beside its count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Entry<K, V> {
    key: K,
    pub(crate) value: V,
}

/// Tokens beside a short piece's key.
pub(crate) const ROW: usize = 4;

/// A short piece's tokens, if they are at most four.
pub(crate) type Row = Entry<u128, [u32; ROW]>;

/// The place of a span's tokens in the [`Ring`].
pub(crate) type SpanRow = Entry<Span, u64>;

impl<K, V: Default> Entry<K, V> {
    #[inline(always)]
    pub(crate) fn of(key: K) -> Self {
        Self { key, value: V::default() }
    }
}

impl<K: Key, V: Copy + Default> Key for Entry<K, V> {
    #[inline(always)]
    fn hash(self) -> u64 {
        self.key.hash()
    }

    #[inline(always)]
    fn count_in(self, entry: Self) -> usize {
        self.key.count_in(entry.key)
    }

    fn with_count(self, count: usize) -> Self {
        Self { key: self.key.with_count(count), ..self }
    }
}

/// The tokens of spans: the newest million, in 4 MB.
#[derive(Default)]
pub(crate) struct Ring {
    tokens: Vec<u32>,
    /// Places written so far, with those skipped at the end of a round.
    written: u64,
}

/// Tokens in a full ring.
const RING: usize = 1 << 20;

impl Ring {
    /// Keeps the tokens of a span and returns their place. A row longer than the ring is not kept.
    pub(crate) fn push(&mut self, tokens: &[u32]) -> Option<u64> {
        let mut place = self.written as usize % RING;
        if place + tokens.len() > RING {
            // A row lies in one piece.
            self.written += (RING - place) as u64;
            place = 0;
        }
        let end = place + tokens.len();
        if self.tokens.len() < end.min(RING) {
            self.tokens.resize(end.min(RING), 0);
        }
        self.tokens.get_mut(place..end)?.copy_from_slice(tokens);
        let start = self.written;
        self.written += tokens.len() as u64;
        Some(start)
    }

    /// The tokens of a row, unless newer ones took their place.
    #[inline(always)]
    pub(crate) fn row(&self, start: u64, count: usize) -> Option<&[u32]> {
        if self.written - start > RING as u64 {
            return None;
        }
        let place = start as usize % RING;
        self.tokens.get(place..place + count)
    }
}

/// The key of a piece of 1 to 15 bytes.
#[inline(always)]
pub(crate) fn short_key(text: &[u8], start: usize, len: usize) -> u128 {
    window(text, start) & low_bytes(len) | (len as u128) << 120
}

/// The counts of one kind of key.
pub(crate) struct Table<K> {
    /// The newer entry of each slot comes first. Empty until something is put in.
    slots: Vec<[K; 2]>,
    bits: u32,
}

impl<K: Key> Table<K> {
    const fn new(bits: u32) -> Self {
        Self { slots: Vec::new(), bits }
    }

    #[inline(always)]
    fn home(&self, key: K) -> usize {
        (key.hash() >> (64 - self.bits)) as usize
    }

    /// The count of a piece, or 0 if it is not known.
    #[inline(always)]
    pub(crate) fn get(&self, key: K) -> usize {
        self.slots.get(self.home(key)).map_or(0, |&[newer, older]| key.count_in(newer) | key.count_in(older))
    }

    /// The number of tokens of an entry, and the entry; 0 if it is not known.
    #[inline(always)]
    pub(crate) fn entry(&self, key: K) -> (usize, K) {
        let [newer, older] = self.slots.get(self.home(key)).copied().unwrap_or_default();
        match key.count_in(newer) {
            0 => (key.count_in(older), older),
            count => (count, newer),
        }
    }

    /// Caches the count of an unknown piece.
    #[inline(never)]
    pub(crate) fn put(&mut self, key: K, count: usize) {
        if self.slots.is_empty() {
            self.slots.resize(1 << self.bits, [K::default(); 2]);
        }
        let home = self.home(key);
        if let Some(slot) = self.slots.get_mut(home) {
            *slot = [key.with_count(count), slot[0]];
        }
    }
}

/// The known pieces and spans.
pub(crate) struct PieceCache {
    pub(crate) short: Table<u128>,
    pub(crate) spans: Table<Span>,
    pub(crate) rows: Table<Row>,
    pub(crate) span_rows: Table<SpanRow>,
    pub(crate) ring: Ring,
}

impl PieceCache {
    pub(crate) fn new() -> Self {
        Self {
            short: Table::new(SHORT_BITS),
            spans: Table::new(SPAN_BITS),
            rows: Table::new(ROW_BITS),
            span_rows: Table::new(SPAN_ROW_BITS),
            ring: Ring::default(),
        }
    }
}

/// Keeps the low `len` bytes, 0 to 15.
#[inline(always)]
fn low_bytes(len: usize) -> u128 {
    LOW_BYTES.get(len & 15).copied().unwrap_or(0)
}

/// A table, because shifting two words by a variable takes longer than a load.
static LOW_BYTES: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        #[expect(
            clippy::indexing_slicing,
            reason = "evaluated by the compiler, which rejects an index out of range"
        )]
        {
            masks[len] = masks[len - 1] << 8 | 0xff;
        }
        len += 1;
    }
    masks
};

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
