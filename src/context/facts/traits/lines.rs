//! Hashes of the lines of a text, which show whether a line that an edit must quote is still in view. Lines are bare:
//! trimmed, without the number that a reading tool puts before them.

use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64;

use super::identifiers::{Collector, Identifier};
use crate::text::{self, NEWLINE};

/// Shortest line that counts, in UTF-16 code units: braces and `return;` occur everywhere.
pub const MIN_LEN: usize = 12;
/// Most lines kept of a message, and most rows of a layout: the 2 000 that reading tools return at once, and some more. They
/// take 8 and about 20 bytes each: at most 75 KB for a message, and 150 MB for a session of 2 000 messages.
pub const MAX_LINES: usize = 2_500;

const TAB: u16 = b'\t' as u16;
const SPACE: u16 = b' ' as u16;
const ARROW: u16 = '→' as u16;
const BAR: u16 = b'|' as u16;
const COLON: u16 = b':' as u16;
const DASH: u16 = b'-' as u16;
const LETTER: u16 = b'L' as u16;
const DOT: u16 = b'.' as u16;
const DIGITS: RangeInclusive<u16> = b'0' as u16..=b'9' as u16;

const LENGTH_BITS: u64 = 0b1111;
/// Classes of length, in UTF-16 code units.
const LENGTHS: [usize; 15] = [14, 20, 26, 32, 40, 50, 64, 80, 100, 128, 160, 200, 280, 400, 600];

/// The hash of a bare line, with its class of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(u64);

impl Line {
    /// The hash of a line; `None` if it is below the minimum length when bare.
    pub fn of(line: &[u16]) -> Option<Self> {
        let bare = bare(line);
        (bare.len() >= MIN_LEN).then(|| {
            let hash = xxh3_64(bytemuck::cast_slice(bare)) & !LENGTH_BITS;
            let class = LENGTHS.partition_point(|&length| length <= bare.len()) as u64;
            Self(hash | class)
        })
    }

    /// About its length in UTF-16 code units.
    pub fn units(self) -> usize {
        let class = (self.0 & LENGTH_BITS) as usize;
        class.checked_sub(1).and_then(|at| LENGTHS.get(at)).copied().unwrap_or(MIN_LEN)
    }
}

/// Trims a line and strips the number that reading tools put before it (`   37→`, `37<tab>`, `00037| `, `37 | `, `37: `, `37. `,
/// `L37: `) and searches (`37:`, `37-`). A number behind the colon or dash is a time or a date.
///
/// ```
/// use pi_strata::context::facts::traits::lines::bare;
/// let line: Vec<u16> = "   37→    let x = 1;\r".encode_utf16().collect();
/// assert_eq!(String::from_utf16_lossy(bare(&line)), "let x = 1;");
/// ```
pub fn bare(line: &[u16]) -> &[u16] {
    let line = trim(line);
    let number = line.strip_prefix(&[LETTER]).unwrap_or(line);
    let digits = number.iter().take_while(|unit| DIGITS.contains(*unit)).count();
    match number.get(digits..).unwrap_or_default() {
        _ if digits == 0 => line,
        [ARROW | TAB | BAR, rest @ ..] | [SPACE, BAR, rest @ ..] | [DOT, SPACE, rest @ ..] => trim(rest),
        [COLON | DASH, rest @ ..] if !rest.first().is_some_and(|unit| DIGITS.contains(unit)) => trim(rest),
        _ => line,
    }
}

/// Adds the lines of a text to `found`, up to [`MAX_LINES`].
pub fn add(text: &[u16], found: &mut Vec<Line>) {
    let room = MAX_LINES.saturating_sub(found.len());
    found.extend(text::lines(text).filter_map(Line::of).take(room));
}

/// The distinct lines of these texts, ascending, up to [`MAX_LINES`].
pub fn of_texts(texts: impl Iterator<Item: AsRef<[u16]>>) -> Box<[Line]> {
    let mut found = Vec::new();
    for text in texts {
        add(text.as_ref(), &mut found);
    }
    distinct(found)
}

/// Sorts lines and drops repeated ones.
pub fn distinct(mut lines: Vec<Line>) -> Box<[Line]> {
    lines.sort_unstable();
    lines.dedup();
    lines.into_boxed_slice()
}

/// A long tool result line by line, for cuts between lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Its lines, in order.
    pub rows: Box<[LayoutLine]>,
    identifiers: Box<[u32]>,
    /// Tokens of the text and of its markers.
    pub sizes: Sizes,
}

/// Tokens of a text and of the marker lines for its cut lines, and the lines that every cut shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Tokens of the whole text: fewer than the sum over its lines.
    pub text: u32,
    /// Tokens of each marker line.
    pub gap: u32,
    /// Tokens beyond that, once per text: the first marker says more, the last one names the handle.
    pub once: u32,
    /// Tokens of the marker line if nothing else stays.
    pub marker: u32,
    /// Lines at the beginning that every cut shows.
    pub least_head: u32,
    /// Lines at the end that every cut shows.
    pub least_tail: u32,
}

/// One line of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutLine {
    /// Index into the message's lines. `None` for a line below the minimum length.
    pub line: Option<u32>,
    /// Its tokens, with the line break.
    pub tokens: u32,
    end: u32,
}

impl Layout {
    /// Lays out `text`, whose message shows `lines` and `identifiers`; `None` for a text of a single line or of more
    /// than [`MAX_LINES`].
    pub fn of(
        text: &[u16],
        lines: &[Line],
        identifiers: &[Identifier],
        sizes: Sizes,
        count: impl Fn(&[u16]) -> usize,
    ) -> Option<Self> {
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for row in text.split_inclusive(|&unit| unit == NEWLINE) {
            if rows.len() == MAX_LINES {
                return None;
            }
            let mut collector = Collector::default();
            collector.text(row);
            let shown = collector.finish();
            places.extend(shown.iter().filter_map(|id| Some(identifiers.binary_search(id).ok()? as u32)));
            let line = Line::of(row).and_then(|line| lines.binary_search(&line).ok());
            let (line, tokens) = (line.map(|at| at as u32), count(row) as u32);
            rows.push(LayoutLine { line, tokens, end: places.len() as u32 });
        }
        (rows.len() > 1).then(|| Self { rows: rows.into(), identifiers: places.into(), sizes })
    }

    /// The identifiers in the row at `at`, as indices into the message's identifiers.
    pub fn identifiers(&self, at: usize) -> &[u32] {
        let end = |at: usize| self.rows.get(at).map_or(0, |row| row.end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.identifiers.get(start..end(at)).unwrap_or_default()
    }

    /// Positions of the names and the line in the row at `at`. The message's `names` names come first, then its lines.
    pub fn places(&self, at: usize, names: usize) -> impl Iterator<Item = usize> + '_ {
        let line = self.rows.get(at).and_then(|row| Some(names + row.line? as usize));
        self.identifiers(at).iter().map(|&place| place as usize).chain(line)
    }

    /// Returns `true` if every cut shows the row at `at`, as the host asked.
    pub fn is_end(&self, at: usize) -> bool {
        let Sizes { least_head, least_tail, .. } = self.sizes;
        at < least_head as usize || at + least_tail as usize >= self.rows.len()
    }

    /// Tokens of a part of the text, from the sum over its lines. Tokens across line breaks make it smaller.
    pub fn tokens_of(&self, line_by_line: usize) -> usize {
        let all: usize = self.rows.iter().map(|row| row.tokens as usize).sum();
        (line_by_line * self.sizes.text as usize).div_ceil(all.max(1))
    }
}

fn trim(text: &[u16]) -> &[u16] {
    let start = text.iter().position(|&unit| !is_white(unit)).unwrap_or(text.len());
    let end = text.iter().rposition(|&unit| !is_white(unit)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

fn is_white(unit: u16) -> bool {
    const BYTE_ORDER_MARK: u16 = 0xFEFF;
    unit == BYTE_ORDER_MARK || char::from_u32(u32::from(unit)).is_some_and(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::utf16;

    #[test]
    fn a_line_is_the_same_however_it_is_read() {
        let plain = Line::of(&utf16("    let answer = 42;")).expect("is long enough");
        for read in [
            "   37→    let answer = 42;",
            "37\tlet answer = 42;\r",
            "00037| let answer = 42;",
            "37: let answer = 42;",
            " 37 | let answer = 42;",
            "37. let answer = 42;",
            "L37: let answer = 42;",
            "37:    let answer = 42;",
            "37-    let answer = 42;",
        ] {
            assert_eq!(Line::of(&utf16(read)), Some(plain), "{read}");
        }
        assert_eq!(Line::of(&utf16("37 let answer = 42;")).map(|line| line == plain), Some(false));
        assert_eq!(Line::of(&utf16("  return x; ")), None);
        for (line, other) in
            [("12:30 is no number", "13:30 is no number"), ("2026-11-29 is a date", "2025-11-29 is a date")]
        {
            assert_ne!(Line::of(&utf16(line)), Line::of(&utf16(other)), "{line}");
        }
    }

    #[test]
    fn keeps_lines_once_and_no_more_than_it_may() {
        let text = utf16("the same line\nthe same line\nanother line here\nshort");
        assert_eq!(of_texts([&*text].into_iter()).len(), 2);
        let many =
            utf16(&(0..MAX_LINES + 5).map(|i| format!("line number {i:08}\n")).collect::<Vec<_>>().concat());
        assert_eq!(of_texts([&*many].into_iter()).len(), MAX_LINES);
        assert_eq!(Layout::of(&many, &[], &[], Sizes::default(), |_| 1), None);
    }

    #[test]
    fn lays_out_every_line_with_what_it_shows() {
        let text = utf16("alphabet and betatest\n}\nbetatest again and again\n");
        let mut collector = Collector::default();
        collector.text(&text);
        let identifiers = collector.finish();
        let lines = of_texts([&*text].into_iter());
        let layout =
            Layout::of(&text, &lines, &identifiers, Sizes::default(), <[u16]>::len).expect("has lines");
        let shown: Vec<usize> = (0..3).map(|at| layout.identifiers(at).len()).collect();
        assert_eq!(shown, [2, 0, 1]);
        assert_eq!(layout.rows.iter().map(|row| row.line.is_some()).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(layout.rows.iter().map(|row| row.tokens as usize).sum::<usize>(), text.len());
        assert_eq!(Layout::of(&utf16("one line alone"), &[], &[], Sizes::default(), |_| 1), None);
    }
}
