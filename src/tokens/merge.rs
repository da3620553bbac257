//! Byte-pair encoding of one piece in linear time, without merging.
//!
//! A row of tokens is what merging would have left if and only if each two neighbours are what merging leaves of their
//! joint bytes. So the piece is walked from the left, taking the longest token that is compatible with the one before;
//! where no token fits, the last one is taken back and a shorter one tried. A place once found dead is never tried
//! again, which bounds the work by the piece's length. The row flows out in a caller's buffer.

use super::vocabulary;

/// Buffers a merge needs, kept between pieces.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The tokens of the last piece, left to right.
    pub(crate) tokens: Vec<u32>,
    /// One bit per place: set once no row of tokens through it can be completed.
    dead: Vec<u64>,
}

impl Scratch {
    /// Fills `tokens` with the byte-pair encoding of `piece`.
    pub(crate) fn merge(&mut self, piece: &[u8]) {
        self.tokens.clear();
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        let mut candidate = vocabulary::longest(piece);
        while let Some(mut token) = candidate {
            let last = self.tokens.last().copied();
            let taken = loop {
                let end = at + vocabulary::len(token);
                if !self.is_dead(end) && last.is_none_or(|last| compatible(last, token)) {
                    break Some(end);
                }
                match vocabulary::shorter(token) {
                    Some(shorter) => token = shorter,
                    None => break None,
                }
            };
            if let Some(end) = taken {
                self.tokens.push(token);
                at = end;
                candidate = piece.get(at..).and_then(vocabulary::longest);
            } else {
                self.kill(at);
                candidate = self.tokens.pop();
                at -= candidate.map_or(0, vocabulary::len);
            }
        }
    }

    fn is_dead(&self, at: usize) -> bool {
        self.dead.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn kill(&mut self, at: usize) {
        if let Some(word) = self.dead.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }
}

/// Whether merging the joint bytes of two tokens leaves just these two.
///
/// The merges that face the boundary are undone, the youngest first. Were there ever a merge across the boundary older
/// than all that was undone, merging would have taken it before building these tokens. On a tie the left one merges
/// first, so undoing `right` still forbids a merge of its own rank.
#[inline(always)]
fn compatible(mut left: u32, mut right: u32) -> bool {
    let mut ceiling = u32::MAX;
    loop {
        if vocabulary::merged(left, right).is_some_and(|across| across < ceiling) {
            return false;
        }
        let (inner_left, inner_right) = (vocabulary::halves(left).1, vocabulary::halves(right).0);
        let (left_is_byte, right_is_byte) = (inner_left == left, inner_right == right);
        if left_is_byte && right_is_byte {
            return true;
        }
        if right_is_byte || (!left_is_byte && left > right) {
            ceiling = left;
            left = inner_left;
        } else {
            ceiling = right + 1;
            right = inner_right;
        }
    }
}
