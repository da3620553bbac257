//! The index of what the context shows: the names and lines of its messages, how many messages still show each, and the
//! expected loss with the last of them.
//!
//! Text is needed again as memory has it: the more often it was used, the likelier; the longer ago, the less, as a
//! hyperbola. Answers name names, copy lines, and quote the lines of files in edits. An edit makes the lines it replaces
//! stale, whatever call showed them.

use std::collections::HashMap;
use std::sync::Arc;

use super::weights::{
    EDITING_HALF_LIFE, FAR, Forgetting, NEW_NAME, OWN_LINE, READ_LINE, SHOWN_UNIT, USED_NAME, USUAL_EDITS,
    USUAL_FROM_MEMORY, WRITTEN_UNIT,
};
use crate::context::facts::traits::identifiers::Identifier;
use crate::context::facts::traits::lines::Line;
use crate::context::facts::traits::target::{File, Target};
use crate::context::facts::traits::{ByHash, Traits};
use crate::context::request::plan::Keep;

/// Positions in the index of what a message shows: its names in their order, then its lines in theirs.
pub type Numbers = Arc<[u32]>;

/// All names and lines seen so far, and the work on files.
#[derive(Clone, Debug, Default)]
pub struct CoverageIndex {
    names: HashMap<Identifier, u32, ByHash>,
    lines: HashMap<Line, u32, ByHash>,
    pieces: Vec<Piece>,
    /// Calls so far.
    calls: u32,
    /// The calls that changed files, ascending.
    edits: Vec<u32>,
    /// Those of them that replaced a line last shown at least [`FAR`] calls before.
    edits_from_memory: u32,
    /// The last call that read or changed a file, by the file's name.
    touched: HashMap<u64, u32, ByHash>,
}

/// A name or a line.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// Messages in the context that show it.
    holders: u32,
    /// The call after which a new message last showed it.
    last_shown: u32,
    /// Answers that showed it, and the last of them.
    uses: u32,
    last_use: u32,
    /// UTF-16 code units of a line, about; 0 for a name.
    units: u16,
    /// Lines of the message that last showed it.
    company: u32,
    /// The name of the file that a line stands in.
    file: Option<u64>,
    /// True if an edit replaced the line and nothing has shown it since.
    is_stale: bool,
}

impl CoverageIndex {
    /// Starts the next call: everything known grows older by one.
    pub fn tick(&mut self) {
        self.calls += 1;
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// The positions of these names and lines; new ones are entered.
    pub fn number(&mut self, names: &[Identifier], lines: &[Line]) -> Numbers {
        let pieces = &mut self.pieces;
        let mut new = |units: u16| {
            pieces.push(Piece { units, ..Piece::default() });
            pieces.len() as u32 - 1
        };
        let mut numbers = Vec::with_capacity(names.len() + lines.len());
        numbers.extend(names.iter().map(|name| *self.names.entry(*name).or_insert_with(|| new(0))));
        let mut of_line = |line: &Line| {
            let units = line.units() as u16;
            *self.lines.entry(*line).or_insert_with(|| new(units))
        };
        numbers.extend(lines.iter().map(&mut of_line));
        numbers.into()
    }

    /// A new message with these traits shows `numbers`. `target` is that of the call it is the result of.
    pub fn enter(&mut self, numbers: &[u32], traits: &Traits, is_answer: bool, target: Option<&Target>) {
        self.note_edit(&traits.targets);
        let file = target.and_then(|target| target.files.first()).map(|file| file.path.name_hash());
        let (calls, company) = (self.calls, traits.lines.len() as u32);
        self.each(numbers, |piece| {
            piece.holders += 1;
            (piece.last_shown, piece.company, piece.is_stale) = (calls, company, false);
            piece.file = file.or(piece.file);
            if is_answer {
                (piece.uses, piece.last_use) = (piece.uses + 1, calls);
            }
        });
        self.touched.extend(file.map(|file| (file, calls)));
        for file in traits.targets.iter().flat_map(|target| &target.files) {
            self.change(file);
        }
    }

    /// Counts an answer that edits files, and whether it does so from memory.
    fn note_edit(&mut self, targets: &[Target]) {
        let files = targets.iter().flat_map(|target| &target.files);
        let mut changes = files.filter_map(|file| file.change.as_ref()).filter(|change| !change.is_empty());
        let calls = self.calls;
        let is_far = |line: &Line| {
            let piece = self.lines.get(line).and_then(|&number| self.pieces.get(number as usize));
            piece.is_some_and(|piece| piece.file.is_some() && piece.last_shown + FAR <= calls)
        };
        let Some(first) = changes.next() else { return };
        let is_from_memory = first.old.iter().chain(changes.flat_map(|change| &change.old)).any(is_far);
        self.edits_from_memory += u32::from(is_from_memory);
        self.edits.push(calls);
    }

    /// A call writes lines into a file, and those it replaces stand there no more.
    fn change(&mut self, file: &File) {
        let Some(change) = file.change.as_ref().filter(|change| !change.is_empty()) else { return };
        let name = file.path.name_hash();
        self.touched.insert(name, self.calls);
        let of = |lines: &[Line]| -> Vec<u32> {
            lines.iter().filter_map(|line| self.lines.get(line)).copied().collect()
        };
        let (old, new) = (of(&change.old), of(&change.new));
        self.each(&old, |piece| (piece.file, piece.is_stale) = (None, true));
        self.each(&new, |piece| (piece.file, piece.is_stale) = (Some(name), false));
    }

    /// A message no longer shows these.
    pub fn hide(&mut self, numbers: &[u32]) {
        self.each(numbers, |piece| piece.holders = piece.holders.saturating_sub(1));
    }

    /// A message shows these again, in its edited form.
    pub fn show(&mut self, numbers: &[u32]) {
        self.each(numbers, |piece| piece.holders += 1);
    }

    /// Why a piece is worth keeping.
    #[must_use]
    pub fn cause(&self, number: u32) -> Option<Keep> {
        Some(match self.pieces.get(number as usize)? {
            Piece { units: 0, uses: 0, .. } => Keep::NewNames,
            Piece { units: 0, .. } => Keep::UsedNames,
            Piece { uses: 0, .. } => Keep::FileLines,
            _ => Keep::OwnLines,
        })
    }

    /// True if an answer after that call used any name among `numbers`.
    #[must_use]
    pub fn is_used_since(&self, call: u32, numbers: &[u32]) -> bool {
        let mut pieces = numbers.iter().filter_map(|&number| self.pieces.get(number as usize));
        pieces.any(|piece| piece.units == 0 && piece.last_use > call)
    }

    /// Expected uses lost with all the messages that show `numbers`: ascending, once for each message.
    #[must_use]
    pub fn loss_of_all(&self, numbers: &[u32]) -> f64 {
        let runs = numbers.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some(self.loss(*run.first()?, run.len() as u32))).sum()
    }

    /// Expected uses lost with this many of the messages that show `number`: nothing where another one does.
    #[must_use]
    pub fn loss(&self, number: u32, holders_gone: u32) -> f64 {
        let piece = self.pieces.get(number as usize).filter(|piece| piece.holders <= holders_gone);
        piece.map_or(0.0, |piece| if piece.units == 0 { self.of_name(piece) } else { self.of_line(piece) })
    }

    fn of_name(&self, piece: &Piece) -> f64 {
        if piece.uses == 0 {
            return NEW_NAME.after(self.age(piece.last_shown));
        }
        USED_NAME.after(self.age(piece.last_use)) * f64::from(piece.uses).sqrt()
    }

    /// The loss of copies, and of quotes in edits.
    fn of_line(&self, piece: &Piece) -> f64 {
        let is_own = piece.uses > 0;
        let unit = if is_own { WRITTEN_UNIT } else { SHOWN_UNIT };
        let copied = unit.after(self.age(piece.last_shown)) * f64::from(piece.units);
        let Some(file) = piece.file else { return if piece.is_stale { 0.0 } else { copied } };
        let (quoted, since, share) = if is_own {
            (OWN_LINE, piece.last_shown, 1.0)
        } else {
            (READ_LINE, self.first_edit_after(piece.last_shown), self.share_from_memory())
        };
        // Where the model works on a file, it may come back to any line of it.
        let since = self.touched.get(&file).map_or(since, |&touched| touched.max(since));
        copied + share * quoted.after(self.age(since)) / f64::from(piece.company.max(1)).sqrt().sqrt()
    }

    /// The first call after that one that edited anything; the latest where none did.
    fn first_edit_after(&self, call: u32) -> u32 {
        let first = self.edits.partition_point(|&edit| edit <= call);
        self.edits.get(first).copied().unwrap_or(self.calls)
    }

    /// The share of edits that are made from memory, the less the longer nothing was edited.
    fn share_from_memory(&self) -> f64 {
        let memory = f64::from(self.edits_from_memory) + USUAL_FROM_MEMORY * USUAL_EDITS;
        let worth = memory / (self.edits.len() as f64 + USUAL_EDITS);
        let since = self.age(self.edits.last().copied().unwrap_or(0));
        Forgetting { worth, half_life: EDITING_HALF_LIFE }.after(since)
    }

    fn age(&self, call: u32) -> f64 {
        f64::from(self.calls.saturating_sub(call))
    }

    fn each(&mut self, numbers: &[u32], mut change: impl FnMut(&mut Piece)) {
        for &number in numbers {
            self.pieces.get_mut(number as usize).into_iter().for_each(&mut change);
        }
    }
}

#[cfg(test)]
#[path = "index/tests.rs"]
mod tests;
