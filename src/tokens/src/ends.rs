//! Finds the ends of pieces, a few hundred at a time: 64 bytes at a step in ASCII text, one piece at a time beyond. Detects
//! vector instructions at run time.

#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::{
    blocks::BLOCK,
    packing,
    pattern::{Block, Pattern, Pretokenizer, by_hand},
    simd::{Classify, Portable},
};

/// Piece ends found at once. A block adds at most 64.
const BATCH: usize = 512;
/// Places written at once, needed or not, which needs no branch.
const GROUP: usize = 8;

/// A buffer of piece ends. A long CJK piece may grow it; the next batch shrinks it again.
pub(crate) struct Ends {
    places: Vec<usize>,
    count: usize,
}

impl Ends {
    pub(crate) fn new() -> Self {
        Self { places: vec![0; BATCH + BLOCK], count: 0 }
    }

    /// The ends found last.
    #[inline(always)]
    pub(crate) fn found(&self) -> &[usize] {
        self.places.get(..self.count).unwrap_or_default()
    }

    /// Finds the ends of the next pieces from `at` on: at least one before the end of the text. Cuts pieces beyond ASCII
    /// into parts.
    #[inline(never)]
    pub(crate) fn find(&mut self, pattern: Pattern, bridges: &[u8], text: &[u8], at: usize) {
        self.count = 0;
        if self.places.len() > BATCH + BLOCK {
            self.places.truncate(BATCH + BLOCK);
            self.places.shrink_to_fit();
        }
        by_hand!(
            pattern,
            Known => self.find_as::<Known>(bridges, text, at),
            stages => stages.find(text, at, |end| {
                self.push(end);
                self.count < BATCH
            })
        );
    }

    #[inline(always)]
    fn find_as<P: Pretokenizer>(&mut self, bridges: &[u8], text: &[u8], at: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = Avx2::detect() {
            // SAFETY: `detect` saw the features on this machine.
            return unsafe { find_avx2::<P>(self, avx2, bridges, text, at) };
        }
        find_with::<P>(self, Portable, bridges, text, at);
    }

    #[inline(always)]
    fn push(&mut self, end: usize) {
        if self.count == self.places.len() {
            self.places.resize(self.count * 2, 0);
        }
        if let Some(place) = self.places.get_mut(self.count) {
            *place = end;
            self.count += 1;
        }
    }

    /// Appends `base` plus each set bit's number.
    #[inline(always)]
    fn push_bits(&mut self, base: usize, mut bits: u64) {
        let count = bits.count_ones() as usize;
        if let Some(room) = self.places.get_mut(self.count..).and_then(|rest| rest.first_chunk_mut::<BLOCK>())
        {
            let (groups, _) = room.as_chunks_mut::<GROUP>();
            for (index, group) in groups.iter_mut().enumerate() {
                if index >= 2 && index * GROUP >= count {
                    break;
                }
                for place in group {
                    *place = base + bits.trailing_zeros() as usize;
                    bits &= bits.wrapping_sub(1);
                }
            }
            self.count += count;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn find_avx2<P: Pretokenizer>(ends: &mut Ends, avx2: Avx2, bridges: &[u8], text: &[u8], at: usize) {
    find_with::<P>(ends, avx2, bridges, text, at);
}

#[inline(always)]
fn find_with<P: Pretokenizer>(
    ends: &mut Ends,
    classify: impl Classify + Copy,
    bridges: &[u8],
    text: &[u8],
    mut at: usize,
) {
    while at < text.len() && ends.count < BATCH {
        let rest = text.get(at..).unwrap_or_default();
        let mut padded = [0; BLOCK];
        let bytes = rest.first_chunk().unwrap_or_else(|| {
            for (place, &byte) in padded.iter_mut().zip(rest) {
                *place = byte;
            }
            &padded
        });
        let masks = classify.masks(bytes);
        let valid = P::beyond(classify, bytes, &masks).trailing_zeros().min(rest.len().min(BLOCK) as u32);
        let is_end = valid as usize == rest.len();
        let starts = P::starts(classify, &Block { bytes, masks, valid, is_end }) & !1;
        ends.push_bits(at, starts);
        if is_end {
            ends.push(text.len());
            return;
        }
        if starts != 0 {
            at += 63 - starts.leading_zeros() as usize;
        }
        if starts == 0 || valid < BLOCK as u32 {
            at = find_beyond::<P>(ends, bridges, text, at);
        }
    }
}

/// Appends the ends of one piece that is long or goes beyond ASCII, or of its parts.
fn find_beyond<P: Pretokenizer>(ends: &mut Ends, bridges: &[u8], text: &[u8], start: usize) -> usize {
    let end = P::piece_end(text, start);
    cut(bridges, text.get(start..end).unwrap_or_default(), |part_end| ends.push(start + part_end));
    end
}

/// Cuts a piece at each boundary that no token crosses and hands over the end of each part, which has the same tokens alone.
#[inline(always)]
fn cut(bridges: &[u8], piece: &[u8], mut part: impl FnMut(usize)) {
    let (mut at, mut before) = (0, 0);
    while let Some((character, len)) = packing::character_at(piece, at) {
        if at > 0 && character as u8 >= 0xe0 && !packing::is_bridged(bridges, before, character) {
            part(at);
        }
        (at, before) = (at + len, character);
    }
    part(at);
}
