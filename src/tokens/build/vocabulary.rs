//! Turns a vocabulary into the tables the crate reads in place, described by `src/vocabulary.rs`.

use std::collections::HashMap;

use crate::packing;

/// Every table, as name and contents. `tokens` are bytes by id, empty where there is no token.
pub(crate) fn tables(tokens: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    assert!(tokens.len() < 1 << packing::ID_BITS, "an id fits its bits");
    let known = || tokens.iter().zip(0..).filter(|(bytes, _)| !bytes.is_empty());
    assert!(
        known().all(|(bytes, _)| bytes.len() <= packing::LONGEST_TOKEN),
        "no token is longer than a count assumes"
    );
    let ids: HashMap<&[u8], u32> = known().map(|(bytes, id)| (bytes.as_slice(), id)).collect();
    let splits = tokens.iter().zip(0..).flat_map(|(bytes, id)| {
        let (left, right) = halves(bytes, id, &ids);
        let word = u64::from(left) | u64::from(right) << packing::ID_BITS;
        word.to_le_bytes().into_iter().take(packing::SPLIT_BYTES)
    });
    let mut splits: Vec<u8> = splits.collect();
    // An entry is read eight bytes at a time.
    splits.extend([0; 8]);
    vec![
        ("splits", splits),
        ("single_bytes", (0..256).map(|id| tokens[id][0]).collect()),
        ("bridges", packing::bridges(tokens.iter().map(Vec::as_slice))),
    ]
}

/// The last merge that makes a token: what byte-pair encoding leaves when only earlier ranks may merge.
/// A single byte is its own two halves, and so is an id that is no token's.
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
