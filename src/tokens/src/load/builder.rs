//! Gathers the tokens of a file and how they merge.

use std::hash::{BuildHasher, RandomState};

use super::{File, LoadError};
use crate::{
    added::AddedToken,
    pair_table::{Arena, Index, MOST_ID, PairTable, Pairs},
};

/// The index of tokens, all of which differ.
pub(super) fn index(arena: &Arena, is_word: impl Fn(u32) -> bool) -> Result<Index, LoadError> {
    let words = || arena.iter().map(|(id, _)| id).filter(|&id| is_word(id));
    let count = words().count();
    let mut index = Index::new(count, RandomState::new().hash_one(count));
    for id in words() {
        if let Some(other) = index.put(arena, id) {
            return Err(LoadError::new(
                "the vocabulary",
                format!("tokens {other} and {id} have the same bytes"),
            ));
        }
    }
    Ok(index)
}

impl Arena {
    /// Adds a token, which stands at `place`.
    pub(super) fn put_checked(
        &mut self,
        id: u64,
        bytes: &[u8],
        place: impl Fn() -> String,
    ) -> Result<(), LoadError> {
        let Some(small) = u32::try_from(id).ok().filter(|&id| id < MOST_ID) else {
            return Err(LoadError::new(place(), format!("the id {id} is not below {MOST_ID}")));
        };
        if bytes.is_empty() {
            return Err(LoadError::new(place(), "the token is empty"));
        }
        if !self.put(small, bytes) {
            return Err(LoadError::new(place(), format!("the id {id} is another token's, too")));
        }
        Ok(())
    }

    /// The ids of those words that are single bytes.
    pub(super) fn single_bytes(&self, is_word: impl Fn(u32) -> bool) -> Result<Box<[u32; 256]>, LoadError> {
        let mut single_bytes = Box::new([u32::MAX; 256]);
        for (id, bytes) in self.iter() {
            if let &[byte] = bytes
                && let Some(place) = single_bytes.get_mut(usize::from(byte)).filter(|_| is_word(id))
            {
                *place = id;
            }
        }
        // These are in no UTF-8 text.
        let is_used = |byte: u8| !matches!(byte, 0xc0 | 0xc1 | 0xf5..);
        let missing = (0..=255u8).zip(*single_bytes).find(|&(byte, id)| id == u32::MAX && is_used(byte));
        match missing {
            Some((byte, _)) => Err(LoadError::new(
                "the vocabulary",
                format!("no token is the byte 0x{byte:02x}; only byte-level vocabularies are read"),
            )),
            None => Ok(single_bytes),
        }
    }

    /// By ranks alone: every two tokens merge whose bytes together are a token, whose rank is theirs. Ids are `offset`
    /// more than ranks.
    pub(super) fn by_ranks(
        self,
        offset: u32,
        patterns: Vec<String>,
        added: Vec<AddedToken>,
    ) -> Result<File, LoadError> {
        let is_word = |id| id >= offset;
        let (index, single_bytes) = (index(&self, is_word)?, self.single_bytes(is_word)?);
        let mut merges = Vec::new();
        for (joint, bytes) in self.iter().filter(|&(id, _)| is_word(id)) {
            for cut in 1..bytes.len() {
                let (left, right) = bytes.split_at(cut);
                let get = |bytes| index.get(&self, bytes);
                if let Some(left) = get(left)
                    && let Some(right) = get(right)
                {
                    merges.push(Merge { left, right, joint });
                }
            }
        }
        let mut words = Words { tokens: self, single_bytes, merges, first: Some(offset), whole: Some(index) };
        for AddedToken { id, content, .. } in &added {
            words
                .tokens
                .put_checked(u64::from(*id), content.as_bytes(), || format!("special token {content}"))?;
        }
        Ok(File { words, patterns, added, is_nfc: false })
    }
}

/// Two tokens that merge, and what they make.
pub(super) struct Merge {
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) joint: u32,
}

/// What merging needs, in the order of the file.
pub(super) struct Words {
    pub(super) tokens: Arena,
    pub(super) single_bytes: Box<[u32; 256]>,
    pub(super) merges: Vec<Merge>,
    /// The token of rank 0, where ranks are those of the joint tokens; else they are the merges' order.
    pub(super) first: Option<u32>,
    /// For pieces that are tokens, if those are not merged.
    pub(super) whole: Option<Index>,
}

impl Words {
    /// The same, to be looked up. The file's text is no longer needed by then, and both at once would be the most memory
    /// that loading takes.
    pub(super) fn pair_table(self) -> PairTable {
        let Self { mut tokens, single_bytes, merges, first, whole } = self;
        let mut pairs = Pairs::new(merges.len());
        for (order, Merge { left, right, joint }) in (0..).zip(merges) {
            pairs.put(left, right, first.map_or(order, |first| joint - first), joint);
        }
        tokens.shrink();
        PairTable::new(tokens, single_bytes, pairs, whole)
    }
}

/// A control token of a file that says no more of it.
pub(super) fn special(content: &str, id: u32) -> AddedToken {
    AddedToken { id, content: content.to_owned(), special: true, ..AddedToken::default() }
}
