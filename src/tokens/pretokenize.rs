//! The cl100k pattern by hand, one piece at a time.
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! ```
//!
//! Text and the start of a piece flow in, the piece's end flows out. The pattern never looks behind, so every piece
//! starts afresh. This is the reference for the block scanner (`blocks`), which does the same to 64 ASCII bytes at
//! once, and takes over from it at non-ASCII text.

use super::classes::{self, Class};

/// End of the piece that starts at `start`, which must be a piece's start inside `text`.
pub(crate) fn piece_end(text: &[u8], start: usize) -> usize {
    let Some((first, first_len)) = classes::at(text, start) else { return text.len() };
    let second = start + first_len;
    match first {
        Class::Letter => run_end(text, second, Class::Letter),
        Class::Number => {
            let third = number(text, second);
            number(text, third)
        }
        Class::Newline => space_end(text, start),
        Class::Other => match classes::at(text, second) {
            Some((Class::Letter, len)) => {
                contraction_end(text, start).unwrap_or_else(|| run_end(text, second + len, Class::Letter))
            }
            _ => symbols_end(text, second),
        },
        Class::Space => match classes::at(text, second) {
            Some((Class::Letter, len)) => run_end(text, second + len, Class::Letter),
            Some((Class::Other, len)) if text.get(start) == Some(&b' ') => symbols_end(text, second + len),
            Some((Class::Space | Class::Newline, _)) => space_end(text, start),
            _ => second,
        },
    }
}

/// Past all characters of a class from `at` on.
#[inline(always)]
fn run_end(text: &[u8], mut at: usize, class: Class) -> usize {
    while let Some((found, len)) = classes::at(text, at) {
        if found != class {
            break;
        }
        at += len;
    }
    at
}

/// Past one number character, if there is one.
#[inline(always)]
fn number(text: &[u8], at: usize) -> usize {
    match classes::at(text, at) {
        Some((Class::Number, len)) => at + len,
        _ => at,
    }
}

/// Past the rest of a run of symbols and the line breaks right after it.
#[inline(always)]
fn symbols_end(text: &[u8], at: usize) -> usize {
    let mut at = run_end(text, at, Class::Other);
    while let Some(b'\r' | b'\n') = text.get(at) {
        at += 1;
    }
    at
}

/// End of a contraction that starts at `start`: `'s`, `'ll`, in any case, and `'ſ`, which folds to `'s`.
#[inline(always)]
fn contraction_end(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'\'') {
        return None;
    }
    let (first, second) = (text.get(start + 1)?, text.get(start + 2).copied().unwrap_or(0));
    match (first | 0x20, second | 0x20) {
        (b's' | b'd' | b'm' | b't', _) => Some(start + 2),
        (b'l', b'l') | (b'v' | b'r', b'e') => Some(start + 3),
        // U+017F is C5 BF.
        _ if *first == 0xc5 && second == 0xbf => Some(start + 3),
        _ => None,
    }
}

/// End of a piece of white space that begins a run of two or more, or begins with a line break: the whole run at the
/// end of the text; else up to its last line break; else all but its last character, which may belong to what follows.
#[inline(always)]
fn space_end(text: &[u8], start: usize) -> usize {
    let (mut at, mut last, mut after_newline) = (start, start, None);
    while let Some((class, len)) = classes::at(text, at) {
        match class {
            Class::Newline => after_newline = Some(at + len),
            Class::Space => {}
            _ => return after_newline.unwrap_or(last),
        }
        last = at;
        at += len;
    }
    at
}
