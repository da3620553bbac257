//! A vocabulary: the pattern text is cut by, and the words its pieces are made of.

use super::{laid::Laid, packing, paired::Paired, pattern::Pattern};

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
    Laid(Laid),
    /// Of one that was read from a file.
    Paired(Box<Paired>),
}

impl Vocabulary {
    /// One past its highest token.
    pub(crate) fn end(&self) -> u32 {
        match &self.words {
            Words::Laid(laid) => laid.end,
            Words::Paired(paired) => paired.end(),
        }
    }

    /// Appends the bytes of a token. False for an id that is no token's.
    pub(crate) fn spell(&self, id: u32, text: &mut Vec<u8>) -> bool {
        match &self.words {
            Words::Laid(laid) => laid.spell(id, text),
            Words::Paired(paired) => paired.spell(id, text),
        }
    }

    /// True if some token may run across the boundary between two characters: `before` is the last byte of the first,
    /// `lead` (E0 or above) and `next` the first two bytes of the second. Where none does, the text can be cut there
    /// without changing its tokens.
    #[inline(always)]
    pub(crate) fn bridged(&self, before: u8, lead: u8, next: u8) -> bool {
        let bridges = match &self.words {
            Words::Laid(laid) => laid.tables.bridges,
            Words::Paired(paired) => &paired.bridges,
        };
        packing::is_bridged(bridges, before, lead, next)
    }
}
