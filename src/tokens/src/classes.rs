//! Classifies characters for the patterns, by a table from the build script.
//!
//! The bytes must be those of a `str`. Others give a wrong class, never a panic or an endless loop.

/// The class of a character. A class is a bit, so that a set of classes is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Class {
    /// None of the others: controls, what Unicode has not assigned.
    Other = 1,
    /// `\p{Lu}`, `\p{Lt}`
    Upper = 1 << 1,
    /// `\p{Ll}`
    Lower = 1 << 2,
    /// `\p{Lm}`, `\p{Lo}`: letters without case
    Caseless = 1 << 3,
    /// `\p{M}`
    Mark = 1 << 4,
    /// `\p{N}`
    Number = 1 << 5,
    /// `\s` but neither `\r` nor `\n`
    Space = 1 << 6,
    /// `\r` or `\n`
    Newline = 1 << 7,
    /// `[\p{P}\p{S}]`
    Symbol = 1 << 8,
}

/// Some classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set(u16);

impl Set {
    pub(crate) const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut rest = classes;
        while let [class, others @ ..] = rest {
            bits |= *class as u16;
            rest = others;
        }
        Self(bits)
    }

    #[inline(always)]
    pub(crate) fn has(self, class: Class) -> bool {
        self.0 & class as u16 != 0
    }
}

/// `\p{L}`
pub(crate) const LETTER: Set = Set::of(&[Class::Upper, Class::Lower, Class::Caseless]);
/// `[\p{L}\p{M}]`
pub(crate) const MARKED: Set = Set::of(&[Class::Upper, Class::Lower, Class::Caseless, Class::Mark]);
/// `[^\s\p{L}\p{N}]`
pub(crate) const SYMBOL: Set = Set::of(&[Class::Other, Class::Symbol, Class::Mark]);

/// The classes by their numbers in the table.
static NUMBERED: [Class; 9] = include!(concat!(env!("OUT_DIR"), "/classes.rs"));

static BLOCKS: &[u8; 8704] = include_bytes!(concat!(env!("OUT_DIR"), "/class_blocks.bin"));
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes.bin"));

/// Class of a code point.
#[inline(always)]
pub(crate) fn of(code_point: u32) -> Class {
    let block = BLOCKS.get((code_point >> 7) as usize).copied().unwrap_or(0);
    let at = usize::from(block) << 6 | (code_point >> 1 & 63) as usize;
    let number = CLASSES.get(at).copied().unwrap_or(0) >> ((code_point & 1) * 4) & 15;
    NUMBERED.get(usize::from(number)).copied().unwrap_or(Class::Other)
}

/// Code points of Chinese characters, first and last of each range: `\p{Han}`.
#[expect(clippy::unreadable_literal, reason = "no one reads the numbers there")]
static HAN: &[(u32, u32)] = include!(concat!(env!("OUT_DIR"), "/han.rs"));

/// Returns `true` if the character at `at` is Chinese.
#[inline(always)]
pub(crate) fn is_han(text: &[u8], at: usize) -> bool {
    let Some(point) = beyond_ascii(text, at) else { return false };
    (0x4e00..=0x9fff).contains(&point) || is_in(HAN, point)
}

/// Code points that are unassigned or came after Unicode 9.
#[expect(clippy::unreadable_literal, reason = "no one reads the numbers there")]
static NEWER: &[(u32, u32)] = include!(concat!(env!("OUT_DIR"), "/newer.rs"));

/// Returns `true` for a character that Unicode 9 does not have.
pub(crate) fn is_newer(character: char) -> bool {
    is_in(NEWER, u32::from(character))
}

/// Returns `true` if a code point is in one of these ascending ranges.
fn is_in(ranges: &[(u32, u32)], point: u32) -> bool {
    let at = ranges.partition_point(|&(_, last)| last < point);
    ranges.get(at).is_some_and(|&(first, _)| first <= point)
}

/// The code point at `at`, if it is not ASCII.
#[inline(always)]
pub(crate) fn beyond_ascii(text: &[u8], at: usize) -> Option<u32> {
    let lead = text.get(at).copied().filter(|&lead| lead >= 0x80)?;
    let next = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0) & 0x3f);
    let lead = u32::from(lead);
    Some(match lead {
        0x80..=0xdf => (lead & 0x1f) << 6 | next(1),
        0xe0..=0xef => (lead & 0x0f) << 12 | next(1) << 6 | next(2),
        _ => (lead & 0x07) << 18 | next(1) << 12 | next(2) << 6 | next(3),
    })
}

/// The character at `at`: its class and its length in bytes; `None` at the end of the text.
#[inline(always)]
pub(crate) fn at(text: &[u8], at: usize) -> Option<(Class, usize)> {
    let lead = *text.get(at)?;
    if lead < 0x80 {
        return Some((ASCII.get(usize::from(lead)).copied().unwrap_or(Class::Other), 1));
    }
    let len = match lead {
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    beyond_ascii(text, at).map(|point| (of(point), len))
}

/// The classes of ASCII: one load in the hottest loop. A test compares it to [`of`].
static ASCII: [Class; 128] = include!(concat!(env!("OUT_DIR"), "/ascii.rs"));
