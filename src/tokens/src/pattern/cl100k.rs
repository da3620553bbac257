//! The pattern of cl100k_base, and those that were made of it: Llama 3's and GLM's, where a line break ends a piece at the
//! end of the text, too; Qwen's, which also takes digits one by one; Qwen 3.5's, where marks make words, too.
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```

use super::{
    ANY_CASE, Block, MARKED, Pretokenizer, Runs, bytes_end, contraction_end, number, run_end, white,
};
use crate::{
    blocks::digit_triples,
    classes::{self, Class, LETTER, SYMBOL, Set},
    simd::Classify,
};

/// `DIGITS` in a number at most, 1 or 3. `BREAKS`: at the end of the text, too, white space ends after its last line break.
/// `MARKS` are letters.
pub(crate) struct Words<const DIGITS: usize, const BREAKS: bool, const MARKS: bool>;

pub(crate) type Cl100k = Words<3, false, false>;
pub(crate) type Llama3 = Words<3, true, false>;
pub(crate) type Qwen2 = Words<1, true, false>;
pub(crate) type Qwen35 = Words<1, true, true>;

impl<const DIGITS: usize, const BREAKS: bool, const MARKS: bool> Words<DIGITS, BREAKS, MARKS> {
    const SYMBOL: Set = if MARKS { Set::of(&[Class::Other, Class::Symbol]) } else { SYMBOL };

    /// Past the rest of a run of symbols and the line breaks right after it.
    #[inline(always)]
    fn symbols_end(text: &[u8], at: usize) -> usize {
        bytes_end(text, run_end(text, at, Self::SYMBOL), |byte| matches!(byte, b'\r' | b'\n'))
    }

    /// End of a piece of white space that begins a run of two or more, or begins with a line break: up to its last line
    /// break, or the whole run at the end of the text; else all but its last character, which may belong to what follows.
    #[inline(always)]
    fn white_end(text: &[u8], start: usize) -> usize {
        let white = white(text, start, classes::at);
        if white.is_end && !BREAKS { white.end } else { white.cut() }
    }
}

impl<const DIGITS: usize, const BREAKS: bool, const MARKS: bool> Pretokenizer
    for Words<DIGITS, BREAKS, MARKS>
{
    const WORD: Set = if MARKS { MARKED } else { LETTER };

    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        match first {
            letter if Self::WORD.has(letter) => run_end(text, second, Self::WORD),
            Class::Number => number(text, second, DIGITS - 1),
            Class::Newline => Self::white_end(text, start),
            Class::Space => match classes::at(text, second) {
                Some((class, len)) if Self::WORD.has(class) => run_end(text, second + len, Self::WORD),
                Some((class, len)) if Self::SYMBOL.has(class) && text.get(start) == Some(&b' ') => {
                    Self::symbols_end(text, second + len)
                }
                Some((Class::Space | Class::Newline, _)) => Self::white_end(text, start),
                _ => second,
            },
            _ => match classes::at(text, second) {
                Some((class, len)) if Self::WORD.has(class) => contraction_end(text, start, ANY_CASE)
                    .unwrap_or_else(|| run_end(text, second + len, Self::WORD)),
                _ => Self::symbols_end(text, second),
            },
        }
    }

    #[inline(always)]
    fn starts(_: impl Classify + Copy, block: &Block<'_>) -> u64 {
        let Runs { letter, digit, lone_symbol, starts } = block.runs(0, |_| 0, BREAKS);
        let starts = starts | if DIGITS == 1 { digit } else { digit_triples(digit) };
        let quotes = lone_symbol & block.masks.quote & (letter >> 1);
        if quotes == 0 { starts } else { block.cut_contractions(starts, quotes, letter, ANY_CASE, false) }
    }
}
