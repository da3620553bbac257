//! The lines of the index, and what would be lost with the last copy of one.
//!
//! A line is known by its hash alone, wherever it stands: in a result, in a patch, in what a call writes.

use super::files::Files;
use super::value::{LineHistory, copy_worth, line_worth};
use super::weights::{EDITING_HALF_LIFE, Forgetting, USUAL_EDITS, USUAL_FROM_MEMORY};
use crate::context::traits::lines::Line;

/// The work so far: the files, and what the session tells of how its agent edits.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(super) files: Files,
    pub(super) edits: Edits,
    /// Calls so far.
    pub(super) calls: u32,
}

/// The edits of a session: when they came, and how many of them the model made from memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    /// The calls that changed files, ascending.
    pub(super) calls: Vec<u32>,
    /// Those of them that replaced a line seen at least [`FAR`](super::weights::FAR) calls before.
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
    pub(super) units: u16,
    /// True if an edit replaced it and nothing has shown it since: no answer copies it then.
    pub(super) is_replaced: bool,
    /// True if the model wrote it itself.
    pub(super) is_own: bool,
}

impl Work {
    /// Expected loss with the last copy of a line.
    #[must_use]
    pub fn worth(&self, line: &ShownLine, calls_since_shown: u32) -> f64 {
        let copied =
            if line.is_replaced { 0.0 } else { copy_worth(line.is_own, line.units, calls_since_shown) };
        let Some(file) = line.file.and_then(|file| self.files.row(file)) else { return copied };
        copied
            + line_worth(LineHistory {
                file_lines: file.lines,
                company: line.company,
                calls_since_seen: self.calls.saturating_sub(line.last_seen),
                calls_since_edit: self.edits.since_first_after(line.last_seen, self.calls),
                from_memory: self.edits.share_from_memory(self.calls),
                calls_since_touched: self.calls.saturating_sub(file.last_touch),
                is_own: line.is_own,
            })
    }
}

impl Edits {
    /// The share of edits that are made from memory, the less the longer nothing was edited.
    fn share_from_memory(&self, now: u32) -> f64 {
        let (edits, usual) = (self.calls.len() as f64, USUAL_FROM_MEMORY * USUAL_EDITS);
        let chance = (f64::from(self.from_memory) + usual) / (edits + USUAL_EDITS);
        let last = self.calls.last().copied().unwrap_or(0);
        Forgetting { worth: chance, half_life: EDITING_HALF_LIFE }.after(f64::from(now.saturating_sub(last)))
    }

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
        Self { file: None, last_seen: 0, company: 0, units, is_replaced: false, is_own: false }
    }
}
