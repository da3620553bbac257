//! The pattern of GPT-2, which r50k_base, p50k_base and p50k_edit cut by.
//!
//! ```text
//! '(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s
//! ```

use super::{Block, LOWER_CASE, Pretokenizer, contraction_end, run_end, white};
use crate::{
    classes::{self, Class, LETTER, SYMBOL, Set},
    simd::Classify,
};

pub(crate) struct Gpt2;

const NUMBER: Set = Set::of(&[Class::Number]);

impl Pretokenizer for Gpt2 {
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
        let second = start + first_len;
        if let Some(alike) = alike(first) {
            return contraction_end(text, start, LOWER_CASE).unwrap_or_else(|| run_end(text, second, alike));
        }
        match classes::at(text, second) {
            Some((Class::Space | Class::Newline, _)) => {
                let white = white(text, start, classes::at);
                if white.is_end { white.end } else { white.last }
            }
            Some((class, len)) if text.get(start) == Some(&b' ') => {
                alike(class).map_or(second, |alike| run_end(text, second + len, alike))
            }
            _ => second,
        }
    }

    #[inline(always)]
    fn starts(_: impl Classify + Copy, block: &Block<'_>) -> u64 {
        let (masks, all) = (&block.masks, block.all());
        let letter = masks.letter & all;
        let digit = masks.digit & all;
        let space = masks.space & all;
        let white = (masks.newline | masks.space | masks.tab) & all;
        let symbol = all & !(letter | digit | white);

        let first = |class: u64| class & !(class << 1) & !(space << 1);
        // The last character of a run of white space may belong to what follows, if something does.
        let settled = u64::MAX.checked_shr((all & !white).leading_zeros()).unwrap_or(0);
        let white_starts = white & !(white << 1) | white & !(white >> 1) & settled;

        let starts = first(letter) | first(digit) | first(symbol) | white_starts;
        let quotes = first(symbol) & masks.quote & (letter >> 1);
        if quotes == 0 { starts } else { block.cut_contractions(starts, quotes, letter, LOWER_CASE, false) }
    }
}

/// The classes with which a character that is no white space makes a run.
#[inline(always)]
fn alike(class: Class) -> Option<Set> {
    match class {
        Class::Upper | Class::Lower | Class::Caseless => Some(LETTER),
        Class::Number => Some(NUMBER),
        Class::Other | Class::Symbol | Class::Mark => Some(SYMBOL),
        Class::Space | Class::Newline => None,
    }
}
