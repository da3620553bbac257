//! The pattern of o200k_base and o200k_harmony: words in which case changes at most once, from upper to lower, with
//! their contractions. And those that were made of it: tekken's, without contractions and with digits one by one; Kimi's,
//! where Chinese characters are pieces of their own and no slash follows a symbol's line breaks.
//!
//! ```text
//!   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//! ```
//!
//! Kimi's begins with `[\p{Han}]+`, and in the words each class goes on `&&[^\p{Han}]`.

use super::{
    ANY_CASE, Block, MARKED, Pretokenizer, Runs, bytes_end, contraction_end, is_last_break, number, run_end,
    white,
};
use crate::{
    blocks::digit_triples,
    classes::{self, Class, SYMBOL, Set},
    simd::Classify,
};

/// `DIGITS` in a number at most, 1 or 3. Words have `CONTRACTIONS`. `HAN`: Kimi's two differences.
pub(crate) struct Cased<const DIGITS: usize, const CONTRACTIONS: bool, const HAN: bool>;

pub(crate) type O200k = Cased<3, true, false>;
pub(crate) type Tekken = Cased<1, false, false>;
pub(crate) type Kimi = Cased<3, true, true>;

const NOT_UPPER: Set = Set::of(&[Class::Lower, Class::Caseless, Class::Mark]);

impl<const DIGITS: usize, const CONTRACTIONS: bool, const HAN: bool> Cased<DIGITS, CONTRACTIONS, HAN> {
    /// Returns `true` for a character that makes words.
    #[inline(always)]
    fn is_word(text: &[u8], at: usize) -> bool {
        classes::at(text, at).is_some_and(|(class, _)| MARKED.has(class))
            && !(HAN && classes::is_han(text, at))
    }

    /// End of a word that starts at `at`, with its contraction: upper-case characters, then lower-case ones. Where no
    /// lower-case one follows, the last character that may be either ends it: `日AB` is `日` and `AB`.
    #[inline(always)]
    fn word_end(text: &[u8], mut at: usize) -> usize {
        let mut after_either = None;
        let word_at = |at: usize| classes::at(text, at).filter(|_| !HAN || !classes::is_han(text, at));
        let end = loop {
            match word_at(at) {
                Some((Class::Lower, len)) => {
                    at += len;
                    while let Some((class, len)) = word_at(at)
                        && NOT_UPPER.has(class)
                    {
                        at += len;
                    }
                    break at;
                }
                Some((Class::Upper, len)) => at += len,
                Some((Class::Caseless | Class::Mark, len)) => {
                    at += len;
                    after_either = Some(at);
                }
                _ => break after_either.unwrap_or(at),
            }
        };
        if CONTRACTIONS { contraction_end(text, end, ANY_CASE).unwrap_or(end) } else { end }
    }

    /// Past the rest of a run of symbols and the line breaks and slashes right after it.
    #[inline(always)]
    fn symbols_end(text: &[u8], at: usize) -> usize {
        bytes_end(text, run_end(text, at, SYMBOL), |byte| {
            matches!(byte, b'\r' | b'\n') || byte == b'/' && !HAN
        })
    }

    /// End of a piece of white space that begins a run of two or more, or begins with a line break.
    #[inline(always)]
    fn white_end(text: &[u8], start: usize) -> usize {
        white(text, start, classes::at).cut()
    }
}

impl<const DIGITS: usize, const CONTRACTIONS: bool, const HAN: bool> Pretokenizer
    for Cased<DIGITS, CONTRACTIONS, HAN>
{
    // A mark may also be a symbol, but after anything else it makes a word.
    const WORD: Set = MARKED;

    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        if HAN && classes::is_han(text, start) {
            let mut at = second;
            while classes::is_han(text, at) {
                at += classes::at(text, at).map_or(1, |(_, len)| len);
            }
            return at;
        }
        match first {
            Class::Upper | Class::Lower | Class::Caseless | Class::Mark => Self::word_end(text, start),
            Class::Number => number(text, second, DIGITS - 1),
            Class::Newline => Self::white_end(text, start),
            Class::Other | Class::Symbol | Class::Space if Self::is_word(text, second) => {
                Self::word_end(text, second)
            }
            Class::Other | Class::Symbol => Self::symbols_end(text, second),
            Class::Space => match classes::at(text, second) {
                Some((class, len)) if SYMBOL.has(class) && text.get(start) == Some(&b' ') => {
                    Self::symbols_end(text, second + len)
                }
                Some((Class::Space | Class::Newline, _)) => Self::white_end(text, start),
                _ => second,
            },
        }
    }

    #[inline(always)]
    fn starts(classify: impl Classify + Copy, block: &Block<'_>) -> u64 {
        let all = block.all();
        let upper = classify.range(block.bytes, b'A', 26) & all;
        let slash = if HAN { 0 } else { classify.range(block.bytes, b'/', 1) & all };
        let Runs { letter, digit, starts, .. } = block.runs(slash, |_| 0, true);
        let digit_starts = if DIGITS == 1 { digit } else { digit_triples(digit) };
        let starts = starts | upper & (letter & !upper) << 1 | digit_starts;
        let quotes = if CONTRACTIONS { block.masks.quote & all & (letter << 1) } else { 0 };
        if quotes == 0 { starts } else { block.cut_contractions(starts, quotes, letter, ANY_CASE, true) }
    }

    #[inline(always)]
    fn ends_at_line(text: &[u8], end: usize) -> bool {
        (HAN || text.get(end) != Some(&b'/')) && is_last_break(text, end)
    }
}
