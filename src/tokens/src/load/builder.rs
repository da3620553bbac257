//! Gathers the tokens of a file and how they merge.

use super::{File, LoadError};
use crate::{
    added::AddedToken,
    arena::{Arena, Index},
    packing,
    pairs::{MOST_ID, Merge, Pairs},
    vocabulary::{Unknown, Words},
};

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

    /// The index of those tokens that are words, all of which differ.
    pub(super) fn index(&self, is_word: impl Fn(u32) -> bool) -> Result<Index, LoadError> {
        let mut index = Index::new(self.end() as usize);
        for (id, bytes) in self.iter().filter(|&(id, _)| is_word(id)) {
            if let Some(other) = index.put(bytes, id) {
                let what = format!("tokens {other} and {id} have the same bytes");
                return Err(LoadError::new("the vocabulary", what));
            }
        }
        Ok(index)
    }

    /// The ids of those words that are single bytes, `u32::MAX` for a byte that is none.
    fn single_bytes(&self, is_word: impl Fn(u32) -> bool) -> Box<[u32; 256]> {
        let mut single_bytes = Box::new([u32::MAX; 256]);
        for (id, bytes) in self.iter() {
            if let &[byte] = bytes
                && let Some(place) = single_bytes.get_mut(usize::from(byte)).filter(|_| is_word(id))
            {
                *place = id;
            }
        }
        single_bytes
    }

    /// The words of a file. Adds its added tokens; `place` says where one stands. `unknown` says which token stands for a byte
    /// that is none, and whether once for several in a row.
    pub(super) fn words(
        &mut self,
        is_word: impl Fn(u32) -> bool,
        (merges, joints): (&[Merge], Vec<u32>),
        whole: Option<Index>,
        added: &[AddedToken],
        unknown: impl FnOnce(u8) -> Result<(Option<u32>, bool), LoadError>,
        place: impl Fn(usize, &AddedToken) -> String,
    ) -> Result<Words, LoadError> {
        let mut byte_ids = self.single_bytes(is_word);
        let bytes = Box::new(byte_ids.map(|id| id == u32::MAX));
        if bytes.iter().all(|&is_unknown| is_unknown) {
            return Err(LoadError::new(
                "the vocabulary",
                "no token is a byte; only byte-level ones are read",
            ));
        }
        // These are in no UTF-8 text.
        let is_used = |byte: u8| !matches!(byte, 0xc0 | 0xc1 | 0xf5..);
        let first = (0..=255u8).zip(*bytes).find(|&(byte, is_unknown)| is_unknown && is_used(byte));
        let unknown = first.map(|(byte, _)| unknown(byte)).transpose()?;
        let unknown = unknown.map(|(token, is_fused)| Unknown { bytes, token, is_fused });
        if let Some(Unknown { token: Some(token), .. }) = unknown {
            byte_ids.iter_mut().filter(|id| **id == u32::MAX).for_each(|id| *id = token);
        }
        let pairs = Pairs::new(byte_ids, joints, merges.len(), merges.iter().copied());
        for (at, token) in added.iter().enumerate() {
            self.put_checked(u64::from(token.id), token.content.as_bytes(), || place(at, token))?;
        }
        self.shrink();
        let bytes = || self.iter().map(|(_, bytes)| bytes);
        let (longest, bridges) = match &unknown {
            None => (bytes().map(<[u8]>::len).max().unwrap_or(1), packing::bridges(bytes())),
            // Tokens merge over what is left out, which may be all of a text. Without bridges there are no cuts.
            Some(_) => (usize::MAX, Vec::new()),
        };
        Ok(Words { pairs, whole, unknown, bridges: bridges.into(), longest })
    }

    /// The file of these tokens by ranks alone: every two tokens merge whose bytes together are a token, whose rank is
    /// theirs. Ids are `offset` more than ranks.
    pub(super) fn by_ranks(
        mut self,
        offset: u32,
        patterns: Vec<String>,
        added: Vec<AddedToken>,
    ) -> Result<File, LoadError> {
        let is_word = |id| id >= offset;
        let index = self.index(is_word)?;
        let mut merges = Vec::new();
        for (joint, bytes) in self.iter().filter(|&(id, _)| is_word(id)) {
            for cut in 1..bytes.len() {
                let (left, right) = bytes.split_at(cut);
                if let Some(left) = index.get(left)
                    && let Some(right) = index.get(right)
                {
                    merges.push(Merge { left, right, rank: joint });
                }
            }
        }
        let place = |_, token: &AddedToken| format!("special token {}", token.content);
        let refused =
            |byte| Err(LoadError::new("the vocabulary", format!("no token is the byte 0x{byte:02x}")));
        let words = self.words(is_word, (&merges, Vec::new()), Some(index), &added, refused, place)?;
        Ok(File { words, tokens: self, patterns, added, is_nfc: false })
    }
}

/// A control token of a file that says no more of it.
pub(super) fn special(content: &str, id: u32) -> AddedToken {
    AddedToken { id, content: content.to_owned(), special: true, ..AddedToken::default() }
}
