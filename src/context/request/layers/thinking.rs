//! Layer 2, old thinking: finds assistant messages that may lose all their thinking blocks.

use super::{Limits, ThinkingScope};
use crate::context::facts::transcript::Message;
use crate::context::request::account::{Account, Form};
use crate::context::request::plan::{Layer, Reason};

/// The index before which thinking is old: the oldest message that keeps it.
///
/// A message that pi does not send does not count as kept.
pub fn old_before(account: &Account, limits: &Limits) -> usize {
    let end = match limits.thinking_scope {
        ThinkingScope::All => account.rows().len(),
        ThinkingScope::ClosedTurns => account.last_user().unwrap_or(0),
    };
    let mut kept = 0;
    let keeps = account.thinkers().iter().rev().copied().take_while(|&index| {
        let is_kept = kept < limits.keep_recent_thinking;
        kept += usize::from(account.message(index).is_some_and(|message| message.is_sent));
        is_kept
    });
    keeps.last().unwrap_or(account.rows().len()).min(end)
}

/// Removes the thinking of the message at `index`.
pub fn strip(account: &mut Account, index: usize) {
    account.set(index, Form::Edited, Layer::Thinking, Reason::OldThinking);
}

/// Returns `true` if the message at `index` may lose its thinking. The current step keeps it, and so does a message that a
/// provider would refuse without it.
pub fn is_strippable(account: &Account, index: usize, step: Option<usize>) -> bool {
    Some(index) != step && account.message(index).is_some_and(Message::may_lose_thinking)
}

/// The newest sent assistant message, if it made calls: during the tool loop the provider wants its thinking back.
pub fn step_under_way(account: &Account) -> Option<usize> {
    let (index, newest) = account.newest_answer()?;
    newest.message.assistant().filter(|answer| !answer.call_ids.is_empty()).map(|_| index)
}
