//! Packs ids, lengths and hashes into the words of the tables. The build script and the code that reads the tables share it,
//! so that the widths are written once.

use std::collections::HashMap;

/// Bits of a token id.
pub(crate) const ID_BITS: u32 = 18;
/// Bits of a token's length in bytes.
pub(crate) const LEN_BITS: u32 = 8;
/// The longest token's bytes.
pub(crate) const LONGEST_TOKEN: usize = 128;
/// Bytes of an entry of the splits.
pub(crate) const SPLIT_BYTES: usize = 5;
/// Bits of a trie unit's label, and of the place or id beside it.
pub(crate) const LABEL_BITS: u32 = 8;
pub(crate) const BASE_BITS: u32 = 30 - LABEL_BITS;
/// Bytes before a tail, which hold its token's id and its length; longer tails are nodes of the trie.
pub(crate) const TAIL_HEAD: usize = 3;
pub(crate) const TAIL_BITS: u32 = 8 * TAIL_HEAD as u32 - ID_BITS;
pub(crate) const LONGEST_TAIL: usize = (1 << TAIL_BITS) - 1;

const _: () = assert!(LONGEST_TOKEN < 1 << LEN_BITS, "a length fits its bits");
const _: () = assert!(2 * ID_BITS <= 8 * SPLIT_BYTES as u32, "two ids fit a split");
const _: () = assert!(3 * ID_BITS + LEN_BITS < u64::BITS, "three ids, a length and a flag fit a word");
const _: () = assert!(ID_BITS <= BASE_BITS, "a unit without a base holds an id");

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

/// The id and the length in what stands before a tail, whatever bits stand above it.
#[inline(always)]
pub(crate) fn tail_of(head: u32) -> (u32, usize) {
    (head >> TAIL_BITS & ID_MASK as u32, head as usize & LONGEST_TAIL)
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

/// Bytes a character can end with, those a character of three bytes or more can begin with, and its second bytes.
const LAST_BYTES: usize = 0xc0;
const LEADS: usize = 0xf5 - 0xe0;
const SECOND_BYTES: usize = 64;

/// Two first bytes of a character of three or more, of which the others have no place.
#[inline(always)]
fn beginning(lead: u8, next: u8) -> Option<usize> {
    let lead = usize::from(lead).wrapping_sub(0xe0);
    (lead < LEADS).then_some(lead * SECOND_BYTES + usize::from(next & 63))
}

/// Of each two first bytes of a character, the number of its row in `bridges`; then the rows: a bit for each last byte of
/// the character before. Most rows are alike.
const ROW_BYTES: usize = LAST_BYTES / 8;
const NUMBER_BYTES: usize = 2;
const ROWS_FROM: usize = LEADS * SECOND_BYTES * NUMBER_BYTES;

/// Whether some token runs across the boundary between two characters: the last byte of the first, and the first two of
/// the second, which has three or more. Where it is not one of valid UTF-8, one may.
#[inline(always)]
pub(crate) fn is_bridged(bridges: &[u8], before: u8, lead: u8, next: u8) -> bool {
    let number = beginning(lead, next).and_then(|at| bridges.get(at * NUMBER_BYTES..)?.first_chunk());
    let Some(&number) = number.filter(|_| usize::from(before) < LAST_BYTES) else { return true };
    let row = ROWS_FROM + usize::from(u16::from_le_bytes(number)) * ROW_BYTES;
    bridges.get(row + usize::from(before >> 3)).is_none_or(|byte| byte >> (before & 7) & 1 == 1)
}

/// The boundaries that some token runs across. Where none does, text can be cut in two without changing its tokens.
pub(crate) fn bridges<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut all = vec![[0u8; ROW_BYTES]; LEADS * SECOND_BYTES];
    let mut set = |before: u8, lead: u8, next: u8| {
        let row = beginning(lead, next).and_then(|at| all.get_mut(at));
        if let Some(byte) = row.and_then(|row| row.get_mut(usize::from(before >> 3))) {
            *byte |= 1 << (before & 7);
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
    let (mut numbers, mut rows, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    for row in all {
        let next = known.len() as u16;
        let number = *known.entry(row).or_insert_with(|| {
            rows.extend(row);
            next
        });
        numbers.extend(number.to_le_bytes());
    }
    numbers.extend(rows);
    numbers
}
