//! The pattern of `DeepSeek` V3 and those after it: numbers are cut out first, then Chinese and Japanese, then the rest
//! between them, each part as if it were a text of its own.
//!
//! ```text
//! \p{N}{1,3}
//! [一-龥぀-ゟ゠-ヿ]+
//! [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```

use super::{Block, Pretokenizer, Runs, bytes_end, number, white};
use crate::{
    blocks::{BLOCK, Masks, digit_triples},
    classes::{self, Class, MARKED, Set},
    simd::Classify,
};

pub(crate) struct DeepSeek;

/// The part of a text that a piece starts in: it ends before a number, and where Chinese begins or ends.
#[derive(Clone, Copy)]
struct ScriptRun<'a> {
    text: &'a [u8],
    is_cjk: bool,
}

impl ScriptRun<'_> {
    #[inline(always)]
    fn at(self, at: usize) -> Option<(Class, usize)> {
        classes::at(self.text, at)
            .filter(|&(class, _)| class != Class::Number && is_cjk(self.text, at) == self.is_cjk)
    }

    #[inline(always)]
    fn is_word(self, at: usize) -> bool {
        self.at(at).is_some_and(|(class, _)| MARKED.has(class))
    }

    /// Past all characters of a set from `at` on.
    #[inline(always)]
    fn run_end(self, mut at: usize, set: Set) -> usize {
        while let Some((_, len)) = self.at(at).filter(|&(class, _)| set.has(class)) {
            at += len;
        }
        at
    }

    /// Past a run of symbols and the line breaks right after it.
    #[inline(always)]
    fn symbols_end(self, at: usize) -> usize {
        let end = self.run_end(at, Set::of(&[Class::Symbol]));
        if self.is_cjk { end } else { bytes_end(self.text, end, |byte| matches!(byte, b'\r' | b'\n')) }
    }

    /// Past what nothing matches: controls and unassigned characters, up to one that a word takes in.
    fn unmatched_end(self, mut at: usize) -> usize {
        while let Some((Class::Other, len)) = self.at(at) {
            if self.is_word(at + len) {
                break;
            }
            at += len;
        }
        at
    }
}

/// `[一-龥぀-ゟ゠-ヿ]`
#[inline(always)]
fn is_cjk(text: &[u8], at: usize) -> bool {
    matches!(classes::beyond_ascii(text, at), Some(0x4e00..=0x9fa5 | 0x3040..=0x30ff))
}

impl Pretokenizer for DeepSeek {
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        let part = ScriptRun { text, is_cjk: is_cjk(text, start) };
        match first {
            Class::Number => number(text, second, 2),
            Class::Upper | Class::Lower | Class::Caseless | Class::Mark => part.run_end(second, MARKED),
            Class::Symbol => match (first_len, text.get(second)) {
                (1, Some(letter)) if letter.is_ascii_alphabetic() => {
                    bytes_end(text, second, |byte| byte.is_ascii_alphabetic())
                }
                _ => part.symbols_end(second),
            },
            Class::Newline => white(text, start, |_, at| part.at(at)).cut(),
            Class::Space | Class::Other if part.is_word(second) => part.run_end(second, MARKED),
            Class::Space => match part.at(second) {
                Some((Class::Symbol, len)) if text.get(start) == Some(&b' ') => {
                    part.symbols_end(second + len)
                }
                Some((Class::Space | Class::Newline, _)) => white(text, start, |_, at| part.at(at)).cut(),
                _ => second,
            },
            Class::Other => part.unmatched_end(second),
        }
    }

    /// Controls are in no class of the pattern.
    #[inline(always)]
    fn beyond(classify: impl Classify + Copy, bytes: &[u8; BLOCK], masks: &Masks) -> u64 {
        let control = classify.range(bytes, 0, 0x20) & !(masks.newline | masks.tab);
        masks.beyond | control | classify.range(bytes, 0x7f, 1)
    }

    #[inline(always)]
    fn starts(_: impl Classify + Copy, block: &Block<'_>) -> u64 {
        // White space before a number ends its part, and with it a piece.
        let Runs { digit, starts, .. } = block.runs(0, |digit| digit >> 1, true);
        starts | digit_triples(digit)
    }
}
