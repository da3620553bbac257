//! Layer 1: finds old tool results and shortens them.
//!
//! Positions count from the end of the transcript, not by turn: one question can set off dozens of calls.

use super::Limits;
use crate::context::request::account::{Account, Form};
use crate::context::request::plan::{Layer, Reason};

/// The old tool results: all but the newest, in order.
pub fn old<'a>(account: &'a Account, limits: &Limits) -> &'a [usize] {
    let results = account.results();
    results.get(..results.len().saturating_sub(limits.keep_recent_tool_results)).unwrap_or_default()
}

/// The index before which tool results are old.
pub fn old_before(account: &Account, limits: &Limits) -> usize {
    old(account, limits).last().map_or(0, |newest| newest + 1)
}

/// Shortens an old result, if it may.
pub fn shorten(account: &mut Account, index: usize) {
    if is_shortenable(account, index) {
        account.set(index, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
    }
}

/// Returns `true` if the result at `index` has a shorter form and was not recalled in the open turn.
pub fn is_shortenable(account: &Account, index: usize) -> bool {
    let result = account.message(index).and_then(|message| message.tool_result());
    result.is_some_and(|result| result.shortened.is_some()) && !account.is_recalled_now(index)
}
