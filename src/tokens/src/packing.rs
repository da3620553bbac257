//! Packs ids and hashes into the words of the tables. The build script and the code that reads the tables share it,
//! so that the widths are written once.

use std::collections::HashSet;

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

/// Bits of `bridges` for each boundary in them: of those that no token crosses, at most one in some sixteen is kept whole.
const BITS_PER_BRIDGE: usize = 32;

/// The bytes of a character, the first lowest.
pub(crate) type Character = u32;

/// The character that starts at a place, and its bytes; `None` if the text ends within it.
#[inline(always)]
pub(crate) fn character_at(text: &[u8], at: usize) -> Option<(Character, usize)> {
    let rest = text.get(at..)?;
    let len = match *rest.first()? {
        ..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    let character = match rest.first_chunk() {
        Some(&bytes) => u32::from_le_bytes(bytes) & u32::MAX >> (32 - 8 * len),
        None => rest.get(..len)?.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
    };
    Some((character, len))
}

/// Returns `false` if no token runs across the boundary between two characters, where text can be cut without changing its
/// tokens. The second begins with E0 or above.
#[inline(always)]
pub(crate) fn is_bridged(bridges: &[u8], before: Character, after: Character) -> bool {
    let is_set = |hash: u64| {
        let (byte, bit) = bridge(hash, bridges.len());
        bridges.get(byte).is_none_or(|byte| byte & bit != 0)
    };
    // The last byte of a character is its highest.
    let last = (before >> (24u32.saturating_sub(before.leading_zeros() & !7))) as u8;
    is_set(pair(before, after)) | is_set(broken(last, after as u8, (after >> 8) as u8))
}

/// Hash of a boundary in a token that has only a part of a character beside it: the bytes around it, which are no character.
#[inline(always)]
fn broken(last: u8, lead: u8, next: u8) -> u64 {
    pair(u32::MAX, u32::from_le_bytes([last, lead, next, 0]))
}

/// The byte and the bit of a hash in `bridges` of this length, a power of two.
#[inline(always)]
fn bridge(hash: u64, len: usize) -> (usize, u8) {
    ((hash >> 3) as usize & len.wrapping_sub(1), 1 << (hash & 7))
}

/// The boundaries that some token runs across, a bit for each hash, for [`is_bridged`].
pub(crate) fn bridges<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut hashes = HashSet::new();
    for token in tokens {
        for (at, &lead) in token.iter().enumerate().skip(1).filter(|&(_, &lead)| lead >= 0xe0) {
            let (before, rest) = token.split_at(at);
            let last = before.last().copied().unwrap_or(0);
            let start = before.iter().rposition(|byte| byte & 0xc0 != 0x80);
            let whole =
                start.and_then(|start| character_at(before, start).filter(|&(_, len)| start + len == at));
            match (whole, character_at(rest, 0), rest.get(1)) {
                (Some((before, _)), Some((after, _)), _) => _ = hashes.insert(pair(before, after)),
                (.., Some(&next)) => _ = hashes.insert(broken(last, lead, next)),
                _ => hashes.extend((0x80..=0xbf).map(|next| broken(last, lead, next))),
            }
        }
    }
    let mut bridges = vec![0; (hashes.len() * BITS_PER_BRIDGE / 8).next_power_of_two()];
    for hash in hashes {
        let (byte, bit) = bridge(hash, bridges.len());
        if let Some(byte) = bridges.get_mut(byte) {
            *byte |= bit;
        }
    }
    bridges
}
