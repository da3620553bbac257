//! The cl100k vocabulary: static tables laid out by the build script and read in place.
//!
//! Bytes and ids flow in, ids, lengths and bytes flow out. Nothing is parsed or hashed at load; the tables are
//! little-endian arrays in the program's read-only data, 3.7 MB in all. An id beyond the vocabulary has no bytes and
//! length 0; no function here panics on one.

use super::hash;

/// Ordinary tokens of cl100k_base: ids 0 to 100 255 without a gap.
pub(crate) const TOKENS: u32 = 100_256;

/// A token id is below 2^17.
const ID_MASK: u64 = (1 << 17) - 1;

macro_rules! table {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

static SPLITS: &[u8] = table!("splits.bin");
static PAIR_PILOTS: &[u8] = table!("pair_pilots.bin");
static PAIR_SLOTS: &[u8] = table!("pair_slots.bin");
static WORD_PILOTS: &[u8] = table!("word_pilots.bin");
static WORD_SLOTS: &[u8] = table!("word_slots.bin");
static TRIE_UNITS: &[u8] = table!("trie_units.bin");
static TRIE_ROOTS: &[u8] = table!("trie_roots.bin");
static TOKEN_OFFSETS: &[u8] = table!("token_offsets.bin");
static TOKEN_BYTES: &[u8] = table!("token_bytes.bin");
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
fn split(id: u32) -> u64 {
    SPLITS
        .get(id as usize * 8..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |&bytes| u64::from_le_bytes(bytes))
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

/// Bytes of a token; `None` for an id beyond the vocabulary.
#[inline(always)]
pub(crate) fn bytes(id: u32) -> Option<&'static [u8]> {
    if id >= TOKENS {
        return None;
    }
    let start = u32_at(TOKEN_OFFSETS, id as usize) as usize;
    let end = u32_at(TOKEN_OFFSETS, id as usize + 1) as usize;
    TOKEN_BYTES.get(start..end)
}

/// The id at a hash's only possible place in a perfect-hash table, if the fingerprint there agrees.
#[inline(always)]
fn probe(pilots: &[u8], slots: &[u8], hash: u64) -> Option<u32> {
    let pilot = u16_at(pilots, hash::bucket(hash, pilots.len() / 2));
    let entry = u32_at(slots, hash::slot(hash, pilot, slots.len() / 4));
    let agrees = entry & ((1 << hash::FINGERPRINT_BITS) - 1) == hash::fingerprint(hash);
    let id = entry >> hash::FINGERPRINT_BITS;
    (agrees && id != 0).then(|| id - 1)
}

/// The token that is exactly these bytes.
#[inline(always)]
pub(crate) fn word(text: &[u8]) -> Option<u32> {
    probe(WORD_PILOTS, WORD_SLOTS, hash::word(text)).filter(|&id| bytes(id) == Some(text))
}

/// The token made by merging two tokens, if that merge is one of the vocabulary's.
#[inline(always)]
pub(crate) fn merged(left: u32, right: u32) -> Option<u32> {
    probe(PAIR_PILOTS, PAIR_SLOTS, hash::pair(left, right)).filter(|&id| halves(id) == (left, right))
}

/// Bit 31 of a unit: a token ends here. Bit 30: nothing follows, and bits 8 to 29 are its id instead of a base.
const TOKEN: u32 = 1 << 31;
const LEAF: u32 = 1 << 30;

/// The longest token `text` starts with; every single byte is a token, so only empty text has none.
#[inline(always)]
pub(crate) fn longest(text: &[u8]) -> Option<u32> {
    let (&first, rest) = text.split_first()?;
    let mut unit = u32_at(TRIE_UNITS, u32_at(TRIE_ROOTS, usize::from(first)) as usize);
    let mut last = unit;
    for &byte in rest {
        if unit & LEAF != 0 {
            break;
        }
        unit = u32_at(TRIE_UNITS, (base(unit) ^ u32::from(byte)) as usize);
        if unit & 0xff != u32::from(byte) {
            break;
        }
        if unit & TOKEN != 0 {
            last = unit;
        }
    }
    Some(if last & LEAF != 0 { base(last) } else { u32_at(TRIE_UNITS, base(last) as usize) >> 8 })
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
