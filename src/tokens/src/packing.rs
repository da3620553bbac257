//! Packs ids, lengths and hashes into the words of the tables; shared by the build script that lays the tables
//! out and the code that reads them, so that the widths are written once.

/// Bits of a token id.
pub(crate) const ID_BITS: u32 = 18;
/// Bits of a token's length in bytes.
pub(crate) const LEN_BITS: u32 = 8;
/// The longest token's bytes.
pub(crate) const LONGEST_TOKEN: usize = 128;
/// Bytes of an entry of the splits.
pub(crate) const SPLIT_BYTES: usize = 6;
/// Bits of a trie unit's label, and of the place or id beside it.
pub(crate) const LABEL_BITS: u32 = 8;
pub(crate) const BASE_BITS: u32 = 30 - LABEL_BITS;

const _: () = assert!(LONGEST_TOKEN < 1 << LEN_BITS, "a length fits its bits");
const _: () = assert!(2 * ID_BITS + LEN_BITS <= 8 * SPLIT_BYTES as u32, "two ids and a length fit a split");
const _: () = assert!(3 * ID_BITS + LEN_BITS < u64::BITS, "three ids, a length and a flag fit a word");
const _: () = assert!(ID_BITS <= BASE_BITS, "a unit without a base holds an id");
const _: () = assert!(LEN_BITS <= LABEL_BITS, "a tail's length fits beside its id");

const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// Bit 31 of a unit: a token ends here. Bit 30: nothing follows, and the base is its id. Bit 30 alone: one token
/// follows, and the base is where its tail is.
pub(crate) const TOKEN: u32 = 1 << 31;
pub(crate) const LEAF: u32 = 1 << 30;
/// A byte that is in no UTF-8 text: under it a unit keeps the id of a token that goes on.
pub(crate) const NO_BYTE: u8 = 0xff;

/// The halves in an entry of the splits, whatever bits stand above it.
#[inline(always)]
pub(crate) fn halves(split: u64) -> (u32, u32) {
    ((split & ID_MASK) as u32, (split >> ID_BITS & ID_MASK) as u32)
}

/// The right half's length in an entry of the splits, whatever bits stand above it.
#[inline(always)]
pub(crate) fn right_len(split: u64) -> usize {
    (split >> (2 * ID_BITS) & ((1 << LEN_BITS) - 1)) as usize
}

/// Odd constants with no structure (digits of pi), so that zero bytes still mix.
const MIX: [u64; 2] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345];

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

/// The filter's word for a hash, of a power of two, and the two bits of it.
#[inline(always)]
pub(crate) fn filter(hash: u64, words: usize) -> (usize, u64) {
    (hash as usize & (words - 1), 1 << (hash >> 20 & 63) | 1 << (hash >> 26 & 63))
}

/// Bytes a character can end with, those a character of three bytes or more can begin with, and its second bytes.
const LAST_BYTES: usize = 0xc0;
const LEADS: usize = 0xf5 - 0xe0;
const SECOND_BYTES: usize = 64;

/// The bit of a boundary between two characters: the last byte of the first, and the first two of the second, which has
/// three or more. None where it is not one of valid UTF-8.
#[inline(always)]
pub(crate) fn bridge(before: u8, lead: u8, next: u8) -> Option<usize> {
    let (before, lead) = (usize::from(before), usize::from(lead).wrapping_sub(0xe0));
    (before < LAST_BYTES && lead < LEADS)
        .then_some((before * LEADS + lead) * SECOND_BYTES + usize::from(next & 63))
}

/// The bit of each boundary that some token runs across. Where it is clear, text can be cut in two without changing its
/// tokens.
pub(crate) fn bridges<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bits = vec![0; LAST_BYTES * LEADS * SECOND_BYTES / 8];
    let mut set = |before: u8, lead: u8, next: u8| {
        if let Some(at) = bridge(before, lead, next)
            && let Some(byte) = bits.get_mut(at >> 3)
        {
            *byte |= 1 << (at & 7);
        }
    };
    for token in tokens {
        for pair in token.windows(2).enumerate() {
            let (at, &[before, lead]) = pair else { continue };
            if lead < 0xe0 {
                continue;
            }
            match token.get(at + 2) {
                Some(&next) => set(before, lead, next),
                None => (0x80..=0xbf).for_each(|next| set(before, lead, next)),
            }
        }
    }
    bits
}
