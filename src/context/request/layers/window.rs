//! Layer 3, the sliding window: hides the oldest groups.
//! It spares messages that [`Account::is_protected`] names, and the newest ones, back to the call of their first result.

use super::Limits;
use crate::context::request::account::{Account, Form};
use crate::tokens::estimate::Estimate;

/// Index from which everything is protected: the newest messages and the last group.
pub fn tail_start(account: &Account, limits: &Limits) -> usize {
    let newest = account.newest_first().filter(|(_, row)| !row.message.is_system());
    // At least one: the newest message is the question.
    let start = newest
        .take(limits.keep_recent_messages.max(1))
        .last()
        .map_or(account.rows().len(), |(index, _)| index)
        .min(account.last_group());
    account.rows().iter().skip(start).map(|row| row.group).min().unwrap_or(start)
}

/// Returns `true` if the window may hide the group that opens at `index`.
pub fn is_droppable(account: &Account, index: usize) -> bool {
    is_removable(account, index) && !account.group(index).any(|member| account.is_recalled_now(member))
}

/// Returns `true` if layer 4 may drop it, even if it was recalled.
pub fn is_removable(account: &Account, index: usize) -> bool {
    let is_there = account.row(index).is_some_and(|row| row.group == index && row.sent.form != Form::Gone);
    is_there && {
        let answered = account.answered_by(index);
        account.leaves_in_turn(index, &answered)
            && answered.into_iter().chain([index]).all(|goes| !account.is_protected(goes))
    }
}

/// The position of the window. Each call moves it on from the last, in either direction.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The hidden groups with what left with each, oldest first.
    slid: Vec<Vec<usize>>,
    /// Everything before it is hidden or protected.
    cursor: usize,
    /// The last user message at the last call: it loses its protection to the next one.
    last_user: Option<usize>,
    /// True if at the last call a provider wanted the sides to alternate.
    alternates: bool,
}

impl Window {
    /// Hides the fewest oldest groups that bring the request under the threshold.
    pub fn slide(&mut self, account: &mut Account, limits: &Limits, estimate: &Estimate) {
        let tail = tail_start(account, limits);
        self.take_back_what_changed(account, tail);
        let is_over = |size| estimate.tokens(size) > limits.threshold();
        while self.cursor < tail && is_over(account.sent()) {
            if is_droppable(account, self.cursor) {
                let leaving = account.leaving(self.cursor);
                account.slide(&leaving, true);
                self.slid.push(leaving);
            }
            self.cursor += 1;
        }
        while let Some(newest) = self.newest_hidden(account)
            && !is_over(account.sent_with(&newest))
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
        if self.alternates != account.alternates() {
            self.alternates = account.alternates();
            end = 0;
        }
        while self.newest().is_some_and(|newest| newest >= end) {
            self.take_back(account);
        }
        self.cursor = self.cursor.min(end);
    }

    /// Position of the newest hidden group.
    fn newest(&self) -> Option<usize> {
        self.slid.last()?.first().copied()
    }

    /// The newest hidden group with what left with it. Late results were hidden with their call.
    fn newest_hidden(&self, account: &Account) -> Option<Vec<usize>> {
        let hidden = self.slid.last()?;
        let late = account.group(*hidden.first()?).filter(|index| !hidden.contains(index));
        Some(hidden.iter().copied().chain(late).collect())
    }

    fn take_back(&mut self, account: &mut Account) {
        if let Some((newest, hidden)) = self.newest().zip(self.newest_hidden(account)) {
            account.slide(&hidden, false);
            self.slid.pop();
            self.cursor = newest;
        }
    }
}
