//! The patterns that cut text into pieces, written by hand: one file a family, with the patterns at its top.
//!
//! A pattern is written twice. `piece_end` cuts one piece and is the reference; `starts` cuts 64 ASCII bytes at once, by
//! arithmetic on bit masks. No pattern looks behind, so a block that begins at a piece's start needs nothing from the block
//! before. Shared code is here and in `blocks`.

mod deepseek;
mod gpt2;
mod regex;
mod words;

pub(crate) use self::{
    deepseek::DeepSeek,
    gpt2::Gpt2,
    regex::Stages,
    words::{Cl100k, Kimi, Llama3, O200k, Qwen2, Qwen35, Tekken},
};
use super::{
    blocks::{BLOCK, Masks, flood, inner_white_starts},
    classes::{self, Class, Set},
    simd::Classify,
};

/// The pattern that a vocabulary cuts by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Cl100k,
    Llama3,
    Qwen2,
    Qwen35,
    O200k,
    Tekken,
    Kimi,
    DeepSeek,
    Gpt2,
    /// A regular expression of a file.
    Regex(&'static Stages),
}

/// Sixty-four bytes that begin at a piece's start, of which the first `valid` are ASCII and are looked at.
pub(crate) struct Block<'a> {
    pub(crate) bytes: &'a [u8; BLOCK],
    pub(crate) masks: Masks,
    pub(crate) valid: u32,
    /// True if the text ends after them.
    pub(crate) is_end: bool,
}

impl Block<'_> {
    /// One bit for each byte that is looked at.
    #[inline(always)]
    pub(crate) fn all(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.valid).unwrap_or(0)
    }

    /// A byte that is looked at.
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied().filter(|_| at < self.valid as usize)
    }
}

/// A way to cut text.
pub(crate) trait Pretokenizer {
    /// End of the piece that starts at `start`, which must be a piece's start inside `text`.
    fn piece_end(text: &[u8], start: usize) -> usize;

    /// The bytes of a block that `piece_end` must cut.
    #[inline(always)]
    fn beyond(_: impl Classify + Copy, _: &[u8; BLOCK], masks: &Masks) -> u64 {
        masks.beyond
    }

    /// Starts of pieces in a block that nothing after the block can change.
    fn starts(classify: impl Classify + Copy, block: &Block<'_>) -> u64;
}

/// Runs that most patterns find alike in a block.
struct Runs {
    letter: u64,
    digit: u64,
    /// Symbols that start a piece and have no other symbol behind them.
    lone_symbol: u64,
    /// Starts of pieces of symbols, white space and letters.
    starts: u64,
}

impl Block<'_> {
    /// Line breaks right after symbols belong to them, and then `slash`, too. White space before one of `kept` is not left
    /// to it. `cuts_end`: at the end of the text, too, white space ends after its last line break.
    #[inline(always)]
    fn runs(&self, slash: u64, kept: impl Fn(u64) -> u64, cuts_end: bool) -> Runs {
        let (masks, all) = (&self.masks, self.all());
        let letter = masks.letter & all;
        let digit = masks.digit & all;
        let newline = masks.newline & all;
        let gap = (masks.space | masks.tab) & all;
        let symbol = all & !(letter | digit | newline | gap);

        let taken = flood(symbol << 1 & newline, newline | slash);
        let symbol = symbol & !taken;
        let symbol_starts = symbol & !(symbol << 1) & !((masks.space & all) << 1);
        let lone_symbol = symbol_starts & !(symbol >> 1);

        let white = (gap | newline) & !taken;
        let mut white_starts = white & !(white << 1) | inner_white_starts(white, gap, kept(digit), all);
        if cuts_end && self.is_end {
            white_starts |= after_last_break(white, newline, all);
        }
        let letter_starts = letter & !(letter << 1) & !((lone_symbol | gap) << 1);
        Runs { letter, digit, lone_symbol, starts: symbol_starts | white_starts | letter_starts }
    }

    /// The starts of a block with contractions, given their quotes: none at their letters, one after them. Where they are
    /// a word's, there is none at the quote either, unless it stands right after a contraction, as it then follows no word.
    #[inline(never)]
    fn cut_contractions(
        &self,
        mut starts: u64,
        mut quotes: u64,
        letter: u64,
        case: u8,
        in_word: bool,
    ) -> u64 {
        // The first that is no start: the quote, or the letter behind it.
        let first = u32::from(!in_word);
        let mut after_last = None;
        while quotes != 0 {
            let at = quotes.trailing_zeros() as usize;
            quotes &= quotes - 1;
            if in_word && after_last == Some(at) {
                continue;
            }
            let letter_at = |at: usize| self.byte(at).map(|byte| byte | case);
            let len = match (letter_at(at + 1), letter_at(at + 2)) {
                // The next character decides if a piece starts.
                (None, _) | (Some(b'l' | b'v' | b'r'), None) if !self.is_end => {
                    starts &= !(1 << first << at);
                    continue;
                }
                (Some(first), second) => contraction_len(first, second.unwrap_or(0)),
                _ => None,
            };
            let Some(len) = len else { continue };
            after_last = Some(at + len);
            starts &= !(((1 << len) - (1 << first)) << at);
            starts |= 1u64.checked_shl((at + len) as u32).unwrap_or(0) & letter;
        }
        starts
    }
}

/// Past all characters of a set from `at` on.
#[inline(always)]
fn run_end(text: &[u8], mut at: usize, set: Set) -> usize {
    while let Some((class, len)) = classes::at(text, at) {
        if !set.has(class) {
            break;
        }
        at += len;
    }
    at
}

/// Past so many number characters, if there are as many.
#[inline(always)]
fn number(text: &[u8], mut at: usize, most: usize) -> usize {
    for _ in 0..most {
        match classes::at(text, at) {
            Some((Class::Number, len)) => at += len,
            _ => break,
        }
    }
    at
}

/// Past the bytes of a set from `at` on.
#[inline(always)]
fn bytes_end(text: &[u8], mut at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    while text.get(at).copied().is_some_and(&is_in) {
        at += 1;
    }
    at
}

/// The bit that is set in letters of the other case, for contractions that may have it.
const ANY_CASE: u8 = 0x20;
const LOWER_CASE: u8 = 0;

/// Bytes of a contraction with its quote, by what follows that: `'s`, `'ll`.
#[inline(always)]
fn contraction_len(first: u8, second: u8) -> Option<usize> {
    match (first, second) {
        (b's' | b'd' | b'm' | b't', _) => Some(2),
        (b'l', b'l') | (b'v' | b'r', b'e') => Some(3),
        _ => None,
    }
}

/// End of a contraction that starts at `start`; in any case `'ſ` is one, too, as it folds to `'s`.
#[inline(always)]
fn contraction_end(text: &[u8], start: usize, case: u8) -> Option<usize> {
    if text.get(start) != Some(&b'\'') {
        return None;
    }
    let (first, second) = (*text.get(start + 1)?, text.get(start + 2).copied().unwrap_or(0));
    // U+017F is C5 BF.
    let is_long_s = case == ANY_CASE && first == 0xc5 && second == 0xbf;
    let len = if is_long_s { Some(3) } else { contraction_len(first | case, second | case) };
    len.map(|len| start + len)
}

/// The end of a run of white space that begins at `start`.
struct White {
    /// Past the run.
    end: usize,
    /// Its last character, which may belong to what follows.
    last: usize,
    /// Past its last line break.
    after_newline: Option<usize>,
    /// True if the text ends with it.
    is_end: bool,
}

impl White {
    /// The end of the first piece of a run of two or more, or of one that begins with a line break: up to its last line
    /// break; else the whole run at the end of the text; else all but its last character.
    #[inline(always)]
    fn cut(&self) -> usize {
        self.after_newline.unwrap_or(if self.is_end { self.end } else { self.last })
    }
}

/// `at` reads a character, or none where the text ends for the pattern.
#[inline(always)]
fn white(text: &[u8], start: usize, at: impl Fn(&[u8], usize) -> Option<(Class, usize)>) -> White {
    let mut white = White { end: start, last: start, after_newline: None, is_end: true };
    while let Some((class, len)) = at(text, white.end) {
        match class {
            Class::Newline => white.after_newline = Some(white.end + len),
            Class::Space => {}
            _ => {
                white.is_end = false;
                break;
            }
        }
        white.last = white.end;
        white.end += len;
    }
    white
}

/// The start behind the last line break of the white space that ends a block, which is the end of the text.
#[inline(always)]
fn after_last_break(white: u64, newline: u64, all: u64) -> u64 {
    let tail = white & !u64::MAX.checked_shr((all & !white).leading_zeros()).unwrap_or(0);
    match tail & newline {
        0 => 0,
        last_break => 1u64.checked_shl(64 - last_break.leading_zeros()).unwrap_or(0) & all,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::simd::Portable, *};

    /// Block starts against the piece-by-piece reference, on every text of a few kinds of byte at every block edge.
    fn agree<P: Pretokenizer>(alphabet: &[u8], name: &str) {
        for number in 0..alphabet.len().pow(5) {
            let edge: Vec<u8> =
                (0..5).map(|digit| alphabet[number / alphabet.len().pow(digit) % alphabet.len()]).collect();
            for (before, after) in [(0, 0), (0, 3), (60, 0), (59, 2), (58, 9), (61, 9), (63, 9)] {
                let mut text = b"aB, ".repeat(16)[..before].to_vec();
                text.extend(&edge);
                text.extend(&b"x Y/\n  zz"[..after]);
                let mut bytes = [0; BLOCK];
                let seen = text.len().min(BLOCK);
                bytes[..seen].copy_from_slice(&text[..seen]);
                let masks = Portable.masks(&bytes);
                let is_end = seen == text.len();
                let block = Block { bytes: &bytes, masks, valid: seen as u32, is_end };
                let found = P::starts(Portable, &block) & !1;
                let mut wanted = 0_u64;
                let mut at = P::piece_end(&text, 0);
                while at < seen {
                    wanted |= 1 << at;
                    at = P::piece_end(&text, at);
                }
                let shown = String::from_utf8_lossy(&text);
                assert_eq!(
                    found & !wanted,
                    0,
                    "{name}: a start that is none in {shown:?}: {found:b} {wanted:b}"
                );
                // Bytes that are not claimed must be at the block's end, where the next bytes could change it.
                let missed = wanted & !found;
                assert!(!is_end || missed == 0, "{name}: a start missed in {shown:?}: {found:b} {wanted:b}");
                let last = (found | 1).ilog2();
                assert!(missed >> last == 0 || missed >> last > 1, "{name}");
                assert_eq!(missed & ((1 << last) - 1), 0, "{name}: a gap in {shown:?}: {found:b} {wanted:b}");
            }
        }
    }

    #[test]
    fn blocks_and_pieces_agree() {
        agree::<Cl100k>(b"asL \n\t!'1", "cl100k");
        agree::<Llama3>(b"asL \n\t!'1", "llama3");
        agree::<Qwen2>(b"asL \n\t!'1", "qwen2");
        agree::<DeepSeek>(b"asL \n\t!'1", "deepseek");
        agree::<Tekken>(b"asL \n/!'1", "tekken");
        agree::<Kimi>(b"asLR \n/!'1", "kimi");
        agree::<Gpt2>(b"asl \n\t!'1", "gpt2");
        agree::<O200k>(b"asLR \n/!'1", "o200k");
        agree::<O200k>(b"eRt\t'\n/!", "o200k");
    }
}
