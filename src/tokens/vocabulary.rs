//! The cl100k vocabulary: static tables laid out by the build script and read in place.
//!
//! Bytes and ids flow in, ids, lengths and bytes flow out. Nothing is parsed or built at load; the tables are
//! little-endian arrays in the program's read-only data, 2.4 MB in all. An id beyond the vocabulary has no bytes and
//! length 0; no function here panics on one.

use super::hash;

/// Ordinary tokens of cl100k_base: ids 0 to 100 255 without a gap.
pub(crate) const TOKENS: u32 = 100_256;

/// The longest token's bytes, so n bytes are at least n / 128 tokens.
pub(crate) const LONGEST_TOKEN: usize = 128;

/// A token id is below 2^17.
const ID_MASK: u64 = (1 << 17) - 1;

macro_rules! table {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

static SPLITS: &[u8] = table!("splits.bin");
static PAIR_FILTER: &[u8; hash::FILTER_WORDS * 8] = table!("pair_filter.bin");
static PAIR_PILOTS: &[u8] = table!("pair_pilots.bin");
static PAIR_SLOTS: &[u8] = table!("pair_slots.bin");
static TRIE_UNITS: &[u8] = table!("trie_units.bin");
static TRIE_ROOTS: &[u8] = table!("trie_roots.bin");
static TRIE_TAILS: &[u8] = table!("trie_tails.bin");
static SINGLE_BYTES: &[u8; 256] = table!("single_bytes.bin");
static BRIDGES: &[u8; 1 << 16] = table!("bridges.bin");

#[inline(always)]
fn u16_at(table: &[u8], index: usize) -> u16 {
    table.get(index * 2..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u16::from_le_bytes(bytes))
}

#[inline(always)]
fn u32_at(table: &[u8], index: usize) -> u32 {
    table.get(index * 4..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

#[inline(always)]
fn u64_at(table: &[u8], index: usize) -> u64 {
    table.get(index * 8..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u64::from_le_bytes(bytes))
}

#[inline(always)]
fn split(id: u32) -> u64 {
    u64_at(SPLITS, id as usize)
}

/// The two tokens whose merge makes `id`; a single byte is its own two halves.
#[inline(always)]
pub(crate) fn halves(id: u32) -> (u32, u32) {
    let split = split(id);
    ((split & ID_MASK) as u32, (split >> 17 & ID_MASK) as u32)
}

/// The longest token that is a proper prefix of `id`, if it has more than one byte.
#[inline(always)]
pub(crate) fn shorter(id: u32) -> Option<u32> {
    let shorter = (split(id) >> 34 & ID_MASK) as u32;
    (shorter != id).then_some(shorter)
}

/// Length of a token in bytes.
#[inline(always)]
pub(crate) fn len(id: u32) -> usize {
    (split(id) >> 51) as usize
}

/// Appends the bytes of a token: its halves, their halves, down to single bytes. False for an id beyond the vocabulary.
pub(crate) fn spell(id: u32, text: &mut Vec<u8>) -> bool {
    if id >= TOKENS {
        return false;
    }
    // A token has at most 128 bytes, so at most 127 right halves wait.
    let mut waiting = [0; LONGEST_TOKEN];
    let (mut id, mut depth) = (id, 0_usize);
    loop {
        if let Some(&byte) = SINGLE_BYTES.get(id as usize) {
            text.push(byte);
            let Some(&next) = depth.checked_sub(1).and_then(|top| waiting.get(top)) else { return true };
            (id, depth) = (next, depth - 1);
        } else {
            let (left, right) = halves(id);
            if let Some(place) = waiting.get_mut(depth) {
                *place = right;
            }
            (id, depth) = (left, depth + 1);
        }
    }
}

/// Whether merging two tokens makes one of lower id than `ceiling`.
#[inline(always)]
pub(crate) fn merges_below(ceiling: u32, left: u32, right: u32) -> bool {
    let hash = hash::pair(left, right);
    let (word, bits) = hash::filter(hash);
    if u64_at(PAIR_FILTER, word) & bits != bits {
        return false;
    }
    let pilot = u16_at(PAIR_PILOTS, hash::bucket(hash, PAIR_PILOTS.len() / 2));
    let entry = u32_at(PAIR_SLOTS, hash::slot(hash, pilot, PAIR_SLOTS.len() / 4));
    // The halves are looked at last: most often the fingerprint or the id says enough.
    let id = (entry >> hash::FINGERPRINT_BITS).wrapping_sub(1);
    id < ceiling && hash::marked(id, hash) == entry && halves(id) == (left, right)
}

/// Bit 31 of a unit: a token ends here. Bit 30: nothing follows, and bits 8 to 29 are its id instead of a base. Bit 30
/// alone: one token follows, and they are where its tail is.
const TOKEN: u32 = 1 << 31;
const LEAF: u32 = 1 << 30;

/// A token found at the start of a text: where it is in the trie, and its length in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    unit: u32,
    pub(crate) len: usize,
}

impl Found {
    /// The token's id. It costs a load of its own, and who only counts whole words does not need it.
    #[inline(always)]
    pub(crate) fn id(self) -> u32 {
        let base = base(self.unit);
        match self.unit & (TOKEN | LEAF) {
            TOKEN => u32_at(TRIE_UNITS, base as usize) >> 8,
            LEAF => tail(base).0 >> 8,
            _ => base,
        }
    }
}

/// The longest token `text` starts with; every single byte is a token, so only empty text has none.
#[inline(always)]
pub(crate) fn longest(text: &[u8]) -> Option<Found> {
    let (&first, rest) = text.split_first()?;
    let mut unit = u32_at(TRIE_ROOTS, usize::from(first));
    let mut found = Found { unit, len: 1 };
    let mut len = 1;
    for &byte in rest {
        if unit & LEAF != 0 {
            break;
        }
        unit = u32_at(TRIE_UNITS, (base(unit) ^ u32::from(byte)) as usize);
        if unit & 0xff != u32::from(byte) {
            return Some(found);
        }
        len += 1;
        if unit & TOKEN != 0 {
            found = Found { unit, len };
        }
    }
    if unit & (TOKEN | LEAF) == LEAF {
        let (head, tail) = tail(base(unit));
        let tail_len = (head & 0xff) as usize;
        if starts_with(text.get(len..).unwrap_or_default(), tail, tail_len) {
            found = Found { unit, len: len + tail_len };
        }
    }
    Some(found)
}

/// The id and length of a tail, and its bytes with whatever follows.
#[inline(always)]
fn tail(at: u32) -> (u32, &'static [u8]) {
    let Some((&head, tail)) = TRIE_TAILS.get(at as usize..).and_then(|rest| rest.split_first_chunk()) else {
        return (0, &[]);
    };
    (u32::from_le_bytes(head), tail)
}

/// Whether `text` starts with the first `len` bytes of `tail`, at least one.
#[inline(always)]
fn starts_with(text: &[u8], tail: &[u8], len: usize) -> bool {
    if let (Some(&text), Some(&tail), 1..=8) = (text.first_chunk(), tail.first_chunk(), len) {
        return (u64::from_le_bytes(text) ^ u64::from_le_bytes(tail)) << (64 - 8 * len) == 0;
    }
    tail.get(..len).is_some_and(|tail| text.starts_with(tail))
}

/// Reads every table once, in order. A text's first sight asks for places all over them, and each that is not in memory
/// or not in a processor's cache would be waited for alone.
pub(crate) fn touch() {
    /// Bytes of a cache line.
    const LINE: usize = 64;
    for table in [SPLITS, BRIDGES, PAIR_SLOTS, PAIR_PILOTS, PAIR_FILTER, TRIE_TAILS, TRIE_UNITS] {
        std::hint::black_box(table.iter().step_by(LINE).fold(0, |all, byte| all | byte));
    }
}

#[inline(always)]
fn base(unit: u32) -> u32 {
    (unit & (LEAF - 1)) >> 8
}

/// Whether some token may run across the boundary between two characters: `before` is the last byte of the first,
/// `lead` (E0 or above) and `next` the first two bytes of the second. Where none does, the text can be cut there
/// without changing its tokens.
#[inline(always)]
pub(crate) fn bridged(before: u8, lead: u8, next: u8) -> bool {
    let at = usize::from(before) << 11 | usize::from(lead & 31) << 6 | usize::from(next & 63);
    BRIDGES.get(at >> 3).is_some_and(|byte| byte >> (at & 7) & 1 == 1)
}
