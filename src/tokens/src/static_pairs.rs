//! The pairs of a built-in vocabulary that merge. The first count lays them out in memory: a lookup by the trie would take
//! several loads.

use super::{
    packing::{self, ID_BITS},
    short::{Due, Merges, NO_TOKEN},
};

/// A free slot: token 0 merges with nothing.
const EMPTY: u64 = 0;

/// 0.8 to 2.5 MB by the vocabulary's size.
pub(crate) struct StaticPairs {
    /// Three bits per pair in one of some thousand words: one load rules most pairs out that never merge.
    filter: Box<[u64]>,
    byte_ids: Box<[u32; 256]>,
    /// By two tokens of one byte, the one they make or [`NO_TOKEN`].
    of_bytes: Box<[u32]>,
    /// Left, right and joint token in one word: open addressing, five slots for four pairs or more.
    slots: Box<[u64]>,
}

/// Most pairs to a word of the filter: then one pair in some thirty that never merges passes.
const PAIRS_PER_WORD: usize = 8;

/// Ids of single bytes are the lowest.
const BYTE_BITS: u32 = 8;

impl StaticPairs {
    /// Of the bytes by id, and each pair's left, right and joint token.
    pub(crate) fn new(
        single_bytes: &[u8; 256],
        pairs: impl Iterator<Item = (u32, u32, u32)> + Clone,
    ) -> Self {
        let mut byte_ids = Box::new([0; 256]);
        for (id, &byte) in (0..).zip(single_bytes) {
            if let Some(place) = byte_ids.get_mut(usize::from(byte)) {
                *place = id;
            }
        }
        let count = pairs.clone().count();
        let mut filter = vec![0; count.div_ceil(PAIRS_PER_WORD)].into_boxed_slice();
        let mut of_bytes = vec![NO_TOKEN; 1 << (2 * BYTE_BITS)].into_boxed_slice();
        let mut slots = vec![EMPTY; (count + count / 4).next_power_of_two()].into_boxed_slice();
        for (left, right, joint) in pairs {
            if left.max(right) < 1 << BYTE_BITS
                && let Some(place) = of_bytes.get_mut((left << BYTE_BITS | right) as usize)
            {
                *place = joint;
            }
            let (hash, halves) = (packing::pair(left, right), halves(left, right));
            let (word, bits) = filter_bits(hash, filter.len());
            if let Some(word) = filter.get_mut(word) {
                *word |= bits;
            }
            let at = slot_of(&slots, hash, halves);
            if let Some(slot) = slots.get_mut(at) {
                *slot = halves << ID_BITS | u64::from(joint);
            }
        }
        Self { filter, byte_ids, of_bytes, slots }
    }

    /// True if two tokens make one of lower id than `ceiling`.
    #[inline(always)]
    pub(crate) fn merge_below(&self, ceiling: u32, left: u32, right: u32) -> bool {
        let hash = packing::pair(left, right);
        self.may_merge(hash) && self.joint(hash, left, right) < ceiling
    }

    /// The token that two make, or [`NO_TOKEN`].
    #[inline(always)]
    fn joint(&self, hash: u64, left: u32, right: u32) -> u32 {
        match self.slots.get(slot_of(&self.slots, hash, halves(left, right))) {
            Some(&slot) if slot != EMPTY => slot as u32 & ((1 << ID_BITS) - 1),
            _ => NO_TOKEN,
        }
    }
}

/// The filter's word for a hash, and the three bits of it.
#[inline(always)]
fn filter_bits(hash: u64, words: usize) -> (usize, u64) {
    let word = ((hash >> 32) * words as u64) >> 32;
    (word as usize, 1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63))
}

#[inline(always)]
fn halves(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

/// The slot that has these halves, or the one they would go to.
#[inline(always)]
fn slot_of(slots: &[u64], hash: u64, halves: u64) -> usize {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots.get(at).is_some_and(|&slot| slot != EMPTY && slot >> ID_BITS != halves) {
        at = (at + 1) & mask;
    }
    at
}

impl Merges for StaticPairs {
    #[inline(always)]
    fn byte(&self, byte: u8) -> Option<u32> {
        self.byte_ids.get(usize::from(byte)).copied()
    }

    #[inline(always)]
    fn due_of_bytes(&self, left: u32, right: u32) -> Due {
        let joint = self.of_bytes.get((left << BYTE_BITS | right) as usize).copied().unwrap_or(NO_TOKEN);
        Due::new(0, joint)
    }

    #[inline(always)]
    fn may_merge(&self, hash: u64) -> bool {
        let (word, bits) = filter_bits(hash, self.filter.len());
        self.filter.get(word).is_some_and(|word| word & bits == bits)
    }

    /// Ranks are ids here, so the joint token alone says which merge comes first.
    #[inline(always)]
    fn due(&self, hash: u64, left: u32, right: u32) -> Due {
        Due::new(0, self.joint(hash, left, right))
    }
}
