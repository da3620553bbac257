//! Turns tiktoken-rs's cl100k vocabulary into the tables `src/tokens` reads in place.
//!
//! Token bytes come in from the crate; little-endian arrays go out, described by `src/tokens/vocabulary.rs`.

use std::collections::{BTreeMap, HashMap};

use crate::{hash, perfect_hash, trie};

/// Ordinary tokens of cl100k_base, ids 0 to 100 255 without a gap.
pub(crate) const TOKENS: u32 = 100_256;

/// Bytes of every token, by id.
pub(crate) fn read() -> Vec<Vec<u8>> {
    let oracle = tiktoken_rs::cl100k_base().expect("tiktoken-rs carries cl100k_base");
    (0..TOKENS).map(|id| oracle.decode_bytes(&[id]).expect("cl100k_base ids have no gap")).collect()
}

/// Every table, as file name and contents.
pub(crate) fn tables(tokens: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    let ids: HashMap<&[u8], u32> = tokens.iter().zip(0..).map(|(bytes, id)| (bytes.as_slice(), id)).collect();
    let halves: Vec<(u32, u32)> = (0..TOKENS).map(|id| halves(&tokens[id as usize], id, &ids)).collect();
    let splits: Vec<u64> = (0..TOKENS)
        .map(|id| {
            let bytes = &tokens[id as usize];
            let (left, right) = halves[id as usize];
            let shorter =
                (1..bytes.len()).rev().find_map(|len| ids.get(&bytes[..len]).copied()).unwrap_or(id);
            u64::from(left) | u64::from(right) << 17 | u64::from(shorter) << 34 | (bytes.len() as u64) << 51
        })
        .collect();
    let pair_keys: Vec<_> = (0..TOKENS)
        .filter(|&id| tokens[id as usize].len() > 1)
        .map(|id| (hash::pair(halves[id as usize].0, halves[id as usize].1), id))
        .collect();
    let pairs = perfect_hash::build(&pair_keys);
    let pair_of = |id: u32| hash::pair(halves[id as usize].0, halves[id as usize].1);
    let pair_slots = pairs.slots.iter().map(|id| id.map_or(0, |id| hash::marked(id, pair_of(id))));
    let trie = trie::build(&tokens.iter().cloned().zip(0..).collect::<BTreeMap<Vec<u8>, u32>>());
    let single_bytes = (0..256).map(|id| tokens[id][0]).collect();
    vec![
        ("splits.bin", splits.iter().flat_map(|n| n.to_le_bytes()).collect()),
        ("pair_filter.bin", pair_filter(&pair_keys)),
        ("pair_pilots.bin", le16(&pairs.pilots)),
        ("pair_slots.bin", pair_slots.flat_map(u32::to_le_bytes).collect()),
        ("trie_units.bin", le32(&trie.units)),
        ("trie_roots.bin", le32(&trie.roots)),
        ("trie_tails.bin", trie.tails),
        ("single_bytes.bin", single_bytes),
        ("bridges.bin", bridges(tokens)),
    ]
}

/// The last merge that makes a token: what byte-pair encoding leaves when only earlier ranks may merge.
/// A single byte is its own two halves.
fn halves(bytes: &[u8], id: u32, ids: &HashMap<&[u8], u32>) -> (u32, u32) {
    let mut cuts: Vec<usize> = (0..=bytes.len()).collect();
    while cuts.len() > 3 {
        let (_, at) = (1..cuts.len() - 1)
            .filter_map(|at| Some((*ids.get(&bytes[cuts[at - 1]..cuts[at + 1]])?, at)))
            .filter(|&(rank, _)| rank < id)
            .min()
            .expect("every token is reached by merging");
        cuts.remove(at);
    }
    match cuts[..] {
        [_, middle, _] => (ids[&bytes[..middle]], ids[&bytes[middle..]]),
        _ => (id, id),
    }
}

/// Two bits per pair in one of 2^14 words: most pairs that never merge are known from one load.
fn pair_filter(keys: &[(u64, u32)]) -> Vec<u8> {
    let mut words = vec![0u64; hash::FILTER_WORDS];
    for &(hash, _) in keys {
        let (word, bits) = hash::filter(hash);
        words[word] |= bits;
    }
    words.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// One bit per (last byte before, lead byte E0 to FF, its first continuation byte): set if some token runs across such
/// a character boundary. Where it is clear, text can be cut in two without changing its tokens.
fn bridges(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut bits = vec![0u8; 1 << 16];
    let mut set = |before: u8, lead: u8, next: u8| {
        let at = usize::from(before) << 11 | usize::from(lead & 31) << 6 | usize::from(next & 63);
        bits[at >> 3] |= 1 << (at & 7);
    };
    for token in tokens {
        for at in 1..token.len() {
            if token[at] < 0xe0 {
                continue;
            }
            match token.get(at + 1) {
                Some(&next) => set(token[at - 1], token[at], next),
                None => (0x80..=0xbf).for_each(|next| set(token[at - 1], token[at], next)),
            }
        }
    }
    bits
}

fn le16(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn le32(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}
