//! Layer 1, old tool results: which may be summarised, and the text that replaces one.
//!
//! Positions count from the end of the transcript, not by turn: one question can set off dozens of calls.

use super::Limits;
use crate::account::Account;
use crate::cuts::cut_text;
use crate::text::{Utf16Len, clip_middle, first_lines, last_lines, line_count};

/// Lines kept from the beginning of a summarised result. Documented default of the hook.
pub const SUMMARY_HEAD_LINES: usize = 3;
/// Lines kept from its end. Documented default of the hook.
pub const SUMMARY_TAIL_LINES: usize = 2;
/// Results up to this length are never summarised. Documented default of the hook.
pub const MIN_SUMMARY_LEN: Utf16Len = Utf16Len(500);
/// A longer kept line is cut to this. Documented default of the hook.
pub const SUMMARY_LINE_LEN: Utf16Len = Utf16Len(500);

const NEWLINE: u16 = b'\n' as u16;

/// How a long tool result is made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shortening {
    /// First and last lines around a marker: the hook's summary.
    Lines(Form),
    /// Head and tail around a note of what is missing: the guard's cap.
    Ends(Cap),
}

/// A bound on the length of a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cap {
    /// Only longer texts are cut.
    pub max_len: Utf16Len,
    /// How much of the beginning stays.
    pub head: Utf16Len,
    /// How much of the end stays.
    pub tail: Utf16Len,
}

impl Cap {
    /// Head and tail of `text`; `None` if it is within the bound or would not get shorter.
    #[must_use]
    pub fn cut(&self, text: &[u16]) -> Option<Vec<u16>> {
        if text.len() <= self.max_len.0 || self.head.0.saturating_add(self.tail.0) >= text.len() {
            return None;
        }
        Some(cut_text(text, self.head, self.tail)).filter(|cut| cut.len() < text.len())
    }
}

/// The form of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Lines kept from the beginning.
    pub head_lines: usize,
    /// Lines kept from the end.
    pub tail_lines: usize,
    /// Only longer texts are summarised.
    pub min_len: Utf16Len,
    /// A longer kept line is cut to this.
    pub line_len: Utf16Len,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            head_lines: SUMMARY_HEAD_LINES,
            tail_lines: SUMMARY_TAIL_LINES,
            min_len: MIN_SUMMARY_LEN,
            line_len: SUMMARY_LINE_LEN,
        }
    }
}

impl Form {
    /// The summary of `text`: first lines, the marker, last lines; `None` if it would not be shorter.
    ///
    /// `marker` gets the number of lines left out and the original length.
    pub fn summarize(
        &self,
        text: &[u16],
        marker: impl FnOnce(usize, Utf16Len) -> Vec<u16>,
    ) -> Option<Vec<u16>> {
        if text.len() <= self.min_len.0 || self.is_summary(text) {
            return None;
        }
        let count = line_count(text);
        let omitted = count.saturating_sub(self.head_lines + self.tail_lines);
        // With few lines those at the end are the same as those at the beginning: none is shown twice.
        let tail_lines = self.tail_lines.min(count.saturating_sub(self.head_lines));
        let shown = |line: &[u16]| clip_middle(line, self.line_len);
        let mut lines: Vec<Vec<u16>> = first_lines(text, self.head_lines).map(shown).collect();
        lines.push(marker(omitted, Utf16Len(text.len())));
        lines.extend(last_lines(text, tail_lines).into_iter().map(shown));
        let summary = lines.join(&NEWLINE);
        (summary.len() < text.len()).then_some(summary)
    }
}

impl Form {
    /// Whether `text` is a summary of this form that came back: its marker says that the original was longer.
    fn is_summary(&self, text: &[u16]) -> bool {
        let most = self.head_lines + self.tail_lines + 1;
        let mut lines = text.split(|&unit| unit == NEWLINE);
        let marked = lines.by_ref().take(self.head_lines + 1).find_map(original_len);
        marked.is_some_and(|original| original > Utf16Len(text.len())) && line_count(text) <= most
    }
}

/// The original length that a marker line states; `None` for any other line.
fn original_len(line: &[u16]) -> Option<Utf16Len> {
    /// Twice as long as any marker with a handle.
    const LONGEST_MARKER: usize = 120;
    let line = String::from_utf16(line.get(..line.len().min(LONGEST_MARKER))?).ok()?;
    let words = line.strip_prefix("[... ")?;
    let rest = match words.strip_prefix("已省略 ") {
        Some(zh) => zh.split_once(" 行，原始 ")?.1,
        None => words.split_once(" lines omitted, ")?.1,
    };
    let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok().map(Utf16Len)
}

/// The marker line, in one of the two languages it comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkerLanguage {
    /// Chinese, the default.
    Zh,
    /// English.
    En,
}

impl MarkerLanguage {
    /// The marker for `omitted` lines left out of a text of `original` length.
    #[must_use]
    pub fn marker(self, omitted: usize, original: Utf16Len) -> Vec<u16> {
        let Utf16Len(original) = original;
        let marker = match self {
            Self::Zh => format!("[... 已省略 {omitted} 行，原始 {original} 字符 ...]"),
            Self::En => format!("[... {omitted} lines omitted, {original} characters originally ...]"),
        };
        marker.encode_utf16().collect()
    }

    /// The marker for one of several gaps; the first says more, it is [`marker`](Self::marker).
    #[must_use]
    pub fn gap(self, omitted: usize) -> Vec<u16> {
        let marker = match self {
            Self::Zh => format!("[... 已省略 {omitted} 行 ...]"),
            Self::En => format!("[... {omitted} lines omitted ...]"),
        };
        marker.encode_utf16().collect()
    }

    /// What a marker ends with where the model can ask for the original by this handle.
    #[must_use]
    pub fn handle(self, handle: &str) -> Vec<u16> {
        let ending = match self {
            Self::Zh => format!(" 句柄：{handle}"),
            Self::En => format!(" handle: {handle}"),
        };
        ending.encode_utf16().collect()
    }
}

/// The old tool results: all but the newest, in order.
#[must_use]
pub fn old<'a>(account: &'a Account, limits: &Limits) -> &'a [usize] {
    let results = account.results();
    results.get(..results.len().saturating_sub(limits.keep_recent_tool_results)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(text: &str) -> Option<String> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let summary = Form::default().summarize(&units, |x, y| MarkerLanguage::Zh.marker(x, y))?;
        Some(String::from_utf16(&summary).expect("cuts keep text valid"))
    }

    #[test]
    fn keeps_three_lines_the_marker_and_two_lines() {
        let text = (1..=200).map(|i| format!("line {i}")).collect::<Vec<_>>().join("\n");
        let length = text.len();
        assert_eq!(
            summary(&text).as_deref(),
            Some(&*format!(
                "line 1\nline 2\nline 3\n[... 已省略 195 行，原始 {length} 字符 ...]\nline 199\nline 200"
            ))
        );
    }

    #[test]
    fn leaves_five_hundred_alone_and_takes_five_hundred_and_one() {
        let lines = "x\n".repeat(249);
        assert_eq!(summary(&format!("{lines}xx")), None);
        assert!(summary(&format!("{lines}xxx")).is_some_and(|text| text.contains("245 行，原始 501 字符")));
    }

    #[test]
    fn long_lines_show_their_beginning_and_their_end_and_no_half_of_a_pair() {
        let line = format!("{}😀{}", "a".repeat(349), "b".repeat(3000));
        let text = summary(&line).expect("is shorter");
        assert_eq!(
            text,
            format!("{}…{}\n[... 已省略 0 行，原始 3351 字符 ...]", "a".repeat(349), "b".repeat(149))
        );
    }

    #[test]
    fn no_line_is_shown_twice() {
        let line = |number: usize| format!("{number}{}", "x".repeat(400));
        for count in 2..=5 {
            let lines: Vec<String> = (0..count).map(line).collect();
            let text = lines.join("\n");
            // With the marker it would be longer than the text: then the text stays.
            assert_eq!(summary(&text), None, "{count} lines");
        }
        let long = format!("{}\n{}", "y".repeat(2000), line(1));
        let text = summary(&long).expect("is shorter");
        assert_eq!(text.matches(&line(1)).count(), 1);
        assert!(text.ends_with("字符 ...]"));
    }

    #[test]
    fn a_summary_that_is_not_shorter_is_none() {
        assert_eq!(summary(&"a".repeat(520)), None);
    }
}
