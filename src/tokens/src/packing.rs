//! Packs ids, lengths and hashes into the words of the tables. The build script and the code that reads the tables share it,
//! so that the widths are written once.

use std::collections::HashMap;

/// Bits of a token id.
pub(crate) const ID_BITS: u32 = 18;
/// The longest token's bytes.
pub(crate) const LONGEST_TOKEN: usize = 128;
/// Bytes of an entry of the splits.
pub(crate) const SPLIT_BYTES: usize = 5;
const _: () = assert!(2 * ID_BITS <= 8 * SPLIT_BYTES as u32, "two ids fit a split");

const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// The halves in an entry of the splits, whatever bits stand above it.
#[inline(always)]
pub(crate) fn halves(split: u64) -> (u32, u32) {
    ((split & ID_MASK) as u32, (split >> ID_BITS & ID_MASK) as u32)
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

/// The layout of `bridges`: for each two first bytes of a character the number of a row, then the rows. A row has a bit for
/// each last byte of the character before. Most rows are alike.
const ROW_BYTES: usize = LAST_BYTES / 8;
const NUMBER_BYTES: usize = 2;
const ROWS_FROM: usize = LEADS * SECOND_BYTES * NUMBER_BYTES;

/// Returns `false` if no token runs across the boundary between two characters, where text can be cut without changing its
/// tokens. `before` is the last byte of the first, `lead` (E0 or above) and `next` are the first two of the second.
#[inline(always)]
pub(crate) fn is_bridged(bridges: &[u8], before: u8, lead: u8, next: u8) -> bool {
    let number = beginning(lead, next).and_then(|at| bridges.get(at * NUMBER_BYTES..)?.first_chunk());
    let Some(&number) = number.filter(|_| usize::from(before) < LAST_BYTES) else { return true };
    let row = ROWS_FROM + usize::from(u16::from_le_bytes(number)) * ROW_BYTES;
    bridges.get(row + usize::from(before >> 3)).is_none_or(|byte| byte >> (before & 7) & 1 == 1)
}

/// The table of boundaries that some token runs across, for [`is_bridged`].
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
