//! Counts tokens without making them: text in pieces, pieces into counts.
//!
//! UTF-8 bytes flow in, a number flows out. Two loops take turns: one finds the ends of a few hundred pieces, 64 bytes
//! at a step where the text is ASCII, the other looks the pieces up. Buffers and the piece cache belong to the
//! [`Counter`]; the module's users keep one per thread.

#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::{
    blocks::{self, BLOCK},
    cache::{LONG, PieceCache, SHORT},
    merge::Scratch,
    pretokenize,
    simd::{Classify, Portable},
    vocabulary,
};

/// Which code sorts bytes; the counts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanner {
    /// The fastest this machine has.
    Auto,
    /// Plain Rust without vector instructions.
    Portable,
}

/// Piece ends found before they are looked up. A block adds at most 64.
const BATCH: usize = 512;
/// Longest token of the vocabulary in bytes, so n bytes are at least n / 128 tokens.
const LONGEST_TOKEN: usize = 128;

/// What counting needs between texts: about 1.3 MB once the cache is full.
pub(crate) struct Counter {
    cache: PieceCache,
    pub(crate) scratch: Scratch,
    pub(crate) ends: Vec<usize>,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self {
            cache: PieceCache::new(),
            scratch: Scratch::default(),
            ends: Vec::with_capacity(BATCH + BLOCK),
        }
    }

    /// Tokens of valid UTF-8 text if they are at most `limit`.
    pub(crate) fn count(&mut self, scanner: Scanner, text: &[u8], limit: usize) -> Option<usize> {
        if text.len() / LONGEST_TOKEN > limit {
            return None;
        }
        let (mut total, mut at) = (0, 0);
        while at < text.len() {
            self.ends.clear();
            find_ends(scanner, text, at, &mut self.ends);
            for &end in &self.ends {
                total += count_piece(&mut self.cache, &mut self.scratch, text, at, end);
                at = end;
            }
            if total > limit {
                return None;
            }
        }
        Some(total)
    }
}

/// Tokens of one piece.
#[inline(always)]
fn count_piece(
    cache: &mut PieceCache,
    scratch: &mut Scratch,
    text: &[u8],
    start: usize,
    end: usize,
) -> usize {
    let mut miss = || count_new(scratch, text.get(start..end).unwrap_or_default());
    match end - start {
        len @ 0..=SHORT => cache.short(text, start, len, miss),
        len @ ..=LONG => cache.long(text, start, len, miss),
        _ => miss(),
    }
}

/// Tokens of a piece that is in no cache.
#[inline(never)]
fn count_new(scratch: &mut Scratch, piece: &[u8]) -> usize {
    if piece.len() <= LONGEST_TOKEN && vocabulary::word(piece).is_some() {
        return 1;
    }
    scratch.merge(piece);
    scratch.tokens.len()
}

/// Appends the ends of the next pieces from `at` on: some, if there is text left, and at most [`BATCH`] and a block's.
pub(crate) fn find_ends(scanner: Scanner, text: &[u8], at: usize, ends: &mut Vec<usize>) {
    #[cfg(target_arch = "x86_64")]
    if let (Scanner::Auto, Some(avx2)) = (scanner, Avx2::detect()) {
        // SAFETY: `detect` saw the features on this machine.
        return unsafe { find_ends_avx2(avx2, text, at, ends) };
    }
    find_ends_with(Portable, text, at, ends);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn find_ends_avx2(avx2: Avx2, text: &[u8], at: usize, ends: &mut Vec<usize>) {
    find_ends_with(avx2, text, at, ends);
}

#[inline(always)]
fn find_ends_with(classify: impl Classify + Copy, text: &[u8], mut at: usize, ends: &mut Vec<usize>) {
    while at < text.len() && ends.len() < BATCH {
        let rest = text.get(at..).unwrap_or_default();
        let mut padded = [0; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            for (place, &byte) in padded.iter_mut().zip(rest) {
                *place = byte;
            }
            &padded
        });
        let masks = classify.masks(block);
        let valid = masks.beyond.trailing_zeros().min(rest.len().min(BLOCK) as u32);
        let mut starts = blocks::starts(block, &masks, valid);
        starts &= starts.wrapping_sub(1);
        let base = at;
        while starts != 0 {
            at = base + starts.trailing_zeros() as usize;
            ends.push(at);
            starts &= starts - 1;
        }
        if valid as usize == rest.len() {
            ends.push(text.len());
            return;
        }
        if at == base || valid < BLOCK as u32 {
            at = find_end_beyond(text, at, ends);
        }
    }
}

/// Appends the ends of one piece that is long or goes beyond ASCII, cut wherever no token can cross.
fn find_end_beyond(text: &[u8], start: usize, ends: &mut Vec<usize>) -> usize {
    let end = pretokenize::piece_end(text, start);
    let piece = text.get(start..end).unwrap_or_default();
    for (offset, window) in piece.windows(3).enumerate() {
        if let &[before, lead, next] = window
            && lead >= 0xe0
            && !vocabulary::bridged(before, lead, next)
        {
            ends.push(start + offset + 1);
        }
    }
    ends.push(end);
    end
}
