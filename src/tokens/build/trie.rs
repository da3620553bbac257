//! Lays out the vocabulary as a double-array trie, for finding the longest token at a place in one pass.
//!
//! A node is one u32; its child for byte `b` is the unit at `base ^ b`, which is really the child if its label is `b`.
//! No two nodes share a base, so a label cannot be mistaken for another node's.
//! Byte FF is in no UTF-8 text, so `base ^ ff` is free to hold the id of a token that goes on.

use std::collections::BTreeMap;

use crate::packing::{BASE_BITS, LABEL_BITS, LEAF, LONGEST_TAIL, NO_BYTE, TAIL_BITS, TAIL_HEAD, TOKEN};

/// A label no UTF-8 text can ask for, on units that are not children.
const NOT_A_CHILD: u32 = NO_BYTE as u32;
/// Tries after which the search for room gives a block up as full.
const CROWDED: usize = 4;

/// Units of the tree; for each first byte, its node; and the tails.
pub(crate) struct Trie {
    pub(crate) units: Vec<u32>,
    pub(crate) roots: Vec<u32>,
    /// Of each tail its token's id and length in one word, then its bytes. Tokens of low ids, which are the frequent
    /// ones, lie side by side.
    pub(crate) tails: Vec<u8>,
}

/// `tokens` sorted by bytes, with their ids.
pub(crate) fn build(tokens: &BTreeMap<Vec<u8>, u32>) -> Trie {
    assert!(tokens.keys().all(|bytes| !bytes[1..].contains(&NO_BYTE)), "no child has that label");
    let sorted: Vec<(&[u8], u32)> = tokens.iter().map(|(bytes, &id)| (bytes.as_slice(), id)).collect();
    let mut layout =
        Layout { units: vec![0; 256], used: vec![false; 256], bases: vec![false; 256], first_open: 0 };
    let mut roots = vec![0; 256];
    let mut pending = Vec::new();
    let mut ends = Vec::new();
    for (byte, range) in children(&sorted, 0..sorted.len(), 0) {
        let unit = layout.place(&[0]);
        roots[usize::from(byte)] = unit;
        pending.push((unit, NOT_A_CHILD, range, 1));
    }
    while let Some((unit, label, range, depth)) = pending.pop() {
        let id = sorted.get(range.start).filter(|(bytes, _)| bytes.len() == depth).map(|&(_, id)| id);
        if let (&[(bytes, id)], true) = (&sorted[range.clone()], id.is_none())
            && bytes.len() - depth <= LONGEST_TAIL
        {
            ends.push((id, unit, label, &bytes[depth..]));
            continue;
        }
        let rest = range.start + usize::from(id.is_some())..range.end;
        let next: Vec<_> = children(&sorted, rest, depth).collect();
        if let (Some(id), true) = (id, next.is_empty()) {
            layout.units[unit] = TOKEN | LEAF | id << LABEL_BITS | label;
            continue;
        }
        let mut labels: Vec<usize> = next.iter().map(|&(byte, _)| usize::from(byte)).collect();
        if id.is_some() {
            labels.push(usize::from(NO_BYTE));
        }
        let base = layout.place(&labels);
        layout.units[unit] = (base as u32) << LABEL_BITS | label;
        if let Some(id) = id {
            layout.units[unit] |= TOKEN;
            layout.units[base ^ usize::from(NO_BYTE)] = id << LABEL_BITS | NOT_A_CHILD;
        }
        for (byte, range) in next {
            pending.push((base ^ usize::from(byte), u32::from(byte), range, depth + 1));
        }
    }
    ends.sort_unstable();
    let mut tails = Vec::new();
    for (id, unit, label, tail) in ends {
        layout.units[unit] = LEAF | (tails.len() as u32) << LABEL_BITS | label;
        tails.extend(&(id << TAIL_BITS | tail.len() as u32).to_le_bytes()[..TAIL_HEAD]);
        tails.extend(tail);
    }
    // A tail is read eight bytes at a time.
    tails.extend([0; 8]);
    for (unit, used) in layout.units.iter_mut().zip(&layout.used) {
        if !used {
            *unit = NOT_A_CHILD;
        }
    }
    assert!(layout.units.len() < 1 << BASE_BITS && tails.len() < 1 << BASE_BITS, "a place fits its bits");
    let roots = roots.into_iter().map(|unit: usize| layout.units[unit]).collect();
    Trie { units: layout.units, roots, tails }
}

/// Splits a range of tokens that share `depth` bytes by their next byte.
fn children<'a>(
    sorted: &'a [(&[u8], u32)],
    range: std::ops::Range<usize>,
    depth: usize,
) -> impl Iterator<Item = (u8, std::ops::Range<usize>)> + 'a {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let byte = *sorted[..range.end].get(at)?.0.get(depth)?;
        let start = at;
        while at < range.end && sorted[at].0[depth] == byte {
            at += 1;
        }
        Some((byte, start..at))
    })
}

struct Layout {
    units: Vec<u32>,
    used: Vec<bool>,
    bases: Vec<bool>,
    first_open: usize,
}

impl Layout {
    /// Finds a base under which every label's unit is free, and takes those units.
    fn place(&mut self, labels: &[usize]) -> usize {
        let mut base = self.first_open & !255;
        loop {
            while base + 256 > self.units.len() {
                self.units.resize(self.units.len() + 256, 0);
                self.used.resize(self.used.len() + 256, false);
                self.bases.resize(self.bases.len() + 256, false);
            }
            let block = &self.used[base..base + 256];
            let bases = &self.bases[base..base + 256];
            let fits = |&offset: &usize| !bases[offset] && labels.iter().all(|label| !block[offset ^ label]);
            if let Some(offset) = (0..256).find(fits) {
                base += offset;
                break;
            }
            base += 256;
        }
        self.bases[base] = true;
        for label in labels {
            self.used[base ^ label] = true;
        }
        let open = |used: &[bool]| used.iter().filter(|&&used| !used).count();
        while self.first_open + 256 <= self.used.len()
            && open(&self.used[self.first_open & !255..(self.first_open & !255) + 256]) <= CROWDED
        {
            self.first_open = (self.first_open & !255) + 256;
        }
        base
    }
}
