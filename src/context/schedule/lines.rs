//! The lines of the index, and what would be lost with the last copy of one.
//!
//! A line is known by its hash alone, wherever it stands: in a result, in a patch, in what a call writes.

use std::sync::Arc;

use super::files::Files;
use super::value::{CopyHistory, LineHistory, copy_worth, line_worth};
use super::weights::{FAR, Origin, TELLING_LINE, USUAL_EDITS, USUAL_LINES};
use crate::context::traits::lines::Line;

/// Who shows something to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The model: a use.
    Assistant,
    /// A tool.
    Tool,
    /// The user, the prompt or a summary mentions it.
    Other,
}

/// The work so far: the files, and what the session tells of how its agent edits and copies.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(super) files: Arc<Files>,
    pub(super) edits: Edits,
    copies: Copies,
    /// Calls so far.
    pub(super) calls: u32,
}

/// Lines that the model showed, and how many of them it had from memory.
#[derive(Clone, Copy, Debug, Default)]
struct Copies {
    lines: u32,
    from_memory: u32,
}

/// The edits of a session: when they came, and how many of them the model made from memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    /// The calls that changed files, ascending.
    pub(super) calls: Vec<u32>,
    /// Those of them that replaced a line seen at least [`FAR`] calls before.
    pub(super) from_memory: u32,
}

/// A line of the index.
#[derive(Clone, Copy, Debug)]
pub struct ShownLine {
    /// The file it was last seen in.
    pub(super) file: Option<u32>,
    /// The call that showed or wrote it there.
    pub(super) last_seen: u32,
    /// Lines that were shown or written along with it, itself among them.
    pub(super) company: u32,
    /// About how many UTF-16 code units it has.
    units: u16,
    /// Answers that showed it after another message had, or once more.
    copies: u16,
    /// The first to show it; `None` before, and once an edit replaced it: no answer copies it then.
    pub(super) speaker: Option<Speaker>,
    /// True if the model wrote it itself.
    pub(super) is_own: bool,
}

impl Work {
    /// A new message shows a line that was last shown after the call `last_shown`.
    pub fn enter(&mut self, line: &mut ShownLine, speaker: Speaker, last_shown: u32) {
        if speaker == Speaker::Assistant && line.units >= TELLING_LINE {
            self.copies.lines += 1;
            if line.speaker.is_some() {
                line.copies = line.copies.saturating_add(1);
                self.copies.from_memory += u32::from(last_shown + FAR <= self.calls);
            }
        }
        line.speaker.get_or_insert(speaker);
    }

    /// Expected loss with the last copy of a line.
    #[must_use]
    pub fn worth(&self, line: &ShownLine, calls_since_shown: u32) -> f64 {
        let history = CopyHistory {
            units: line.units,
            copies: line.copies,
            calls_since_shown,
            from_memory: USUAL_LINES.share_of(self.copies.from_memory, self.copies.lines as usize),
        };
        let copied = line.origin().map_or(0.0, |origin| copy_worth(origin, history));
        let Some(file) = line.file.and_then(|file| self.files.row(file)) else { return copied };
        copied
            + line_worth(LineHistory {
                file_lines: file.lines,
                company: line.company,
                calls_since_seen: self.calls.saturating_sub(line.last_seen),
                calls_since_edit: self.edits.since_first_after(line.last_seen, self.calls),
                from_memory: USUAL_EDITS.share_of(self.edits.from_memory, self.edits.calls.len()),
                calls_since_touched: self.calls.saturating_sub(file.last_touch),
                is_own: line.is_own,
            })
    }
}

impl Edits {
    /// Calls since the first edit after that of `seen`; none where nothing was edited since.
    fn since_first_after(&self, seen: u32, now: u32) -> u32 {
        let first = self.calls.partition_point(|&call| call <= seen);
        self.calls.get(first).map_or(0, |&call| now.saturating_sub(call))
    }
}

impl ShownLine {
    /// One that nobody showed yet.
    pub fn new(line: Line) -> Self {
        let units = line.units() as u16;
        Self { file: None, last_seen: 0, company: 0, units, copies: 0, speaker: None, is_own: false }
    }

    fn origin(&self) -> Option<Origin> {
        Some(match self.speaker? {
            _ if self.is_own => Origin::Written,
            Speaker::Assistant => Origin::Said,
            Speaker::Tool if self.file.is_some() => Origin::Read,
            Speaker::Tool => Origin::Output,
            Speaker::Other => Origin::Told,
        })
    }
}
