//! Byte-pair encoding of one piece in linear time, without merging.
//!
//! A row of tokens is what merging would have left if and only if each two neighbours are what merging leaves of their
//! joint bytes. So the piece is walked from the left, taking the longest token that is compatible with the one before;
//! where no token fits, the last one is taken back and a shorter one tried. A place once found dead is never tried
//! again, which bounds the work by the piece's length. The row flows out in a caller's buffer.

use super::{
    hash,
    vocabulary::{self, Found},
};

/// Buffers a merge needs, kept between pieces.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The tokens of the last piece, left to right.
    pub(crate) tokens: Vec<u32>,
    /// One bit per place: set once no row of tokens through it can be completed.
    dead: Vec<u64>,
    /// Answers of [`longest_fitting`] for long pieces: both ids and the answer in one word.
    answers: Vec<u64>,
    /// The last long run of one byte, and the longest token in it.
    run: Run,
}

#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
    token: u32,
    len: usize,
}

/// A token this long is worth asking whether it lies in a run of one byte.
const RUN_FROM: usize = 32;

/// Pieces above this length repeat themselves enough that remembered answers pay.
const MEMO_FROM: usize = 256;
/// Remembered answers, 32 KB: a first-level cache's worth.
const ANSWERS: usize = 1 << 12;

impl Scratch {
    /// Fills `tokens` with the byte-pair encoding of `piece`.
    pub(crate) fn encode(&mut self, piece: &[u8]) {
        self.tokens.clear();
        let Some(first) = vocabulary::longest(piece) else { return };
        // Most pieces are one token.
        if first.len == piece.len() {
            self.tokens.push(first.id());
        } else {
            self.walk(piece, first);
        }
    }

    /// The number of tokens in the byte-pair encoding of `piece`.
    #[inline(always)]
    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        match vocabulary::longest(piece) {
            None => 0,
            Some(first) if first.len == piece.len() => 1,
            Some(first) => {
                self.walk(piece, first);
                self.tokens.len()
            }
        }
    }

    /// Fills `tokens` with the encoding of a piece that is no token and starts with `first`.
    fn walk(&mut self, piece: &[u8], first: Found) {
        self.tokens.clear();
        self.dead.clear();
        self.dead.resize(piece.len() / 64 + 1, 0);
        let memo = piece.len() >= MEMO_FROM;
        if memo {
            self.answers.resize(ANSWERS, 0);
        }
        self.run = Run::default();
        let mut at = 0;
        let mut candidate = Some((first.id(), first.len));
        let mut is_longest = false;
        while let Some((mut token, mut len)) = candidate {
            let longest = len;
            let taken = loop {
                let fitting = match self.tokens.last() {
                    Some(&last) if memo => self.recall(last, token),
                    Some(&last) => longest_fitting(last, token, is_longest),
                    None => Some(token),
                };
                let Some(fits) = fitting else { break None };
                // A length that is known already need not be waited for.
                if fits != token {
                    (token, len) = (fits, vocabulary::len(fits));
                }
                let end = at + len;
                if !self.is_dead(end) {
                    break Some(end);
                }
                match vocabulary::shorter(token) {
                    Some(shorter) => (token, len) = (shorter, vocabulary::len(shorter)),
                    None => break None,
                }
            };
            if let Some(end) = taken {
                self.tokens.push(token);
                at = end;
                is_longest = len == longest;
                candidate = if memo {
                    self.longest_at(piece, at)
                } else {
                    piece.get(at..).and_then(vocabulary::longest).map(|found| (found.id(), found.len))
                };
            } else {
                self.kill(at);
                is_longest = false;
                candidate = self.tokens.pop().map(|token| (token, vocabulary::len(token)));
                at -= candidate.map_or(0, |(_, len)| len);
            }
        }
    }

    /// The longest token at a place of a long piece: in a run of one byte it is the same at every place, and finding it
    /// anew would take a hundred steps at each.
    fn longest_at(&mut self, piece: &[u8], at: usize) -> Option<(u32, usize)> {
        let ahead = at..at + vocabulary::LONGEST_TOKEN;
        if self.run.start <= at && ahead.end <= self.run.end {
            return Some((self.run.token, self.run.len));
        }
        let found = vocabulary::longest(piece.get(at..)?)?;
        let token = found.id();
        if found.len >= RUN_FROM
            && let Some(&[first, ref others @ ..]) = piece.get(ahead)
        {
            let differs = |byte: &u8| *byte != first;
            if !others.iter().any(differs) {
                let (before, after) = piece.split_at_checked(at)?;
                self.run = Run {
                    start: before.iter().rposition(differs).map_or(0, |last| last + 1),
                    end: after.iter().position(differs).map_or(piece.len(), |len| at + len),
                    token,
                    len: found.len,
                };
            }
        }
        Some((token, found.len))
    }

    /// [`longest_fitting`], remembered: runs of one character ask the same for every token.
    fn recall(&mut self, last: u32, token: u32) -> Option<u32> {
        const ID_BITS: u32 = 17;
        const NONE: u64 = (1 << ID_BITS) - 1;
        let key = 1 << 63 | (u64::from(last) << ID_BITS | u64::from(token)) << ID_BITS;
        let slot = (hash::pair(last, token) >> 52) as usize;
        let known = self.answers.get(slot).copied().unwrap_or(0);
        if known & !NONE == key {
            return (known & NONE != NONE).then_some((known & NONE) as u32);
        }
        let answer = longest_fitting(last, token, false);
        if let Some(place) = self.answers.get_mut(slot) {
            *place = key | answer.map_or(NONE, u64::from);
        }
        answer
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

/// The longest token that is `token` or a prefix of it and can follow `last`.
#[inline(always)]
fn longest_fitting(last: u32, mut token: u32, is_longest: bool) -> Option<u32> {
    while !compatible(last, token, is_longest) {
        token = vocabulary::shorter(token)?;
    }
    Some(token)
}

/// Whether merging the joint bytes of two tokens leaves just these two.
///
/// The merges that face the boundary are undone, the youngest first. Were there ever a merge across the boundary older
/// than all that was undone, merging would have taken it before building these tokens. On a tie the left one merges
/// first, so undoing `right` still forbids a merge of its own rank.
///
/// `is_longest` says that no longer token stands where `left` does, so a merge of all of it need not be looked for.
#[inline(always)]
fn compatible(mut left: u32, mut right: u32, mut is_longest: bool) -> bool {
    let mut ceiling = u32::MAX;
    loop {
        if !is_longest && vocabulary::merges_below(ceiling, left, right) {
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
            is_longest = false;
        } else {
            ceiling = right + 1;
            right = inner_right;
        }
    }
}
