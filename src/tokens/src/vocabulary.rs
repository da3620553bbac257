//! A vocabulary: the pattern text is cut by, and the words its pieces are made of.

use super::{packing, pair_table::PairTable, pattern::Pattern, static_vocab::StaticVocab};

/// The pattern and the ranks that text is cut and merged by.
pub(crate) struct Vocabulary {
    /// Its place among all, for what is kept per vocabulary.
    pub(crate) number: usize,
    pub(crate) pattern: Pattern,
    pub(crate) words: Words,
}

/// The tokens and how they merge.
pub(crate) enum Words {
    /// Of a vocabulary that is built in.
    Static(StaticVocab),
    /// Of one that was read from a file.
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

    /// Appends the bytes of a token. False for an id that is no token's.
    pub(crate) fn spell(&self, id: u32, text: &mut Vec<u8>) -> bool {
        match &self.words {
            Words::Static(vocab) => vocab.spell(id, text),
            Words::Table(table) => table.spell(id, text),
        }
    }

    /// True if some token may run across the boundary between two characters: `before` is the last byte of the first,
    /// `lead` (E0 or above) and `next` the first two bytes of the second. Where none does, the text can be cut there
    /// without changing its tokens.
    #[inline(always)]
    pub(crate) fn bridged(&self, before: u8, lead: u8, next: u8) -> bool {
        let bridges = match &self.words {
            Words::Static(vocab) => vocab.tables.bridges,
            Words::Table(table) => &table.bridges,
        };
        packing::is_bridged(bridges, before, lead, next)
    }
}
