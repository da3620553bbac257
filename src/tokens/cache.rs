//! Token counts of short pieces seen before, exact and bounded.
//!
//! A piece's bytes themselves are the key, so a hit is never a guess. Up to 15 bytes lie in one u128 beside their
//! length and count (1 MB of slots), up to 30 in two (256 KB); longer pieces are not kept. Each slot has one
//! neighbour; the newer entry of the two stays in front and the older is overwritten. Memory is fixed, and its pages
//! are only taken up as they are written to.

use super::hash;

/// Longest piece in one u128.
pub(crate) const SHORT: usize = 15;
/// Longest piece in two.
pub(crate) const LONG: usize = 30;

const SHORT_BITS: u32 = 16;
const LONG_BITS: u32 = 13;
/// The count of a short piece: the top four bits, above four of length.
const SHORT_COUNT: u32 = 124;
/// The count of a long piece: the top byte of the second word, above a byte of length.
const LONG_COUNT: u32 = 120;

pub(crate) struct PieceCache {
    short: Box<[u128]>,
    long: Box<[[u128; 2]]>,
}

impl PieceCache {
    pub(crate) fn new() -> Self {
        Self { short: vec![0; 1 << SHORT_BITS].into(), long: vec![[0; 2]; 1 << LONG_BITS].into() }
    }

    /// The count of the piece at `start..start + len` (1 to 15 bytes), computed by `miss` if it is not known.
    #[inline(always)]
    pub(crate) fn short(
        &mut self,
        text: &[u8],
        start: usize,
        len: usize,
        miss: impl FnOnce() -> usize,
    ) -> usize {
        let key = window(text, start) & low_bytes(len) | (len as u128) << 120;
        let home = (hash::fold(key as u64, (key >> 64) as u64) >> (64 - SHORT_BITS)) as usize;
        for slot in [home, home ^ 1] {
            let difference = self.short.get(slot).copied().unwrap_or(0) ^ key;
            if difference << 4 == 0 {
                return (difference >> SHORT_COUNT) as usize;
            }
        }
        let count = miss();
        let older = self.short.get(home).copied().unwrap_or(0);
        for (slot, entry) in [(home ^ 1, older), (home, key | (count as u128) << SHORT_COUNT)] {
            if let Some(place) = self.short.get_mut(slot) {
                *place = entry;
            }
        }
        count
    }

    /// The count of a piece of 16 to 30 bytes, computed by `miss` if it is not known.
    #[inline(always)]
    pub(crate) fn long(
        &mut self,
        text: &[u8],
        start: usize,
        len: usize,
        miss: impl FnOnce() -> usize,
    ) -> usize {
        let second = window(text, start + 16) & low_bytes(len - 16) | (len as u128) << 112;
        let key = [window(text, start), second];
        let half = |word: u128| hash::fold(word as u64, (word >> 64) as u64);
        let home = (hash::fold(half(key[0]), half(key[1])) >> (64 - LONG_BITS)) as usize;
        for slot in [home, home ^ 1] {
            let [first, second] = self.long.get(slot).copied().unwrap_or_default();
            let difference = second ^ key[1];
            if first == key[0] && difference << 8 == 0 {
                return (difference >> LONG_COUNT) as usize;
            }
        }
        let count = miss();
        let older = self.long.get(home).copied().unwrap_or_default();
        for (slot, entry) in [(home ^ 1, older), (home, [key[0], key[1] | (count as u128) << LONG_COUNT])] {
            if let Some(place) = self.long.get_mut(slot) {
                *place = entry;
            }
        }
        count
    }
}

/// Keeps the low `len` bytes, 0 to 15.
#[inline(always)]
fn low_bytes(len: usize) -> u128 {
    (1 << (len * 8)) - 1
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
