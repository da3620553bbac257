//! The pairs of tokens that merge, and what they make.

use super::{
    packing,
    short::{Due, NO_TOKEN},
};

/// One past the highest id that is taken; the largest vocabularies have 262 144.
pub(crate) const MOST_ID: u32 = (1 << ID_BITS) - 1;
/// One past the highest rank that is taken.
pub(crate) const MOST_RANK: u32 = 1 << RANK_BITS;
const ID_BITS: u32 = 21;
const RANK_BITS: u32 = u64::BITS - 2 * ID_BITS;

/// Two tokens that merge. The pair of the least rank merges first.
#[derive(Clone, Copy)]
pub(crate) struct Merge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) rank: u32,
}

/// The merges of a vocabulary.
pub(crate) struct Pairs {
    /// Three bits per pair in one of some thousand words: one load rules out most pairs that never merge.
    filter: Box<[u64]>,
    /// Tokens of single bytes.
    byte_ids: Box<[u32; 256]>,
    /// The merge of each two bytes.
    of_bytes: Box<[Due]>,
    /// Left token, right token and rank, or [`EMPTY`]: open addressing.
    slots: Box<[u64]>,
    /// The token that the merge of each rank makes; empty where it has the rank's number.
    joints: Box<[u32]>,
}

/// A free slot: no token has the id that it names.
const EMPTY: u64 = u64::MAX;
/// Most pairs to a word of the filter: then one pair in some thirty that never merges passes.
const PAIRS_PER_WORD: usize = 8;

impl Pairs {
    /// The table of at most `most` merges. A later merge of two tokens replaces an earlier one.
    pub(crate) fn new(
        byte_ids: Box<[u32; 256]>,
        joints: Vec<u32>,
        most: usize,
        merges: impl Iterator<Item = Merge>,
    ) -> Self {
        let mut pairs = Self {
            filter: vec![0; most.div_ceil(PAIRS_PER_WORD).max(1)].into(),
            byte_ids,
            of_bytes: Box::default(),
            slots: vec![EMPTY; room(most)].into(),
            joints: joints.into(),
        };
        for Merge { left, right, rank } in merges {
            let hash = packing::pair(left, right);
            let (word, bits) = filter_bits(hash, pairs.filter.len());
            if let Some(word) = pairs.filter.get_mut(word) {
                *word |= bits;
            }
            let at = pairs.slot(hash, left, right);
            if let Some(slot) = pairs.slots.get_mut(at) {
                *slot = halves(left, right) << RANK_BITS | u64::from(rank);
            }
        }
        let bytes = || pairs.byte_ids.iter();
        let of_bytes = bytes().flat_map(|&left| bytes().map(move |&right| (left, right)));
        pairs.of_bytes = of_bytes.map(|(left, right)| pairs.due(left, right)).collect();
        pairs
    }

    /// The token of a byte.
    #[inline(always)]
    pub(crate) fn byte(&self, byte: u8) -> u32 {
        self.byte_ids.get(usize::from(byte)).copied().unwrap_or(NO_TOKEN)
    }

    /// The merge of two bytes.
    #[inline(always)]
    pub(crate) fn due_of_bytes(&self, left: u8, right: u8) -> Due {
        self.of_bytes.get(two_bytes(left, right)).copied().unwrap_or(Due::NEVER)
    }

    /// Returns `false` only if two tokens never merge. `hash` is their `packing::pair`.
    #[inline(always)]
    pub(crate) fn may_merge(&self, hash: u64) -> bool {
        let (word, bits) = filter_bits(hash, self.filter.len());
        self.filter.get(word).is_some_and(|word| word & bits == bits)
    }

    /// The merge of two tokens that may merge.
    #[inline(always)]
    pub(crate) fn due_of(&self, hash: u64, left: u32, right: u32) -> Due {
        match self.slots.get(self.slot(hash, left, right)) {
            Some(&slot) if slot != EMPTY => {
                let rank = slot as u32 & (MOST_RANK - 1);
                Due::new(rank, joint_of(&self.joints, rank))
            }
            _ => Due::NEVER,
        }
    }

    /// The merge of two tokens.
    #[inline(always)]
    pub(crate) fn due(&self, left: u32, right: u32) -> Due {
        let hash = packing::pair(left, right);
        if self.may_merge(hash) { self.due_of(hash, left, right) } else { Due::NEVER }
    }

    /// The slot that has these halves, or the one they would go to.
    #[inline(always)]
    fn slot(&self, hash: u64, left: u32, right: u32) -> usize {
        let (halves, mask) = (halves(left, right), self.slots.len() - 1);
        let mut at = hash as usize & mask;
        while self.slots.get(at).is_some_and(|&slot| slot != EMPTY && slot >> RANK_BITS != halves) {
            at = (at + 1) & mask;
        }
        at
    }
}

/// Slots for so many entries, a power of two: five for four entries or more.
const fn room(entries: usize) -> usize {
    (entries + entries / 4 + 1).next_power_of_two()
}

/// The token that the merge of this rank makes.
#[inline(always)]
fn joint_of(joints: &[u32], rank: u32) -> u32 {
    joints.get(rank as usize).copied().unwrap_or(rank)
}

#[inline(always)]
fn two_bytes(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}

#[inline(always)]
fn halves(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

/// The filter's word for a hash, and the three bits of it.
#[inline(always)]
fn filter_bits(hash: u64, words: usize) -> (usize, u64) {
    let word = ((hash >> 32) * words as u64) >> 32;
    (word as usize, 1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63))
}
