//! Keeps the order of turns for providers that want the user's side and the answers to alternate.
//!
//! A closing answer stays as long as the message that it answers, but it may be cut. Both are dropped together, once the steps
//! between them are gone. Where the host's list does not alternate, the request need not.

use super::{Account, Form, Row};
use crate::context::facts::transcript::Body;

/// cl100k tokens that stay of an answer that is cut because it may not be dropped alone: in a long chat such answers fill the
/// room.
const STUB_TOKENS: u32 = 40;

impl Account {
    /// Returns `true` if a provider of the conversation wants the sides to alternate.
    pub fn alternates(&self) -> bool {
        self.alternates
    }

    /// Returns `true` for a closing answer that may not be dropped alone.
    pub fn is_bound(&self, start: usize) -> bool {
        let is_closing = || self.row(start).is_some_and(|row| !row.ends_with_user());
        self.alternates && is_closing() && !self.keeps_sides(start, start)
    }

    /// The shortest form of such an answer; `None` if it has no text to cut, and for any other message.
    pub fn stub(&self, start: usize) -> Option<Form> {
        let can_be_cut = self.message(start).is_some_and(|message| !message.cuts.is_empty());
        (can_be_cut && self.is_bound(start)).then_some(Form::Cut(STUB_TOKENS))
    }

    /// The messages dropped with the group that opens at `start`: the group's own, then those that it answers if it may not be
    /// dropped alone.
    pub fn leaving(&self, start: usize) -> Vec<usize> {
        self.group(start).chain(self.answered_by(start)).collect()
    }

    /// The messages of the user's side right before a closing answer that may not be dropped without them.
    pub fn answered_by(&self, start: usize) -> Vec<usize> {
        if !self.is_bound(start) {
            return Vec::new();
        }
        let is_asking = |&index: &usize| {
            let row = self.row(index).filter(|row| !row.opens_with_answer() && !row.message.is_tool_result());
            row.is_some() && !self.is_protected(index)
        };
        let mut asking: Vec<usize> = self.sides_before(start).take_while(is_asking).collect();
        asking.reverse();
        asking
    }

    /// Returns `true` if dropping the group that opens at `start`, with the messages that it answers, brings no two messages of one
    /// side together.
    pub fn leaves_in_turn(&self, start: usize, answered: &[usize]) -> bool {
        !self.alternates || self.keeps_sides(answered.first().copied().unwrap_or(start), start)
    }

    /// The same for the messages from `first` to the group that opens at `last`.
    fn keeps_sides(&self, first: usize, last: usize) -> bool {
        let before = self.sides_before(first).next();
        let mut after = self.live.range(last + 1..).copied();
        let after =
            after.find(|&index| self.is_side(index) && self.row(index).is_some_and(|row| row.group != last));
        !self.meet(before, after) || self.meet(before, Some(first)) || self.meet(Some(last), after)
    }

    /// Restores a message between two messages of one side where the host's list has one. Needed when the first provider that wants
    /// the sides to alternate answers, and after a rewrite.
    pub fn restore_sides(&mut self) {
        if !(self.alternates && std::mem::take(&mut self.is_unsettled)) {
            return;
        }
        let sent: Vec<usize> = self.live().filter(|&index| self.is_side(index)).collect();
        let pairs = sent.iter().zip(sent.iter().skip(1));
        let lost: Vec<usize> =
            pairs.filter_map(|(&before, &after)| self.lost_between(before, after)).collect();
        for index in lost {
            self.send_whole(index);
        }
    }

    fn lost_between(&self, before: usize, after: usize) -> Option<usize> {
        if !self.meet(Some(before), Some(after)) {
            return None;
        }
        let is_lost = |index: &usize| {
            let gone = self.row(*index).filter(|row| *row.form() == Form::Gone && self.is_side(*index));
            gone.is_some_and(|row| !row.message.is_tool_result())
        };
        let mut lost = (before..after).filter(is_lost);
        if self.row(before)?.ends_with_user() {
            lost.find(|&index| self.row(index).is_some_and(|row| !row.ends_with_user()))
        } else {
            lost.rfind(|&index| self.row(index).is_some_and(|row| !row.opens_with_answer()))
        }
    }

    /// Returns `true` if the first message ends, and the second opens, on the same side.
    fn meet(&self, before: Option<usize>, after: Option<usize>) -> bool {
        let rows = before.and_then(|index| self.row(index)).zip(after.and_then(|index| self.row(index)));
        rows.is_some_and(|(before, after)| {
            !after.message.is_tool_result() && before.ends_with_user() != after.opens_with_answer()
        })
    }

    /// The messages that are sent before `index`, newest first.
    fn sides_before(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.live_before(index).rev().filter(|&index| self.is_side(index))
    }

    /// Returns `true` for a message that the provider sees as a turn. A host may leave out unknown roles.
    fn is_side(&self, index: usize) -> bool {
        let is_known = |row: &&Row| !matches!(row.message.body, Body::Other) && row.message.tokens > 0;
        self.row(index).filter(is_known).is_some_and(Row::is_turn)
    }
}

impl Row {
    fn opens_with_answer(&self) -> bool {
        self.message.assistant().is_some()
    }

    /// Returns `true` if its group ends on the user's side: with results, or as a message of that side.
    fn ends_with_user(&self) -> bool {
        self.message.assistant().is_none_or(|answer| !answer.call_ids.is_empty())
    }
}
