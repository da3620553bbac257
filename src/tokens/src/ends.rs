//! Finds the ends of pieces, a few hundred at a time: 64 bytes at a step in ASCII text, one piece at a time beyond. Detects
//! vector instructions at run time.

#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::{
    blocks::BLOCK,
    packing,
    pattern::{
        Block, Cl100k, DeepSeek, Gpt2, Kimi, Llama3, O200k, Pattern, Pretokenizer, Qwen2, Qwen35, Tekken,
    },
    simd::{Classify, Portable},
};

/// Piece ends found at once. A block adds at most 64.
const BATCH: usize = 512;

/// A buffer of piece ends. A long CJK piece may grow it; the next batch shrinks it again.
#[derive(Default)]
pub(crate) struct Ends(Vec<usize>);

impl Ends {
    /// The ends found last.
    #[inline(always)]
    pub(crate) fn found(&self) -> &[usize] {
        &self.0
    }

    /// Finds the ends of the next pieces from `at` on: at least one before the end of the text. Cuts pieces beyond ASCII
    /// into parts.
    #[inline(never)]
    pub(crate) fn find(&mut self, pattern: Pattern, bridges: &[u8], text: &[u8], at: usize) {
        self.0.clear();
        self.0.shrink_to(BATCH + BLOCK);
        self.0.reserve(BATCH + BLOCK);
        match pattern {
            Pattern::Cl100k => self.find_as::<Cl100k>(bridges, text, at),
            Pattern::Llama3 => self.find_as::<Llama3>(bridges, text, at),
            Pattern::Qwen2 => self.find_as::<Qwen2>(bridges, text, at),
            Pattern::Qwen35 => self.find_as::<Qwen35>(bridges, text, at),
            Pattern::O200k => self.find_as::<O200k>(bridges, text, at),
            Pattern::Tekken => self.find_as::<Tekken>(bridges, text, at),
            Pattern::Kimi => self.find_as::<Kimi>(bridges, text, at),
            Pattern::DeepSeek => self.find_as::<DeepSeek>(bridges, text, at),
            Pattern::Gpt2 => self.find_as::<Gpt2>(bridges, text, at),
            Pattern::Regex(stages) => stages.find(text, at, |end| {
                self.0.push(end);
                self.0.len() < BATCH
            }),
        }
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

    /// Appends `base` plus each set bit's number.
    #[inline(always)]
    fn push_bits(&mut self, base: usize, mut bits: u64) {
        self.0.extend((0..bits.count_ones()).map(|_| {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
            base + bit
        }));
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
    while at < text.len() && ends.0.len() < BATCH {
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
            ends.0.push(text.len());
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
    cut(bridges, text.get(start..end).unwrap_or_default(), |part_end| ends.0.push(start + part_end));
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
