//! Layer 1, old tool results: which may be made shorter.
//!
//! Positions count from the end of the transcript, not by turn: one question can set off dozens of calls.

use super::Limits;
use crate::context::account::{Account, Row};

/// The old tool results: all but the newest, in order.
pub fn old<'a>(account: &'a Account, limits: &Limits) -> &'a [usize] {
    let results = account.results();
    results.get(..results.len().saturating_sub(limits.keep_recent_tool_results)).unwrap_or_default()
}

/// The same, with no more of the newest spared than `most` cl100k tokens hold, but those of the last group.
pub fn old_within<'a>(account: &'a Account, limits: &Limits, most: usize) -> &'a [usize] {
    let mut tokens = 0;
    let (results, last) = (account.results(), account.last_group());
    let newest = results.iter().rev().take(limits.keep_recent_tool_results).take_while(|&&index| {
        tokens += account.row(index).map_or(0, Row::tokens);
        index >= last || tokens <= most
    });
    results.get(..results.len().saturating_sub(newest.count())).unwrap_or_default()
}
