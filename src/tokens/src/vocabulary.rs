//! A vocabulary: the pattern that cuts text, and the tokens of its pieces.

use super::{packing, pair_table::PairTable, pattern::Pattern, static_vocab::StaticVocab};

/// A pattern and ranks.
pub(crate) struct Vocabulary {
    /// Its place among all vocabularies, for the state per vocabulary.
    pub(crate) number: usize,
    pub(crate) pattern: Pattern,
    pub(crate) words: Words,
}

/// The tokens and how they merge.
pub(crate) enum Words {
    /// A built-in vocabulary.
    Static(StaticVocab),
    /// A vocabulary from a file.
    Table(Box<PairTable>),
}

impl Vocabulary {
    /// One past its highest token.
    pub(crate) fn end(&self) -> u32 {
        match &self.words {
            Words::Static(vocab) => vocab.end,
            Words::Table(table) => table.end(),
        }
    }

    /// Appends the bytes of a token. Returns `false` for an id without a token.
    pub(crate) fn spell(&self, id: u32, text: &mut Vec<u8>) -> bool {
        match &self.words {
            Words::Static(vocab) => vocab.spell(id, text),
            Words::Table(table) => table.spell(id, text),
        }
    }

    /// Returns `false` if no token runs across the boundary between two characters, where text can be cut without changing
    /// its tokens. `before` is the last byte of the first, `lead` (E0 or above) and `next` are the first two of the second.
    #[inline(always)]
    pub(crate) fn bridged(&self, before: u8, lead: u8, next: u8) -> bool {
        let bridges = match &self.words {
            Words::Static(vocab) => vocab.tables.bridges,
            Words::Table(table) => &table.bridges,
        };
        packing::is_bridged(bridges, before, lead, next)
    }
}
