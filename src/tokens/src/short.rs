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

use super::{packing, pairs::Pairs};

/// Longest piece in bytes.
pub(crate) const SHORT: usize = 32;
/// Most pieces have no more bytes, and smaller arrays are sooner cleared.
const SHORTER: usize = 16;
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
        self.0 as usize & (SHORT - 1)
    }

    #[inline(always)]
    pub(crate) fn joint(self) -> u32 {
        (self.0 >> PLACE_BITS) as u32 & NO_TOKEN
    }
}

/// The tokens of a piece.
pub(crate) struct Parts<const ROOM: usize> {
    ids: [u32; ROOM],
    live: u64,
}

impl<const ROOM: usize> Parts<ROOM> {
    /// The place and the id of each token, from left to right.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = (usize, u32)> {
        (0..).zip(self.ids).filter(|&(place, _)| self.live >> place & 1 == 1)
    }
}

/// The number of tokens of a piece of at most [`SHORT`] bytes.
#[inline(never)]
pub(crate) fn count(pairs: &Pairs, piece: &[u8]) -> usize {
    let live = match piece.len() {
        ..=SHORTER => merge_in::<SHORTER>(pairs, piece).live,
        _ => merge(pairs, piece).live,
    };
    live.count_ones() as usize
}

/// Merges a piece of at most [`SHORT`] bytes.
#[inline(never)]
pub(crate) fn merge(pairs: &Pairs, piece: &[u8]) -> Parts<SHORT> {
    merge_in(pairs, piece)
}

/// Merges a piece of at most `ROOM` bytes, a power of two.
#[inline(always)]
fn merge_in<const ROOM: usize>(pairs: &Pairs, piece: &[u8]) -> Parts<ROOM> {
    let (mut ids, mut due) = ([0; ROOM], [Due::NEVER; ROOM]);
    let (len, mask) = (piece.len().min(ROOM), ROOM - 1);
    for (place, &byte) in piece.iter().take(ROOM).enumerate() {
        ids[place & mask] = pairs.byte(byte);
    }
    for (place, two) in piece.windows(2).take(mask).enumerate() {
        due[place & mask] = pairs.due_of_bytes(two[0], two[1]).at(place);
    }
    let mut live: u64 = (1 << len) - 1;
    loop {
        let next = least(&due, len);
        if next.joint() == NO_TOKEN {
            return Parts { ids, live };
        }
        let (place, joint) = (next.place() & mask, next.joint());
        // Bit 0 stays set, so there always is a part before, if only this one itself.
        let behind = live & !((2 << place) - 1);
        let gone = behind.trailing_zeros() as usize & mask;
        let behind = behind & behind.wrapping_sub(1);
        let after = behind.trailing_zeros() as usize & mask;
        let before = (live & ((1 << place) - 1) | 1).ilog2() as usize & mask;
        live &= !(1 << gone);
        ids[place] = joint;
        for place in [gone, before, place] {
            due[place] = Due::NEVER;
        }
        let (left, right) = ((ids[before], joint), (joint, ids[after]));
        let hashes = (packing::pair(left.0, left.1), packing::pair(right.0, right.1));
        let merges_left = place != 0 && pairs.may_merge(hashes.0);
        let merges_right = behind != 0 && pairs.may_merge(hashes.1);
        // Mostly neither does, and one branch is foreseen better than two.
        if merges_left | merges_right {
            if merges_left {
                due[before] = pairs.due_of(hashes.0, left.0, left.1).at(before);
            }
            if merges_right {
                due[place] = pairs.due_of(hashes.1, right.0, right.1).at(place);
            }
        }
    }
}

/// The least of the first `len`, four at a time, as each comparison waits for the one before.
#[inline(always)]
fn least<const ROOM: usize>(due: &[Due; ROOM], len: usize) -> Due {
    let mut least = [Due::NEVER; 4];
    for at in (0..len).step_by(4) {
        for (lane, least) in least.iter_mut().enumerate() {
            *least = due[(at + lane) & (ROOM - 1)].min(*least);
        }
    }
    let [a, b, c, d] = least;
    a.min(b).min(c.min(d))
}
