//! The pattern of cl100k_base.
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! ```

use super::{Block, Pretokenizer, bytes_end, contraction_end, number, run_end, white};
use crate::{
    blocks::{digit_triples, flood, inner_white_starts},
    classes::{self, Class, LETTER, SYMBOL},
    simd::Classify,
};

pub(crate) struct Cl100k;

impl Pretokenizer for Cl100k {
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        match first {
            Class::Upper | Class::Lower | Class::Caseless => run_end(text, second, LETTER),
            Class::Number => number(text, number(text, second)),
            Class::Newline => white_end(text, start),
            Class::Other | Class::Mark => match classes::at(text, second) {
                Some((class, len)) if LETTER.has(class) => {
                    contraction_end(text, start).unwrap_or_else(|| run_end(text, second + len, LETTER))
                }
                _ => symbols_end(text, second),
            },
            Class::Space => match classes::at(text, second) {
                Some((class, len)) if LETTER.has(class) => run_end(text, second + len, LETTER),
                Some((class, len)) if SYMBOL.has(class) && text.get(start) == Some(&b' ') => {
                    symbols_end(text, second + len)
                }
                Some((Class::Space | Class::Newline, _)) => white_end(text, start),
                _ => second,
            },
        }
    }

    #[inline(always)]
    fn starts(_: impl Classify + Copy, block: &Block<'_>) -> u64 {
        let (masks, all) = (&block.masks, block.all());
        let letter = masks.letter & all;
        let digit = masks.digit & all;
        let newline = masks.newline & all;
        let space = masks.space & all;
        let gap = (masks.space | masks.tab) & all;
        let symbol = all & !(letter | digit | newline | gap);

        let symbol_first = symbol & !(symbol << 1);
        let symbol_starts = symbol_first & !(space << 1);
        let lone_symbol = symbol_starts & !(symbol >> 1);

        // Line breaks right after symbols belong to them.
        let taken = flood(symbol << 1 & newline, newline);
        let white = (gap | newline) & !taken;
        let white_starts = white & !(white << 1) | inner_white_starts(white, gap, all);

        let letter_starts = letter & !(letter << 1) & !((lone_symbol | gap) << 1);
        let quotes = lone_symbol & masks.quote & (letter >> 1);
        symbol_starts
            | white_starts
            | letter_starts
            | digit_triples(digit)
            | if quotes == 0 { 0 } else { after_contractions(block, quotes) & letter }
    }

    #[inline(always)]
    fn ends_at_line(text: &[u8], end: usize) -> bool {
        is_last_break(text, end)
    }

    #[inline(always)]
    fn ends_between(before: Class, after: Class, text: &[u8], end: usize) -> bool {
        match before {
            Class::Upper | Class::Lower | Class::Caseless => !LETTER.has(after),
            Class::Space | Class::Newline => false,
            Class::Other | Class::Mark | Class::Number => text.get(end) == Some(&b' '),
        }
    }
}

/// Whether no other line break follows this one in a run of white space.
#[inline(always)]
pub(super) fn is_last_break(text: &[u8], end: usize) -> bool {
    let after = text.get(end..).unwrap_or_default();
    let solid = after.iter().find(|&&byte| byte != b' ' && byte != b'\t');
    solid.is_some_and(u8::is_ascii_graphic)
}

/// Past the rest of a run of symbols and the line breaks right after it.
#[inline(always)]
fn symbols_end(text: &[u8], at: usize) -> usize {
    bytes_end(text, run_end(text, at, SYMBOL), |byte| matches!(byte, b'\r' | b'\n'))
}

/// End of a piece of white space that begins a run of two or more, or begins with a line break: the whole run at the
/// end of the text; else up to its last line break; else all but its last character, which may belong to what follows.
#[inline(always)]
fn white_end(text: &[u8], start: usize) -> usize {
    let white = white(text, start);
    if white.is_end { white.end } else { white.after_newline.unwrap_or(white.last) }
}

/// Places after contractions, given the quotes that start a piece and stand before a letter.
#[cold]
fn after_contractions(block: &Block<'_>, mut quotes: u64) -> u64 {
    let mut after = 0;
    while quotes != 0 {
        let at = quotes.trailing_zeros() as usize;
        let byte = |offset: usize| block.bytes.get(at + offset).copied().unwrap_or(0) | 0x20;
        after |= match (byte(1), byte(2)) {
            (b's' | b'd' | b'm' | b't', _) => 1u64.checked_shl(at as u32 + 2).unwrap_or(0),
            (b'l', b'l') | (b'v' | b'r', b'e') => 1u64.checked_shl(at as u32 + 3).unwrap_or(0),
            _ => 0,
        };
        quotes &= quotes - 1;
    }
    after
}
