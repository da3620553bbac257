//! Changes to an account: edits, which only shorten, and trials, whose edits can be undone.

use super::Account;
use super::row::{Form, Row, Sent};
use crate::context::request::plan::{Layer, Reason};
use crate::tokens::estimate::Size;

/// The edits since a trial began.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Each edited message, and how it was sent before.
    edits: Vec<(usize, Sent)>,
    /// The oldest message that had been touched when the trial began.
    oldest_touched: Option<usize>,
}

/// A savepoint of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    edits: usize,
    oldest_touched: Option<usize>,
    changed: Option<usize>,
}

impl Account {
    /// Sets a message's form, if that takes more of it away.
    pub fn set(&mut self, index: usize, form: Form, layer: Layer, reason: Reason) {
        if self.rows.get(index).is_some_and(|row| row.may_become(&form)) {
            self.change(index, |row| row.sent = Sent { form, layer, reason, ..row.sent });
        }
    }

    /// Replaces the first `count` images of a message with markers.
    pub fn omit_images(&mut self, index: usize, count: u32, layer: Layer, reason: Reason) {
        if self.rows.get(index).is_some_and(|row| row.sent.images_out < count) {
            self.change(index, |Row { sent, .. }| {
                sent.images_out = count;
                if sent.form == Form::Whole {
                    (sent.layer, sent.reason) = (layer, reason);
                }
            });
        }
    }

    /// Drops a whole group, and what leaves with it.
    pub fn drop_group(&mut self, start: usize, layer: Layer, reason: Reason) {
        for index in self.leaving(start) {
            self.set(index, Form::Gone, layer, reason);
        }
    }

    /// Hides messages behind the sliding window, or shows them again.
    pub fn slide(&mut self, messages: &[usize], is_hidden: bool) {
        for &index in messages {
            self.change(index, |row| row.is_hidden = is_hidden);
        }
    }

    /// Copies from `before` the form of each message. `pairs` are its positions here and there.
    pub fn send_as(&mut self, before: &Self, pairs: &[(usize, usize)]) {
        self.is_unsettled = true;
        for &(index, was) in pairs {
            if let Some(was) = before.rows.get(was) {
                self.change(index, |row| {
                    row.sent.clone_from(&was.sent);
                    // The list may no longer hold the refusal.
                    if let (None, Some(before)) = (row.refused_images, was.refused_images) {
                        row.sent.images_out = before;
                    }
                });
            }
        }
    }

    /// Sends a message as it came.
    pub fn send_whole(&mut self, index: usize) {
        self.is_unsettled = true;
        self.change(index, |row| {
            row.sent.form = if row.has_refused_thinking { Form::Edited } else { Form::Whole };
            if row.refused_images.is_none() {
                row.sent.images_out = 0;
            }
        });
    }

    /// Begins a trial: [`Self::end_trial`] undoes its edits.
    pub fn begin_trial(&mut self) {
        self.trial = Some(Trial { edits: Vec::new(), oldest_touched: self.oldest_touched });
    }

    /// The sent size from the first edit of the trial on.
    pub fn rewritten(&self) -> Size {
        let first = self.trial.iter().flat_map(|trial| &trial.edits).map(|(index, _)| *index).min();
        let since = self.live.range(first.unwrap_or(usize::MAX)..).filter_map(|&index| self.rows.get(index));
        since.fold(Size::default(), |size, row| size.plus(row.size()))
    }

    /// Undoes the trial.
    pub fn end_trial(&mut self) {
        if let Some(trial) = self.trial.take() {
            self.take_back(trial.edits);
            self.oldest_touched = trial.oldest_touched;
        }
    }

    /// Makes a savepoint of the trial.
    pub fn mark(&self) -> Mark {
        let edits = self.trial.as_ref().map_or(0, |trial| trial.edits.len());
        Mark { edits, oldest_touched: self.oldest_touched, changed: self.changed }
    }

    /// Undoes every edit of the trial since the savepoint.
    pub fn go_back(&mut self, Mark { edits, oldest_touched, changed }: Mark) {
        let Some(mut trial) = self.trial.take() else { return };
        self.take_back(trial.edits.split_off(edits.min(trial.edits.len())));
        self.trial = Some(trial);
        (self.oldest_touched, self.changed) = (oldest_touched, changed);
    }

    fn take_back(&mut self, edits: Vec<(usize, Sent)>) {
        for (index, sent) in edits.into_iter().rev() {
            self.change(index, |row| row.sent = sent);
        }
    }

    /// Commits the trial.
    pub fn keep_trial(&mut self) {
        self.trial = None;
    }

    /// Returns and resets the first changed message, trials included.
    pub fn take_changed(&mut self) -> Option<usize> {
        self.changed.take()
    }

    /// Changes a row, and updates the sums and the records of changes.
    pub(super) fn change(&mut self, index: usize, change: impl FnOnce(&mut Row)) {
        let Some(row) = self.rows.get_mut(index) else { return };
        if let Some(trial) = &mut self.trial {
            trial.edits.push((index, row.sent.clone()));
        }
        self.sent = self.sent.minus(row.size());
        change(row);
        self.sent = self.sent.plus(row.size());
        self.oldest_touched = Some(self.oldest_touched.map_or(index, |oldest| oldest.min(index)));
        self.changed = Some(self.changed.map_or(index, |first| first.min(index)));
        self.unplanned = self.unplanned.min(index);
        if *row.form() == Form::Gone {
            self.live.remove(&index);
        } else {
            self.live.insert(index);
        }
    }
}
