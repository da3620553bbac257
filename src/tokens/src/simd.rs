//! Classifies the 64 bytes of a block, in portable code and with AVX2.
//!
//! Both give the same masks; tests compare them. The caller chooses at run time.

use super::blocks::{BLOCK, Masks};

/// Classifies a block's bytes.
pub(crate) trait Classify {
    /// The masks of a block.
    fn masks(self, block: &[u8; BLOCK]) -> Masks;

    /// One bit per byte among the `count` ASCII characters from `low` on.
    fn range(self, block: &[u8; BLOCK], low: u8, count: u8) -> u64;
}

/// Eight bytes at a time in a general register; right on every machine.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// High bit of each byte (all below 128) that lies between `low` and `high`.
#[inline(always)]
fn between(bytes: u64, low: u8, high: u8) -> u64 {
    let at_least = (bytes | HIGH) - ONES * u64::from(low);
    let at_most = ONES * u64::from(high | 0x80) - bytes;
    at_least & at_most & HIGH
}

/// The high bits of eight bytes, gathered into the low eight bits.
#[inline(always)]
fn gather(high_bits: u64) -> u64 {
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

impl Classify for Portable {
    #[inline(always)]
    fn masks(self, block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks::default();
        for (index, lane) in block.as_chunks::<8>().0.iter().enumerate() {
            let bytes = u64::from_le_bytes(*lane);
            let ascii = !bytes & HIGH;
            let low = bytes & !HIGH;
            let newline = between(low, b'\n', b'\n') | between(low, b'\r', b'\r');
            let put = |high_bits: u64| gather(high_bits & ascii) << (index * 8);
            masks.letter |= put(between(low | (ONES * 0x20), b'a', b'z'));
            masks.digit |= put(between(low, b'0', b'9'));
            masks.newline |= put(newline);
            masks.space |= put(between(low, b' ', b' '));
            masks.tab |= put(between(low, b'\t', b'\r') & !newline);
            masks.quote |= put(between(low, b'\'', b'\''));
            masks.beyond |= gather(bytes & HIGH) << (index * 8);
        }
        masks
    }

    #[inline(always)]
    fn range(self, block: &[u8; BLOCK], low: u8, count: u8) -> u64 {
        let lanes = block.as_chunks::<8>().0.iter().enumerate();
        lanes.fold(0, |bits, (index, lane)| {
            let bytes = u64::from_le_bytes(*lane);
            bits | gather(between(bytes & !HIGH, low, low + count - 1) & !bytes & HIGH) << (index * 8)
        })
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Avx2;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi8, _mm256_andnot_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    };

    use super::{BLOCK, Classify, Masks};

    /// 32 bytes at a time; exists only where the machine has AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        /// The proof that this machine has AVX2 and the bit instructions that came with it: all that `ends` enables.
        #[inline(always)]
        pub(crate) fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt"))
            .then_some(Self(()))
        }
    }

    impl Classify for Avx2 {
        #[inline(always)]
        fn masks(self, block: &[u8; BLOCK]) -> Masks {
            // SAFETY: an `Avx2` is only made by `detect`, which saw the feature.
            unsafe { masks(block) }
        }

        #[inline(always)]
        fn range(self, block: &[u8; BLOCK], low: u8, count: u8) -> u64 {
            // SAFETY: an `Avx2` is only made by `detect`, which saw the feature.
            unsafe { range_mask(block, low, count) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn range_mask(block: &[u8; BLOCK], low: u8, count: u8) -> u64 {
        let [first, last] = halves(block)
            .map(|half| u64::from(_mm256_movemask_epi8(range(half, low, count)).cast_unsigned()));
        first | last << 32
    }

    /// The two halves of a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8; BLOCK]) -> [__m256i; 2] {
        [block.first_chunk::<32>(), block.last_chunk::<32>()].map(|half| match half {
            // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
            Some(half) => unsafe { _mm256_loadu_si256(half.as_ptr().cast()) },
            None => _mm256_set1_epi8(0),
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn masks(block: &[u8; BLOCK]) -> Masks {
        let [low, high] = halves(block);
        let [low, high] = [half_masks(low), half_masks(high)];
        let join = |pick: fn(&[u32; 7]) -> u32| u64::from(pick(&low)) | u64::from(pick(&high)) << 32;
        Masks {
            letter: join(|m| m[0]),
            digit: join(|m| m[1]),
            newline: join(|m| m[2]),
            space: join(|m| m[3]),
            tab: join(|m| m[4]),
            quote: join(|m| m[5]),
            beyond: join(|m| m[6]),
        }
    }

    /// Bits of the bytes from `low` on, `count` of them: shifted so that they are the lowest signed values.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn range(bytes: __m256i, low: u8, count: u8) -> __m256i {
        let shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8(0x80u8.wrapping_sub(low).cast_signed()));
        _mm256_cmpgt_epi8(_mm256_set1_epi8((0x80 + count).cast_signed()), shifted)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half_masks(bytes: __m256i) -> [u32; 7] {
        let equal = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()));
        let bits = |mask: __m256i| _mm256_movemask_epi8(mask).cast_unsigned();
        let newline = _mm256_or_si256(equal(b'\n'), equal(b'\r'));
        [
            bits(range(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', 26)),
            bits(range(bytes, b'0', 10)),
            bits(newline),
            bits(equal(b' ')),
            bits(_mm256_andnot_si256(newline, range(bytes, b'\t', 5))),
            bits(equal(b'\'')),
            bits(bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(block: &[u8; BLOCK]) -> Masks {
        let mask = |of: fn(u8) -> bool| {
            block.iter().enumerate().fold(0, |bits, (at, &byte)| bits | u64::from(of(byte)) << at)
        };
        Masks {
            letter: mask(|byte| byte.is_ascii_alphabetic()),
            digit: mask(|byte| byte.is_ascii_digit()),
            newline: mask(|byte| matches!(byte, b'\r' | b'\n')),
            space: mask(|byte| byte == b' '),
            tab: mask(|byte| matches!(byte, b'\t' | 0x0b | 0x0c)),
            quote: mask(|byte| byte == b'\''),
            beyond: mask(|byte| byte >= 0x80),
        }
    }

    #[test]
    fn every_byte_is_sorted_alike_at_every_place() {
        for byte in 0..=255u8 {
            for at in 0..BLOCK {
                let mut block = [byte.wrapping_mul(31).wrapping_add(at as u8); BLOCK];
                block[at] = byte;
                assert_eq!(Portable.masks(&block), by_hand(&block), "portable, byte {byte} at {at}");
                #[cfg(target_arch = "x86_64")]
                if let Some(avx2) = Avx2::detect() {
                    assert_eq!(avx2.masks(&block), by_hand(&block), "AVX2, byte {byte} at {at}");
                    assert_eq!(
                        avx2.range(&block, b'A', 26),
                        Portable.range(&block, b'A', 26),
                        "AVX2, {byte}"
                    );
                }
                let is_upper =
                    |bits, (at, byte): (usize, &u8)| bits | u64::from(byte.is_ascii_uppercase()) << at;
                let upper = block.iter().enumerate().fold(0, is_upper);
                assert_eq!(Portable.range(&block, b'A', 26), upper, "portable, byte {byte} at {at}");
            }
        }
    }
}
