//! The patterns of cl100k_base and o200k_base, and those that were made of them.
//!
//! cl100k_base's; Llama 3's and GLM's, where a line break ends a piece at the end of the text, too; Qwen's, which also takes
//! digits one by one; Qwen 3.5's, where marks make words, too:
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//!
//! o200k_base's and o200k_harmony's, with words in which case changes at most once, from upper to lower, and their
//! contractions. Tekken's is the same without contractions and with digits one by one. Kimi's begins with `[\p{Han}]+`, in its
//! words each class goes on `&&[^\p{Han}]`, and no slash follows a symbol's line breaks.
//!
//! ```text
//!   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! | \p{N}{1,3} | ?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//! ```

use super::{ANY_CASE, Block, Pretokenizer, Runs, bytes_end, contraction_end, number, run_end, white};
use crate::{
    blocks::digit_triples,
    classes::{self, Class, LETTER, MARKED, SYMBOL, Set},
    simd::Classify,
};

const NOT_UPPER: Set = Set::of(&[Class::Lower, Class::Caseless, Class::Mark]);

/// The differences between these patterns.
#[expect(clippy::struct_excessive_bools, reason = "each is a difference of its own")]
struct Rules {
    /// The classes that make words.
    word: Set,
    symbol: Set,
    /// Most digits of a number, 1 or 3.
    digits: usize,
    /// White space ends after its last line break at the end of the text, too.
    cuts_end: bool,
    /// Contractions belong to cased words. Beside other words they are pieces.
    has_contractions: bool,
    /// Case changes at most once in a word, from upper to lower.
    is_cased: bool,
    /// Chinese characters are pieces of their own, and no slash follows the line breaks of symbols.
    cuts_han: bool,
}

const CL100K: Rules = Rules {
    word: LETTER,
    symbol: SYMBOL,
    digits: 3,
    cuts_end: false,
    has_contractions: true,
    is_cased: false,
    cuts_han: false,
};
const LLAMA3: Rules = Rules { cuts_end: true, ..CL100K };
const QWEN2: Rules = Rules { digits: 1, ..LLAMA3 };
const QWEN35: Rules = Rules { word: MARKED, symbol: Set::of(&[Class::Other, Class::Symbol]), ..QWEN2 };
// A mark may also be a symbol, but after anything else it makes a word.
const O200K: Rules = Rules { word: MARKED, is_cased: true, ..LLAMA3 };
const TEKKEN: Rules = Rules { digits: 1, has_contractions: false, ..O200K };
const KIMI: Rules = Rules { cuts_han: true, ..O200K };

/// A pattern by the position of its rules.
pub(crate) struct Words<const RULES: usize>;

const RULES: [Rules; 7] = [CL100K, LLAMA3, QWEN2, QWEN35, O200K, TEKKEN, KIMI];
pub(crate) type Cl100k = Words<0>;
pub(crate) type Llama3 = Words<1>;
pub(crate) type Qwen2 = Words<2>;
pub(crate) type Qwen35 = Words<3>;
pub(crate) type O200k = Words<4>;
pub(crate) type Tekken = Words<5>;
pub(crate) type Kimi = Words<6>;

impl<const N: usize> Words<N> {
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated by the compiler, which rejects an index out of range"
    )]
    const RULES: &Rules = &RULES[N];
    const CUTS_CONTRACTIONS: bool = Self::RULES.has_contractions && !Self::RULES.is_cased;
    const TAKES_SLASHES: bool = Self::RULES.is_cased && !Self::RULES.cuts_han;

    /// The character at `at`, unless it is a piece of its own.
    #[inline(always)]
    fn at(text: &[u8], at: usize) -> Option<(Class, usize)> {
        classes::at(text, at).filter(|_| !Self::RULES.cuts_han || !classes::is_han(text, at))
    }

    /// End of a word that starts at `at`.
    #[inline(always)]
    fn word_end(text: &[u8], at: usize) -> usize {
        if !Self::RULES.is_cased {
            return run_end(text, at, Self::RULES.word);
        }
        let end = Self::cased_end(text, at);
        if Self::RULES.has_contractions { contraction_end(text, end, ANY_CASE).unwrap_or(end) } else { end }
    }

    /// Past upper-case characters, then lower-case ones. Where no lower-case one follows, the last character that may be
    /// either ends the word: `日AB` is `日` and `AB`.
    #[inline(always)]
    fn cased_end(text: &[u8], mut at: usize) -> usize {
        let mut after_either = None;
        loop {
            match Self::at(text, at) {
                Some((Class::Lower, len)) => {
                    at += len;
                    while let Some((class, len)) = Self::at(text, at)
                        && NOT_UPPER.has(class)
                    {
                        at += len;
                    }
                    return at;
                }
                Some((Class::Upper, len)) => at += len,
                Some((Class::Caseless | Class::Mark, len)) => {
                    at += len;
                    after_either = Some(at);
                }
                _ => return after_either.unwrap_or(at),
            }
        }
    }

    /// Past the rest of a run of symbols and the line breaks right after it.
    #[inline(always)]
    fn symbols_end(text: &[u8], at: usize) -> usize {
        bytes_end(text, run_end(text, at, Self::RULES.symbol), |byte| {
            matches!(byte, b'\r' | b'\n') || Self::TAKES_SLASHES && byte == b'/'
        })
    }

    /// End of a piece of white space that begins a run of two or more, or begins with a line break.
    #[inline(always)]
    fn white_end(text: &[u8], start: usize) -> usize {
        let white = white(text, start, classes::at);
        if white.is_end && !Self::RULES.cuts_end { white.end } else { white.cut() }
    }
}

impl<const N: usize> Pretokenizer for Words<N> {
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        if Self::RULES.cuts_han && classes::is_han(text, start) {
            let mut at = second;
            while classes::is_han(text, at) {
                at += classes::at(text, at).map_or(1, |(_, len)| len);
            }
            return at;
        }
        match first {
            letter if Self::RULES.word.has(letter) => Self::word_end(text, start),
            Class::Number => number(text, second, Self::RULES.digits - 1),
            Class::Newline => Self::white_end(text, start),
            _ if Self::at(text, second).is_some_and(|(class, _)| Self::RULES.word.has(class)) => {
                let contraction =
                    if Self::CUTS_CONTRACTIONS { contraction_end(text, start, ANY_CASE) } else { None };
                contraction.unwrap_or_else(|| Self::word_end(text, second))
            }
            Class::Space => match classes::at(text, second) {
                Some((class, len)) if Self::RULES.symbol.has(class) && text.get(start) == Some(&b' ') => {
                    Self::symbols_end(text, second + len)
                }
                Some((Class::Space | Class::Newline, _)) => Self::white_end(text, start),
                _ => second,
            },
            _ => Self::symbols_end(text, second),
        }
    }

    #[inline(always)]
    fn starts(classify: impl Classify + Copy, block: &Block<'_>) -> u64 {
        let all = block.all();
        let slash = if Self::TAKES_SLASHES { classify.range(block.bytes, b'/', 1) & all } else { 0 };
        let Runs { letter, digit, lone_symbol, mut starts } = block.runs(slash, |_| 0, Self::RULES.cuts_end);
        starts |= if Self::RULES.digits == 1 { digit } else { digit_triples(digit) };
        let mut quotes = block.masks.quote & all;
        if Self::RULES.is_cased {
            let upper = classify.range(block.bytes, b'A', 26) & all;
            starts |= upper & (letter & !upper) << 1;
            quotes &= letter << 1;
        } else {
            quotes &= lone_symbol & letter >> 1;
        }
        if quotes == 0 || !Self::RULES.has_contractions {
            return starts;
        }
        block.cut_contractions(starts, quotes, letter, ANY_CASE, Self::RULES.is_cased)
    }
}
