//! The words of a built-in vocabulary: static tables that the build script lays out and that are read in place.
//!
//! Nothing is parsed at load. The tables are little-endian arrays in read-only data; those of an unused vocabulary are never
//! paged in. An id beyond the vocabulary has no bytes. `packing` has the widths of all fields.
//!
//! ```text
//! splits        id ──▶ left half, right half                    " lower" = " low" + "er"
//! trie_units    bytes ──▶ longest token they start with         "lowest" ──▶ "low", "lowe"?, "lowest"?
//! trie_tails    the rest of a token that alone has its start
//! bridges       character boundaries that some token crosses
//! ```

use std::sync::OnceLock;

use super::{
    packing::{self, BASE_BITS, LABEL_BITS, LEAF, NO_BYTE, SPLIT_BYTES, TAIL_HEAD, TOKEN},
    static_pairs::StaticPairs,
};

/// The places of the arrays of some ranks.
pub(crate) struct Tables {
    pub(crate) splits: &'static [u8],
    pub(crate) trie_units: &'static [u8],
    pub(crate) trie_roots: &'static [u8],
    pub(crate) trie_tails: &'static [u8],
    pub(crate) single_bytes: &'static [u8; 256],
    pub(crate) bridges: &'static [u8],
}

/// The words of one vocabulary.
pub(crate) struct StaticVocab {
    /// One past its highest token. The tables may go on: r50k_base reads those of p50k_base.
    pub(crate) end: u32,
    pub(crate) tables: &'static Tables,
    pub(crate) pairs: OnceLock<StaticPairs>,
}

/// A token and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) len: usize,
}

/// A token found at the start of a text: where it is in the trie, and its length in bytes.
#[derive(Clone, Copy)]
pub(crate) struct TokenMatch {
    unit: u32,
    pub(crate) len: usize,
}

/// The longest token a text starts with, and the next shorter one, unless that is a single byte.
#[derive(Clone, Copy)]
pub(crate) struct LongestMatch {
    pub(crate) found: TokenMatch,
    pub(crate) shorter: Option<TokenMatch>,
}

#[inline(always)]
fn u32_at(table: &[u8], index: usize) -> u32 {
    table.get(index * 4..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

#[inline(always)]
fn u64_at(table: &[u8], at: usize) -> u64 {
    table.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |&bytes| u64::from_le_bytes(bytes))
}

#[inline(always)]
fn base(unit: u32) -> u32 {
    unit >> LABEL_BITS & ((1 << BASE_BITS) - 1)
}

#[inline(always)]
fn is_child(unit: u32, byte: u8) -> bool {
    unit & ((1 << LABEL_BITS) - 1) == u32::from(byte)
}

impl StaticVocab {
    /// The two tokens whose merge makes this one; a single byte is its own two halves.
    #[inline(always)]
    pub(crate) fn halves(&self, id: u32) -> (u32, u32) {
        packing::halves(u64_at(self.tables.splits, id as usize * SPLIT_BYTES))
    }

    /// Appends the bytes of a token: its halves, their halves, down to single bytes. False for an id that is no token's.
    pub(crate) fn spell(&self, id: u32, text: &mut Vec<u8>) -> bool {
        if let Some(&byte) = self.tables.single_bytes.get(id as usize) {
            text.push(byte);
            return true;
        }
        let (left, right) = self.halves(id);
        // An id without halves that is no byte is a gap. No token is longer than 128 bytes, so this goes no deeper.
        id < self.end && left != id && self.spell(left, text) && self.spell(right, text)
    }

    /// The id of a match. It takes a load that counting whole words does not need.
    #[inline(always)]
    pub(crate) fn id(&self, found: TokenMatch) -> u32 {
        let base = base(found.unit);
        match found.unit & (TOKEN | LEAF) {
            TOKEN => u32_at(self.tables.trie_units, (base ^ u32::from(NO_BYTE)) as usize) >> LABEL_BITS,
            LEAF => self.tail(base).0.id,
            _ => base,
        }
    }

    #[inline(always)]
    pub(crate) fn token(&self, found: TokenMatch) -> Token {
        Token { id: self.id(found), len: found.len }
    }

    /// The longest token `text` starts with; every single byte is a token, so only empty text has none.
    #[inline(always)]
    pub(crate) fn longest(&self, text: &[u8]) -> Option<LongestMatch> {
        if self.end as usize * SPLIT_BYTES < self.tables.splits.len() - 8 {
            self.longest_of::<true>(text)
        } else {
            self.longest_of::<false>(text)
        }
    }

    /// `PART`: only tokens below `end` are of this vocabulary.
    #[inline(always)]
    fn longest_of<const PART: bool>(&self, text: &[u8]) -> Option<LongestMatch> {
        let (&first, rest) = text.split_first()?;
        let is_ours = |found: TokenMatch| !PART || self.id(found) < self.end;
        let mut unit = u32_at(self.tables.trie_roots, usize::from(first));
        let mut longest = LongestMatch { found: TokenMatch { unit, len: 1 }, shorter: None };
        let mut len = 1;
        for &byte in rest {
            if unit & LEAF != 0 {
                break;
            }
            unit = u32_at(self.tables.trie_units, (base(unit) ^ u32::from(byte)) as usize);
            if !is_child(unit, byte) {
                return Some(longest);
            }
            len += 1;
            let found = TokenMatch { unit, len };
            if unit & TOKEN != 0 && is_ours(found) {
                longest = LongestMatch { found, shorter: Some(longest.found) };
            }
        }
        if unit & (TOKEN | LEAF) == LEAF {
            let (token, tail) = self.tail(base(unit));
            let found = TokenMatch { unit, len: len + token.len };
            if starts_with(text.get(len..).unwrap_or_default(), tail, token.len) && is_ours(found) {
                longest = LongestMatch { found, shorter: Some(longest.found) };
            }
        }
        Some(longest)
    }

    /// The id and length of a tail, and its bytes with whatever follows.
    #[inline(always)]
    fn tail(&self, at: u32) -> (Token, &'static [u8]) {
        let entry = self.tables.trie_tails.get(at as usize..).unwrap_or_default();
        let Some(&head) = entry.first_chunk() else { return (Token { id: u32::MAX, len: 0 }, &[]) };
        let (id, len) = packing::tail_of(u32::from_le_bytes(head));
        (Token { id, len }, entry.get(TAIL_HEAD..).unwrap_or_default())
    }

    /// The pairs that merge. The first call lays them out and reads every table.
    #[inline(always)]
    pub(crate) fn pairs(&self) -> &StaticPairs {
        self.pairs.get_or_init(|| {
            let pairs = (0..self.end).filter_map(|id| {
                let (left, right) = self.halves(id);
                (left != id).then_some((left, right, id))
            });
            let pairs = StaticPairs::new(self.tables.single_bytes, pairs);
            self.touch();
            pairs
        })
    }

    /// Reads every table once, in order, so that the processor reads ahead. The first count of a text reads them in no order
    /// and would wait for each cache line.
    fn touch(&self) {
        /// Bytes of a cache line.
        const LINE: usize = 64;
        let Tables { splits, bridges, trie_tails, trie_units, .. } = self.tables;
        for table in [splits, bridges, trie_tails, trie_units] {
            std::hint::black_box(table.iter().step_by(LINE).fold(0, |all, byte| all | byte));
        }
    }
}

/// True if `text` starts with the first `len` bytes of `tail`, at least one.
#[inline(always)]
fn starts_with(text: &[u8], tail: &[u8], len: usize) -> bool {
    if let (Some(&text), Some(&tail), 1..=8) = (text.first_chunk(), tail.first_chunk(), len) {
        return (u64::from_le_bytes(text) ^ u64::from_le_bytes(tail)) << (64 - 8 * len) == 0;
    }
    tail.get(..len).is_some_and(|tail| text.starts_with(tail))
}
