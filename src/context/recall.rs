//! Reading back what was summarised: pages of a tool result's text, and matches in it.
//!
//! No answer is longer than a page. A pattern runs on an engine whose time is linear in the text, and is taken
//! literally where it is no pattern. Where the tool result with a handle is found is the caller's business.

use std::fmt::Write;
use std::ops::Range;

use regex::{Regex, RegexBuilder, escape};

use crate::contract::RECALL_MAX_PAGE_CHARS;
use crate::text::{NEWLINE, Utf16Len, head, tail, utf16};

/// Matches reported at once.
const MAX_MATCHES: usize = 50;
/// Bytes of UTF-8 that are shown of a line on each side of a match.
const CONTEXT_BYTES: usize = 200;
/// Memory one compiled pattern may take: what a model writes by hand needs some kilobytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The question of the model.
#[derive(Clone, Debug)]
pub struct Query {
    /// First UTF-16 unit of the page, or where the search begins.
    pub offset: Utf16Len,
    /// Length of the page.
    pub limit: Utf16Len,
    /// Show matches of this in place of a page.
    pub pattern: Option<String>,
}

/// The answer to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The page or the matches.
    pub text: Vec<u16>,
    /// Offset to go on at; `None` at the end.
    pub next: Option<Utf16Len>,
    /// Matches shown, if there was a pattern.
    pub matches: Option<usize>,
}

/// Answers a query about `text`.
///
/// ```
/// use pi_strata::context::recall::{Query, read};
/// use pi_strata::contract::RECALL_PAGE_CHARS;
/// use pi_strata::text::Utf16Len;
///
/// let text: Vec<u16> = "fn main() {\n    run();\n}".encode_utf16().collect();
/// let query = Query { offset: Utf16Len(0), limit: RECALL_PAGE_CHARS, pattern: Some("run".to_owned()) };
/// let answer = read(&text, &query);
/// assert_eq!(answer.matches, Some(1));
/// assert!(String::from_utf16_lossy(&answer.text).ends_with("@12:     run();"));
/// ```
pub fn read(text: &[u16], query: &Query) -> Reading {
    match &query.pattern {
        Some(pattern) => search(text, query.offset, pattern),
        None => page(text, query),
    }
}

/// Up to `limit` units from `offset` on, ending after a line where the second half of the page has one's end.
fn page(text: &[u16], query: &Query) -> Reading {
    let (start, rest) = from(text, query.offset);
    let limit = query.limit.clamp(Utf16Len(2), RECALL_MAX_PAGE_CHARS);
    let mut page = head(rest, limit);
    if page.len() < rest.len() {
        let whole_lines = page.iter().rposition(|&unit| unit == NEWLINE).map_or(0, |at| at + 1);
        if whole_lines > page.len() / 2 {
            page = head(page, Utf16Len(whole_lines));
        }
    }
    let end = start + page.len();
    let left = text.len() - end;
    let mut answer = utf16(&format!("[characters {start} to {end} of {}]\n", text.len()));
    answer.extend(page);
    if left > 0 {
        answer.extend(utf16(&format!("\n[{left} more characters; go on with offset {end}]")));
    }
    Reading { text: answer, next: (left > 0).then_some(Utf16Len(end)), matches: None }
}

/// The text from `offset` on, or one unit later where that is the second half of a surrogate pair.
fn from(text: &[u16], offset: Utf16Len) -> (usize, &[u16]) {
    let rest = tail(text, Utf16Len(text.len().saturating_sub(offset.0)));
    (text.len() - rest.len(), rest)
}

/// The lines around the matches from `offset` on, each with the offset at which it can be read.
fn search(text: &[u16], offset: Utf16Len, pattern: &str) -> Reading {
    let (start, rest) = from(text, offset);
    // A lone surrogate becomes one character of one unit, so offsets stay the same.
    let haystack = String::from_utf16_lossy(rest);
    let (regex, is_literal) = compile(pattern);
    let mut found = String::new();
    // Positions are asked for in rising order, so that the text is passed once.
    let (mut passed, mut unit) = (0, start);
    let mut unit_at = |byte: usize| {
        if let Some(between) = haystack.get(passed..byte) {
            unit += between.encode_utf16().count();
            passed = byte;
        }
        unit
    };
    let (mut shown, mut next, mut shown_until) = (0, None, 0);
    let hits = regex.iter().flat_map(|regex| regex.find_iter(&haystack));
    for range in hits.map(|hit| hit.range()) {
        if range.start < shown_until {
            continue;
        }
        let excerpt = excerpt(&haystack, &range);
        if shown == MAX_MATCHES || found.len() + excerpt.len() > RECALL_MAX_PAGE_CHARS.0 {
            next = Some(Utf16Len(unit_at(range.start)));
            break;
        }
        let at = unit_at(excerpt.start);
        let _ = writeln!(found, "@{at}: {}", haystack.get(excerpt.clone()).unwrap_or_default());
        shown_until = excerpt.end.max(range.start + 1);
        shown += 1;
    }
    let note = if is_literal { " (searched literally: it is no regular expression here)" } else { "" };
    let mut answer = match shown {
        0 => format!("[no match from character {start} on{note}; the text has {} characters]", text.len()),
        _ => format!("[matches from character {start} on{note}; @N is an offset to read at]\n{found}"),
    };
    if let Some(Utf16Len(next)) = next {
        let _ = write!(answer, "[more matches; go on with offset {next}]");
    }
    Reading { text: utf16(answer.trim_end()), next, matches: Some(shown) }
}

/// The pattern, compiled, and whether it was taken literally: where it is none, uses look-around or back references,
/// or would grow too large. A literal too long to compile matches nothing.
fn compile(pattern: &str) -> (Option<Regex>, bool) {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern).multi_line(true).size_limit(MAX_PATTERN_BYTES).build().ok()
    };
    match build(pattern) {
        Some(regex) => (Some(regex), false),
        None => (build(&escape(pattern)), true),
    }
}

/// The part of the line around a match that is shown; of a match over several lines, its first.
fn excerpt(text: &str, hit: &Range<usize>) -> Range<usize> {
    let before = text.get(..hit.start).unwrap_or_default();
    let after = text.get(hit.start..).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = hit.start + after.find('\n').unwrap_or(after.len());
    let start = text.ceil_char_boundary(line_start.max(hit.start.saturating_sub(CONTEXT_BYTES)));
    let end = text.ceil_char_boundary(line_end.min(hit.end.min(hit.start + CONTEXT_BYTES) + CONTEXT_BYTES));
    start..end
}
