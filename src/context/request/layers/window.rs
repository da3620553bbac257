//! Layer 3, the sliding window: which groups it may pass by, oldest first.
//!
//! Protected is what [`Account::is_protected`] names, and the newest messages, stretched back so that no tool result is
//! cut from its call.

use super::Limits;
use crate::context::request::account::{Account, Form};
use crate::tokens::estimate::Estimate;

/// Index from which on everything is protected: the newest messages and the last group.
pub fn tail_start(account: &Account, limits: &Limits) -> usize {
    let newest = account.newest_first().filter(|(_, row)| !row.message.is_system());
    // At least one: the newest is what is asked.
    let start = newest
        .take(limits.keep_recent_messages.max(1))
        .last()
        .map_or(account.rows().len(), |(index, _)| index)
        .min(account.last_group());
    account.rows().iter().skip(start).map(|row| row.group).min().unwrap_or(start)
}

/// Returns `true` if the group that opens at `index` may go: it is there, and nothing protects it.
pub fn is_droppable(account: &Account, index: usize) -> bool {
    is_removable(account, index) && !account.group(index).any(|member| account.is_recalled_now(member))
}

/// The same for layer 4, which spares nothing for having been read back.
pub fn is_removable(account: &Account, index: usize) -> bool {
    let is_there = account.row(index).is_some_and(|row| row.group == index && row.sent.form != Form::Gone);
    is_there && !account.is_protected(index)
}

/// The position of the window. From call to call it goes on where it stood, in either direction.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The groups passed by, oldest first.
    slid: Vec<usize>,
    /// Everything before it was passed by or is protected.
    cursor: usize,
    /// The user message that was the last one: it loses that protection to the next.
    last_user: Option<usize>,
}

impl Window {
    /// Passes by as many of the oldest groups as it takes to come under the threshold, and no more.
    pub fn slide(&mut self, account: &mut Account, limits: &Limits, estimate: &Estimate) {
        let tail = tail_start(account, limits);
        self.take_back_what_changed(account, tail);
        let is_over = |size| estimate.tokens(size) > limits.threshold();
        while self.cursor < tail && is_over(account.sent()) {
            if is_droppable(account, self.cursor) {
                account.slide_group(self.cursor, true);
                self.slid.push(self.cursor);
            }
            self.cursor += 1;
        }
        while let Some(&newest) = self.slid.last()
            && !is_over(account.sent_with(newest))
        {
            self.take_back(account);
        }
    }

    /// A message can lose its protection, and a late result can bring its group back among the newest messages.
    fn take_back_what_changed(&mut self, account: &mut Account, tail: usize) {
        let mut end = tail;
        if self.last_user != account.last_user() {
            end = end.min(self.last_user.unwrap_or(tail));
            self.last_user = account.last_user();
        }
        while self.slid.last().is_some_and(|&newest| newest >= end) {
            self.take_back(account);
        }
        self.cursor = self.cursor.min(end);
    }

    fn take_back(&mut self, account: &mut Account) {
        if let Some(newest) = self.slid.pop() {
            account.slide_group(newest, false);
            self.cursor = newest;
        }
    }
}
