//! The index of every name and line shown: how often and when answers used it, and the uses lost with its last visible copy.
//! Answers repeat names, copy lines, and quote lines of files in edits. A piece is likelier to be used again the more
//! answers used it. The chance falls with each call since, as a hyperbola. An edit makes the lines it replaces stale,
//! whatever call showed them.

use rustc_hash::FxHashMap;

use super::pieces::MessagePieces;
use crate::context::facts::traits::Traits;
use crate::context::facts::traits::identifiers::Identifier;
use crate::context::facts::traits::lines::Line;
use crate::context::facts::traits::target::{File, Target};
use crate::context::request::account::Account;
use crate::context::request::plan::{Keep, Reason};
use crate::context::weights::{EDITING, NEW_NAME, OWN_LINE, READ_LINE, SHOWN_UNIT, USED_NAME, WRITTEN_UNIT};

/// All names and lines shown so far, and the edits of files.
#[derive(Clone, Debug, Default)]
pub struct CoverageIndex {
    names: FxHashMap<Identifier, u32>,
    lines: FxHashMap<Line, u32>,
    pieces: Vec<Piece>,
    /// Ids of the names and lines of each message, by position.
    messages: Vec<MessagePieces>,
    /// Calls so far.
    pub(super) calls: u32,
    /// The calls that changed files, ascending.
    edits: Vec<u32>,
    /// The last call that read or changed a file, by the file's name.
    touched: FxHashMap<u64, u32>,
}

/// A name or a line.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// The call after which a new message last showed it.
    last_shown: u32,
    /// Number of answers that showed it.
    uses: u32,
    /// The last answer that showed it.
    last_use: u32,
    /// Approximate length of a line in UTF-16 code units; 0 for a name.
    units: u16,
    place: Place,
}

/// The file that holds a line.
#[derive(Clone, Copy, Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    /// In the file of this name.
    File(u64),
    /// In no file any more: an edit replaced it, and no message has shown it since.
    Replaced,
}

impl CoverageIndex {
    /// Adds the new messages of `account`.
    pub fn catch_up(&mut self, account: &Account) {
        for row in account.rows().iter().skip(self.messages.len()) {
            let (message, traits) = (&row.message, &row.message.traits);
            let is_answer = message.assistant().is_some();
            self.calls += u32::from(is_answer);
            let mut pieces = MessagePieces { call: self.calls, ..MessagePieces::default() };
            if message.is_sent && row.sent.reason != Reason::OrphanResult {
                pieces.whole = self.ids_of(&traits.identifiers, &traits.lines);
                let kept_lines = traits.kept_lines.as_deref().unwrap_or(&traits.lines);
                pieces.edited = traits.kept.as_ref().map(|kept| self.ids_of(kept, kept_lines));
                let opener = account.message(row.group);
                let call = opener.and_then(|opener| opener.traits.targets.get(row.call));
                self.enter(&pieces.whole, traits, is_answer, call);
            }
            self.messages.push(pieces);
        }
    }

    /// Ids of the names and lines of the message at `index`.
    pub fn message(&self, index: usize) -> Option<&MessagePieces> {
        self.messages.get(index)
    }

    /// Number of pieces; every id is below it.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the ids of these names and lines, and adds new ones.
    fn ids_of(&mut self, names: &[Identifier], lines: &[Line]) -> Box<[u32]> {
        let pieces = &mut self.pieces;
        let mut new = |units: u16| {
            pieces.push(Piece { units, ..Piece::default() });
            pieces.len() as u32 - 1
        };
        let mut ids = Vec::with_capacity(names.len() + lines.len());
        ids.extend(names.iter().map(|name| *self.names.entry(*name).or_insert_with(|| new(0))));
        let lines = lines.iter();
        ids.extend(lines.map(|line| {
            let units = line.units() as u16;
            *self.lines.entry(*line).or_insert_with(|| new(units))
        }));
        ids.into()
    }

    /// Adds a new message that shows `ids`. `target`: the target of its call, if it is a result.
    fn enter(&mut self, ids: &[u32], traits: &Traits, is_answer: bool, target: Option<&Target>) {
        let calls = self.calls;
        let file = target.and_then(|target| target.files.first()).map(|file| file.path.name_hash());
        self.each(ids, |piece| {
            piece.last_shown = calls;
            match (file, piece.place) {
                (Some(file), _) => piece.place = Place::File(file),
                (None, Place::Replaced) => piece.place = Place::Nowhere,
                (None, _) => {}
            }
            if is_answer {
                (piece.uses, piece.last_use) = (piece.uses + 1, calls);
            }
        });
        self.touched.extend(file.map(|file| (file, calls)));
        for file in traits.targets.iter().flat_map(|target| &target.files) {
            self.change(file);
        }
    }

    /// Adds a call that changes a file: the lines it replaces become stale.
    fn change(&mut self, file: &File) {
        let Some(change) = file.change.as_ref().filter(|change| !change.is_empty()) else { return };
        let name = file.path.name_hash();
        self.touched.insert(name, self.calls);
        if self.edits.last() != Some(&self.calls) {
            self.edits.push(self.calls);
        }
        for (lines, place) in [(&change.old, Place::Replaced), (&change.new, Place::File(name))] {
            let known: Vec<u32> = lines.iter().filter_map(|line| self.lines.get(line)).copied().collect();
            self.each(&known, |piece| piece.place = place);
        }
    }

    /// Why a piece is worth keeping.
    pub fn cause(&self, id: u32) -> Option<Keep> {
        Some(match self.pieces.get(id as usize)? {
            Piece { units: 0, uses: 0, .. } => Keep::NewNames,
            Piece { units: 0, .. } => Keep::UsedNames,
            Piece { uses: 0, .. } => Keep::FileLines,
            _ => Keep::OwnLines,
        })
    }

    /// Returns `true` if an answer after `call` used any name among `ids`.
    pub fn is_used_since(&self, call: u32, ids: &[u32]) -> bool {
        let mut pieces = ids.iter().filter_map(|&id| self.pieces.get(id as usize));
        pieces.any(|piece| piece.units == 0 && piece.last_use > call)
    }

    /// Expected uses of a piece in the next `ahead` answers.
    pub(super) fn expected_uses(&self, id: u32, ahead: f64) -> f64 {
        match self.pieces.get(id as usize) {
            None => 0.0,
            Some(piece) if piece.units > 0 => self.uses_of_line(piece, ahead),
            Some(piece) if piece.uses == 0 => NEW_NAME.within(self.age(piece.last_shown), ahead),
            Some(piece) => USED_NAME.within(self.age(piece.last_use), ahead) * f64::from(piece.uses).sqrt(),
        }
    }

    /// Expected copies of a line, and quotes of it in edits.
    fn uses_of_line(&self, piece: &Piece, ahead: f64) -> f64 {
        let is_own = piece.uses > 0;
        let unit = if is_own { WRITTEN_UNIT } else { SHOWN_UNIT };
        let copied = unit.within(self.age(piece.last_shown), ahead) * f64::from(piece.units);
        let Place::File(file) = piece.place else {
            return if matches!(piece.place, Place::Replaced) { 0.0 } else { copied };
        };
        let (quoted, since, nearness) = if is_own {
            (OWN_LINE, piece.last_shown, 1.0)
        } else {
            let idle = self.age(self.edits.last().copied().unwrap_or(0));
            (READ_LINE, self.first_edit_after(piece.last_shown), EDITING.after(idle))
        };
        // A model that works on a file may come back to any line of it.
        let since = self.touched.get(&file).map_or(since, |&touched| touched.max(since));
        copied + nearness * quoted.within(self.age(since), ahead)
    }

    /// The first call after `call` that edited anything; the latest call if none did.
    fn first_edit_after(&self, call: u32) -> u32 {
        let first = self.edits.partition_point(|&edit| edit <= call);
        self.edits.get(first).copied().unwrap_or(self.calls)
    }

    fn age(&self, call: u32) -> f64 {
        f64::from(self.calls.saturating_sub(call))
    }

    fn each(&mut self, ids: &[u32], mut change: impl FnMut(&mut Piece)) {
        for &id in ids {
            self.pieces.get_mut(id as usize).into_iter().for_each(&mut change);
        }
    }
}

#[cfg(test)]
#[path = "index/tests.rs"]
mod tests;
