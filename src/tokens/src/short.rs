//! Encodes a short piece by merging: the neighbours of the least rank first, the leftmost of these before others.
//!
//! Everything lies in two arrays on the stack, a part at the place of its first byte. `refixed`, as `ed` is about to be
//! merged:
//!
//! ```text
//! place    0    1    2    3    4    5    6
//! ids      re   .    fix  .    .    e    d
//! live     1    0    1    0    0    1    1
//! due      -    -    -    -    -    ed   -     with the part behind: rank, joint token and place in one word
//! ```

#![expect(
    clippy::indexing_slicing,
    reason = "a place is below the arrays' length, of which the mask tells the compiler"
)]

use super::packing;

/// Longest piece in bytes.
pub(crate) const SHORT: usize = 32;
const PLACE: usize = SHORT - 1;
const PLACE_BITS: u32 = SHORT.trailing_zeros();
/// Bits of a token, and a bit more so that there can be [`NO_TOKEN`].
const JOINT_BITS: u32 = 22;
pub(crate) const NO_TOKEN: u32 = (1 << JOINT_BITS) - 1;

/// A merge of two neighbours, the least of which comes first; none if they make [`NO_TOKEN`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due(u64);

impl Due {
    pub(crate) const NEVER: Self = Self(u64::MAX);

    #[inline(always)]
    pub(crate) fn new(rank: u32, joint: u32) -> Self {
        Self(u64::from(rank) << (JOINT_BITS + PLACE_BITS) | u64::from(joint) << PLACE_BITS)
    }

    /// `NEVER` has every bit of a place already.
    #[inline(always)]
    fn at(self, place: usize) -> Self {
        Self(self.0 | place as u64)
    }

    #[inline(always)]
    fn place(self) -> usize {
        self.0 as usize & PLACE
    }

    #[inline(always)]
    fn joint(self) -> u32 {
        (self.0 >> PLACE_BITS) as u32 & NO_TOKEN
    }
}

/// The merges of a vocabulary.
pub(crate) trait Merges {
    /// The token of a byte, if it has one.
    fn byte(&self, byte: u8) -> Option<u32>;
    /// The merge of two tokens of one byte each.
    fn due_of_bytes(&self, left: u32, right: u32) -> Due;
    /// Returns `false` only if two tokens never merge. `hash` is their `packing::pair`.
    fn may_merge(&self, hash: u64) -> bool;
    fn due(&self, hash: u64, left: u32, right: u32) -> Due;
}

/// The tokens of a piece.
pub(crate) struct Parts {
    ids: [u32; SHORT],
    live: u64,
}

impl Parts {
    /// From left to right.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        (0..).zip(self.ids).filter(|&(place, _)| self.live >> place & 1 == 1).map(|(_, id): (u32, _)| id)
    }
}

/// The number of tokens of a piece of at most [`SHORT`] bytes.
#[inline(never)]
pub(crate) fn count<M: Merges>(merges: &M, piece: &[u8]) -> usize {
    merge(merges, piece).live.count_ones() as usize
}

/// Merges a piece of at most [`SHORT`] bytes.
#[inline(always)]
pub(crate) fn merge<M: Merges>(merges: &M, piece: &[u8]) -> Parts {
    let (mut ids, mut due) = ([0; SHORT], [Due::NEVER; SHORT]);
    let mut len = 0;
    for id in piece.iter().take(SHORT).filter_map(|&byte| merges.byte(byte)) {
        ids[len & PLACE] = id;
        len += 1;
    }
    for place in 1..len {
        let before = place - 1;
        due[before & PLACE] = merges.due_of_bytes(ids[before & PLACE], ids[place & PLACE]).at(before);
    }
    let mut live: u64 = (1 << len) - 1;
    loop {
        let next = least(&due, len);
        if next.joint() == NO_TOKEN {
            return Parts { ids, live };
        }
        let (place, joint) = (next.place(), next.joint());
        // Bit 0 stays set, so there always is a part before, if only this one itself.
        let behind = live & !((2 << place) - 1);
        let gone = behind.trailing_zeros() as usize & PLACE;
        let behind = behind & behind.wrapping_sub(1);
        let after = behind.trailing_zeros() as usize & PLACE;
        let before = (live & ((1 << place) - 1) | 1).ilog2() as usize & PLACE;
        live &= !(1 << gone);
        ids[place] = joint;
        for place in [gone, before, place] {
            due[place] = Due::NEVER;
        }
        let (left, right) = ((ids[before], joint), (joint, ids[after]));
        let hashes = (packing::pair(left.0, left.1), packing::pair(right.0, right.1));
        let merges_left = place != 0 && merges.may_merge(hashes.0);
        let merges_right = behind != 0 && merges.may_merge(hashes.1);
        // Mostly neither does, and one branch is foreseen better than two.
        if merges_left | merges_right {
            if merges_left {
                due[before] = merges.due(hashes.0, left.0, left.1).at(before);
            }
            if merges_right {
                due[place] = merges.due(hashes.1, right.0, right.1).at(place);
            }
        }
    }
}

/// The least of the first `len`, four at a time, as each comparison waits for the one before.
#[inline(always)]
fn least(due: &[Due; SHORT], len: usize) -> Due {
    let mut least = [Due::NEVER; 4];
    for at in (0..len).step_by(4) {
        for (lane, least) in least.iter_mut().enumerate() {
            *least = due[(at + lane) & PLACE].min(*least);
        }
    }
    let [a, b, c, d] = least;
    a.min(b).min(c.min(d))
}
