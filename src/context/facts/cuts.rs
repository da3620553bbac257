//! Cuts a long text to its head and tail, by a table of its pieces made when the message is measured.
//! The texts are no longer there when a request must fit. With the table it fits to within a hundredth.

use crate::text::{NEWLINE, Utf16Len, head};

/// Smallest size that a text is cut to, in tokens: a shorter one says nothing.
pub const MIN_CUT_TOKENS: u32 = 64;
/// Most pieces of a text: a cut misses the room by at most one of them.
const MOST_PIECES: usize = 256;
/// Usual size of a piece of a short text, in tokens: a small cut still has a head and a tail, in every script.
const PIECE_TOKENS: usize = 16;
/// Least length of a piece, in UTF-16 code units: room for a surrogate pair.
const LEAST_PIECE: usize = 4;
/// Tokens that head, marker and tail together may have beyond the sum of each alone.
const JOIN_TOKENS: u32 = 4;

/// A cut of a text block to its head and tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Position of the block among the message's text blocks, then its text fields.
    pub text_block: usize,
    /// Length of the beginning that stays.
    pub head: Utf16Len,
    /// Length of the end that stays.
    pub tail: Utf16Len,
    /// Tokens this cut saves.
    pub tokens_saved: usize,
}

/// The pieces of one message's long text blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutTable(Box<[Block]>);

/// A text block, and the pieces in which it can be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    position: u32,
    tokens: u32,
    marker_tokens: u32,
    pieces: Box<[Piece]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    len: u32,
    tokens: u32,
}

impl CutTable {
    /// The table of a message's text blocks. `marker` writes the marker for a number of omitted characters, `count` counts
    /// tokens.
    pub fn of<'a>(
        texts: impl IntoIterator<Item = &'a [u16]>,
        marker: impl Fn(Utf16Len) -> Vec<u16>,
        count: impl Fn(&[u16]) -> usize,
    ) -> Self {
        let long = texts.into_iter().enumerate().filter(|(_, text)| text.len() > MIN_CUT_TOKENS as usize);
        Self(long.filter_map(|block| Block::of(block, &marker, &count)).collect())
    }

    /// True if nothing can be cut.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tokens of the longest block that can be cut; 0 without one.
    pub fn longest(&self) -> u32 {
        self.0.iter().map(|block| block.tokens).max().unwrap_or(0)
    }

    /// The cuts that bring every block to at most `most` tokens. Shorter blocks stay whole.
    pub fn at(&self, most: u32) -> impl Iterator<Item = Cut> + '_ {
        self.0.iter().filter_map(move |block| block.cut_to(most))
    }

    /// Tokens saved by cutting every block to at most `most` tokens.
    pub fn saved_at(&self, most: u32) -> usize {
        self.at(most).map(|cut| cut.tokens_saved).sum()
    }
}

impl Block {
    /// `None` for a text of at most [`MIN_CUT_TOKENS`] tokens.
    fn of(
        (text_block, text): (usize, &[u16]),
        marker: &impl Fn(Utf16Len) -> Vec<u16>,
        count: &impl Fn(&[u16]) -> usize,
    ) -> Option<Self> {
        let tokens = count(text) as u32;
        if tokens <= MIN_CUT_TOKENS {
            return None;
        }
        let piece = |piece: &[u16]| Piece { len: piece.len() as u32, tokens: count(piece) as u32 };
        let usual = (PIECE_TOKENS * text.len() / tokens as usize).max(text.len().div_ceil(MOST_PIECES));
        let pieces: Box<[Piece]> = pieces(text, usual.max(LEAST_PIECE)).map(piece).collect();
        let marker_tokens = count(&marker(Utf16Len(text.len()))) as u32;
        Some(Self { position: text_block as u32, tokens, marker_tokens, pieces })
    }

    /// A cut to `most` tokens, half of the room for each end; `None` if it saves nothing.
    fn cut_to(&self, most: u32) -> Option<Cut> {
        if self.tokens <= most {
            return None;
        }
        let room = most.saturating_sub(self.marker_tokens + JOIN_TOKENS);
        let (head, in_head) = taken(self.pieces.iter(), room / 2);
        // Both ends together are shorter than the text.
        let (tail, in_tail) = taken(self.pieces.iter().rev(), room.saturating_sub(in_head));
        let (head, tail) = (Utf16Len(head as usize), Utf16Len(tail as usize));
        // Joined pieces have no more tokens than their sum.
        let left = in_head + in_tail + self.marker_tokens + JOIN_TOKENS;
        let tokens_saved = self.tokens.checked_sub(left).filter(|&saved| saved > 0)? as usize;
        Some(Cut { text_block: self.position as usize, head, tail, tokens_saved })
    }
}

/// Length and tokens of the first pieces that have at most `room` tokens together.
fn taken<'a>(pieces: impl Iterator<Item = &'a Piece>, room: u32) -> (u32, u32) {
    let (mut len, mut tokens) = (0, 0);
    for piece in pieces {
        if tokens + piece.tokens > room {
            break;
        }
        (len, tokens) = (len + piece.len, tokens + piece.tokens);
    }
    (len, tokens)
}

/// Splits a text into pieces of at most `usual` length, if possible between lines or words, where tokens begin, too.
fn pieces(text: &[u16], usual: usize) -> impl Iterator<Item = &[u16]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let later = rest.get(usual / 2..usual).unwrap_or_default();
        let begins = |is_begin: fn(u16, u16) -> bool| {
            let pairs = later.iter().zip(later.iter().skip(1));
            let at = pairs.rev().position(|(&before, &after)| is_begin(before, after));
            at.map(|from_end| usual - 1 - from_end)
        };
        let line = || begins(|before, after| before == NEWLINE && !is_space(after));
        let word = || begins(|before, after| !is_space(before) && after == SPACE);
        let sign = || begins(|before, after| is_alphanumeric(before) && ends_word(after));
        let found = || line().or_else(word).or_else(sign);
        let end = if later.is_empty() { rest.len() } else { found().unwrap_or(usual) };
        let piece = head(rest, Utf16Len(end));
        rest = rest.get(piece.len()..).unwrap_or_default();
        (!piece.is_empty()).then_some(piece)
    })
}

const SPACE: u16 = b' ' as u16;

fn is_space(unit: u16) -> bool {
    matches!(unit, SPACE | NEWLINE) || unit == u16::from(b'\t') || unit == u16::from(b'\r')
}

fn is_alphanumeric(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(char::is_alphanumeric)
}

/// Returns `true` for a character that shares no token with the letter before it. An apostrophe may share one, and half a
/// surrogate pair may be a letter.
fn ends_word(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(|sign| sign != '\'' && !sign.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::shorten::MarkerLanguage;
    use crate::text::{tail, utf16};
    use crate::tokens::Tokenizer;
    use proptest::prelude::*;

    fn marker(omitted: Utf16Len) -> Vec<u16> {
        MarkerLanguage::Zh.cut(omitted, None)
    }

    /// The text that a cut leaves.
    fn cut_text(text: &[u16], cut: &Cut) -> Vec<u16> {
        let (head, tail) = (head(text, cut.head), tail(text, cut.tail));
        [head, &marker(Utf16Len(text.len() - head.len() - tail.len())), tail].concat()
    }

    fn tokens(text: &[u16]) -> usize {
        Tokenizer::cl100k().count_utf16(text)
    }

    proptest! {
        #[test]
        fn a_cut_is_never_larger_than_it_says(
            text in "(\\PC{0,20}[ \\n]){0,200}",
            more in "[a-z😀]{0,2000}",
            most in 64u32..800,
        ) {
            let text = utf16(&(text + &more));
            let table = CutTable::of([text.as_slice()], marker, tokens);
            for cut in table.at(most) {
                let left = cut_text(&text, &cut);
                let count = tokens(&left);
                prop_assert!(count <= most as usize);
                prop_assert!(count + cut.tokens_saved <= tokens(&text));
                let piece = table.0.iter().flat_map(|block| &block.pieces).map(|piece| piece.tokens).max();
                let said = table.longest() as usize - cut.tokens_saved;
                prop_assert!(said + piece.unwrap_or(0) as usize >= most as usize, "more had room");
            }
        }
    }
}
