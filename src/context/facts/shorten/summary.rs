//! The hook's summary of a long tool result: its first lines, a marker line, its last lines.

use serde::Deserialize;

use super::marker::MarkerLanguage;
use crate::contract::{MIN_SUMMARY_CHARS, SUMMARY_HEAD_LINES, SUMMARY_TAIL_LINES};
use crate::text::{NEWLINE, Utf16Len, clip_middle, line_count, lines};

/// Longest line that a summary shows whole.
const LINE_LEN: Utf16Len = Utf16Len(500);

/// First and last lines of a text around a marker line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineSummary {
    /// Lines kept from the beginning.
    pub head_lines: usize,
    /// Lines kept from the end.
    pub tail_lines: usize,
    /// Lines at the beginning that every cut between lines shows.
    #[serde(default)]
    pub least_head: u32,
    /// Lines at the end that every such cut shows.
    #[serde(default)]
    pub least_tail: u32,
    /// Only longer texts are summarised.
    pub min_len: Utf16Len,
}

impl Default for LineSummary {
    fn default() -> Self {
        Self {
            head_lines: SUMMARY_HEAD_LINES,
            tail_lines: SUMMARY_TAIL_LINES,
            least_head: 0,
            least_tail: 0,
            min_len: MIN_SUMMARY_CHARS,
        }
    }
}

impl LineSummary {
    /// The summary of `text`: first lines, the marker, last lines; `None` if it would not be shorter.
    ///
    /// `marker` gets the number of lines left out and the original length.
    ///
    /// ```
    /// use pi_strata::context::facts::shorten::{LineSummary, MarkerLanguage};
    ///
    /// let lines: Vec<String> = (1..=100).map(|number| format!("line {number}")).collect();
    /// let text: Vec<u16> = lines.join("\n").encode_utf16().collect();
    /// let marker = |omitted, original| MarkerLanguage::En.marker(omitted, original);
    /// let summary = LineSummary::default().summarize(&text, marker).expect("is shorter");
    /// assert_eq!(
    ///     String::from_utf16_lossy(&summary),
    ///     "line 1\nline 2\nline 3\n[... 95 lines omitted, 791 characters originally ...]\nline 99\nline 100"
    /// );
    /// ```
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
        // In a short text head and tail overlap: no line is shown twice.
        let tail_lines = self.tail_lines.min(count.saturating_sub(self.head_lines));
        let shown = |line: &[u16]| clip_middle(line, LINE_LEN);
        let mut kept: Vec<Vec<u16>> = lines(text).take(self.head_lines).map(shown).collect();
        kept.push(marker(omitted, Utf16Len(text.len())));
        let last: Vec<Vec<u16>> = lines(text).rev().take(tail_lines).map(shown).collect();
        kept.extend(last.into_iter().rev());
        let summary = kept.join(&NEWLINE);
        (summary.len() < text.len()).then_some(summary)
    }

    /// Returns `true` if `text` is already a summary: its marker states a longer original.
    fn is_summary(&self, text: &[u16]) -> bool {
        let most = self.head_lines + self.tail_lines + 1;
        let marked = lines(text).take(self.head_lines + 1).find_map(MarkerLanguage::original_len);
        marked.is_some_and(|original| original > Utf16Len(text.len())) && line_count(text) <= most
    }
}
