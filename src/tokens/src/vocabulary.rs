//! A vocabulary: the pattern that cuts text, and the tokens of its pieces.
//!
//! The tables of a built-in vocabulary are arrays in read-only data. The first count lays its merges out, the first
//! decoding its tokens. `packing` has the widths of all fields.
//!
//! ```text
//! splits    id ──▶ left half, right half            " lower" = " low" + "er"
//! bridges   character boundaries that some token crosses
//! ```

use std::{borrow::Cow, sync::OnceLock};

use super::{
    arena::{Arena, Index},
    packing::{self, LONGEST_TOKEN, SPLIT_BYTES},
    pairs::{Merge, Pairs},
    pattern::Pattern,
};

/// Tokens that a thread's cache begins with: most words of a first text.
const FREQUENT: u32 = 1 << 13;

/// A pattern and tokens.
pub(crate) struct Vocabulary {
    /// Position among all vocabularies, which finds a thread's state for it.
    pub(crate) number: usize,
    pub(crate) pattern: Pattern,
    /// One past its highest token. The tables may go on: r50k_base reads those of p50k_base.
    end: u32,
    tables: &'static Tables,
    words: OnceLock<Words>,
    tokens: OnceLock<Arena>,
}

/// The arrays of a built-in vocabulary.
pub(crate) struct Tables {
    pub(crate) splits: &'static [u8],
    pub(crate) single_bytes: &'static [u8],
    pub(crate) bridges: &'static [u8],
}

/// What counting needs of the tokens.
pub(crate) struct Words {
    pub(crate) pairs: Pairs,
    /// Set if a piece that is a token is not merged. The tokens of a built-in vocabulary are what merging makes of their bytes.
    pub(crate) whole: Option<Index>,
    /// Set if text may hold bytes that are no token.
    pub(crate) unknown: Option<Unknown>,
    pub(crate) bridges: Box<[u8]>,
    /// Bytes of the longest token.
    pub(crate) longest: usize,
}

/// The bytes that are no token of a vocabulary, and what stands for them.
pub(crate) struct Unknown {
    pub(crate) bytes: Box<[bool; 256]>,
    /// The token for each of them; `None` if they are left out.
    pub(crate) token: Option<u32>,
    /// True if one token stands for all in a row.
    pub(crate) is_fused: bool,
}

impl Unknown {
    /// The bytes of a piece for which a token stands.
    fn kept(&self, piece: &[u8]) -> Vec<u8> {
        let is_unknown = |&byte: &u8| self.bytes.get(usize::from(byte)) == Some(&true);
        let rows = piece.chunk_by(|before, byte| is_unknown(before) == is_unknown(byte));
        let kept = rows.map(|row| match row.first().is_some_and(is_unknown) {
            true if self.token.is_none() => &[],
            true if self.is_fused => row.get(..1).unwrap_or_default(),
            _ => row,
        });
        kept.flatten().copied().collect()
    }
}

impl Words {
    /// The token that a piece is, where such a piece is not merged.
    #[inline(always)]
    pub(crate) fn whole(&self, piece: &[u8]) -> Option<u32> {
        self.whole.as_ref()?.get(piece)
    }

    /// The bytes of a piece that are merged.
    #[inline(always)]
    pub(crate) fn merged<'a>(&self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.unknown {
            None => Cow::Borrowed(piece),
            Some(unknown) => Cow::Owned(unknown.kept(piece)),
        }
    }
}

impl Vocabulary {
    /// A built-in vocabulary.
    pub(crate) const fn of_tables(
        number: usize,
        pattern: Pattern,
        end: u32,
        tables: &'static Tables,
    ) -> Self {
        Self { number, pattern, end, tables, words: OnceLock::new(), tokens: OnceLock::new() }
    }

    /// The vocabulary of a file.
    pub(crate) fn of_file(number: usize, pattern: Pattern, words: Words, tokens: Arena) -> Self {
        let tables = &Tables { splits: &[], single_bytes: &[], bridges: &[] };
        let (words, end) = (OnceLock::from(words), tokens.end());
        Self { number, pattern, end, tables, words, tokens: OnceLock::from(tokens) }
    }

    /// One past its highest token.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    pub(crate) fn words(&self) -> &Words {
        self.words.get_or_init(|| {
            let mut byte_ids = Box::new([u32::MAX; 256]);
            for (id, &byte) in (0..).zip(self.tables.single_bytes) {
                if let Some(place) = byte_ids.get_mut(usize::from(byte)) {
                    *place = id;
                }
            }
            let merges = (0..self.end).filter_map(|joint| {
                let (left, right) = self.halves(joint)?;
                (left != joint).then_some(Merge { left, right, rank: joint })
            });
            let pairs = Pairs::new(byte_ids, Vec::new(), self.end as usize, merges);
            Words {
                pairs,
                whole: None,
                unknown: None,
                bridges: self.tables.bridges.into(),
                longest: LONGEST_TOKEN,
            }
        })
    }

    /// The tokens, by id.
    pub(crate) fn tokens(&self) -> &Arena {
        self.tokens.get_or_init(|| self.spell(self.end))
    }

    /// The most frequent tokens of a built-in vocabulary: those of the lowest ids.
    pub(crate) fn frequent(&self) -> Arena {
        self.spell(self.end.min(FREQUENT))
    }

    /// Spells the tokens below `end` of a built-in vocabulary.
    fn spell(&self, end: u32) -> Arena {
        let (mut tokens, mut bytes) = (Arena::default(), Vec::new());
        for (id, (left, right)) in (0..end).map_while(|id| Some((id, self.halves(id)?))) {
            bytes.clear();
            if let Some(&byte) = self.tables.single_bytes.get(id as usize) {
                bytes.push(byte);
            } else if left != id {
                // The halves of a token have lower ids.
                bytes.extend([left, right].into_iter().filter_map(|half| tokens.get(half)).flatten());
            } else {
                continue;
            }
            tokens.put(id, &bytes);
        }
        tokens
    }

    /// The two tokens whose merge makes this one; a single byte is its own two halves, and so is a gap.
    fn halves(&self, id: u32) -> Option<(u32, u32)> {
        let entry = self.tables.splits.get(id as usize * SPLIT_BYTES..)?.first_chunk()?;
        Some(packing::halves(u64::from_le_bytes(*entry)))
    }
}
