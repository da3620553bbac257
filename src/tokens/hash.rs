//! The hash of token pairs, shared by the build script that lays their table out and the code that reads it.
//!
//! A pair of token ids goes in, 64 well-mixed bits come out; [`slot`] turns those and a bucket's pilot into a place
//! in a perfect-hash table. The cache and the spans borrow [`fold`].

/// Odd constants with no structure (digits of pi), so that zero bytes still mix.
const MIX: [u64; 3] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1];

/// Both halves of the 128-bit product: every input bit reaches every output bit in one multiplication.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ MIX[0]) * u128::from(b ^ MIX[1]);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hash of a pair of token ids.
#[inline(always)]
pub(crate) fn pair(left: u32, right: u32) -> u64 {
    fold(u64::from(left) << 32 | u64::from(right), 0)
}

/// Which of `buckets` buckets a hash falls into.
#[inline(always)]
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// Where, of `slots` places, a hash lands under its bucket's pilot.
#[inline(always)]
pub(crate) fn slot(hash: u64, pilot: u16, slots: usize) -> usize {
    let moved = (hash ^ u64::from(pilot).wrapping_mul(MIX[2])).wrapping_mul(MIX[1] | 1);
    (((moved >> 32) * slots as u64) >> 32) as usize
}

/// Bits of the hash kept beside an entry, so that most misses are known without touching the entry's own data.
pub(crate) const FINGERPRINT_BITS: u32 = 15;

/// An id beside part of its hash; ids are stored plus one, so that no entry is zero.
#[inline(always)]
pub(crate) fn marked(id: u32, hash: u64) -> u32 {
    (id + 1) << FINGERPRINT_BITS | hash as u32 & ((1 << FINGERPRINT_BITS) - 1)
}

/// Words of 64 bits in the filter of pairs: 128 KB, which stays in a core's own cache.
pub(crate) const FILTER_WORDS: usize = 1 << 14;

/// The filter's word for a hash, and the two bits of it.
#[inline(always)]
pub(crate) fn filter(hash: u64) -> (usize, u64) {
    (hash as usize & (FILTER_WORDS - 1), 1 << (hash >> 14 & 63) | 1 << (hash >> 20 & 63))
}
