//! Layer 4, never over the window: shrinks on, the least harmful first, until the request fits.
//!
//! Summarises the newest tool results too, oldest first; cuts texts that are huge beside the window to head and tail; drops
//! the groups of the protected tail, oldest first, but never the last user message nor the last group; cuts what is left
//! as short as it takes. Tools' texts are cut before those of people.

use super::window::is_removable;
use crate::context::account::{Account, Form, Row};
use crate::context::cuts::Level;
use crate::context::plan::{Layer, Reason};
use crate::context::transcript::{Body, Message};
use crate::tokens::estimate::Estimate;

/// A text over this share of what may be sent is huge: cutting it down to that costs less than losing the messages beside it.
const HUGE_SHARE: f64 = 1.0 / 8.0;

/// Edits until `account` fits into `budget` provider tokens, or only the irreducible rest is left.
pub fn shrink(account: &mut Account, estimate: &Estimate, budget: f64) {
    let most = estimate.cl100k_within(budget, account.sent().messages);
    summarize_newest(account, most);
    cut_texts(account, most, Level::within((most as f64 * HUGE_SHARE) as usize));
    drop_tail(account, most);
    cut_texts(account, most, Level::MIN);
}

fn summarize_newest(account: &mut Account, most: usize) {
    let results: Vec<usize> = account.live().filter(|&index| is_summarizable(account, index)).collect();
    for index in results {
        if account.sent().cl100k <= most {
            return;
        }
        account.set(index, Form::Edited, Layer::Shrink, Reason::OverWindow);
    }
}

fn is_summarizable(account: &Account, index: usize) -> bool {
    let result = account.message(index).and_then(|message| message.tool_result());
    // Of a marker line alone a summary would be more.
    let is_less = |row: &Row| row.tokens_as(Form::Edited) < row.tokens();
    matches!(account.form(index), Form::Whole | Form::Lines(_))
        && result.is_some_and(|result| result.shortened.is_some())
        && account.row(index).is_some_and(is_less)
}

fn drop_tail(account: &mut Account, most: usize) {
    if account.sent().cl100k <= most {
        return;
    }
    let last_group = account.last_group();
    for start in account.live_before(last_group).collect::<Vec<_>>() {
        if account.sent().cl100k <= most {
            return;
        }
        if is_removable(account, start) {
            account.drop_group(start, Layer::Shrink, Reason::OverWindow);
        }
    }
}

/// Cuts the longest texts to one common level, the highest at which the request fits but none under `lowest`: first those
/// of tools, then where they are summarised already, and what people wrote only where that is not enough.
fn cut_texts(account: &mut Account, most: usize, lowest: Level) {
    for kind in [Origin::Result, Origin::Shortened, Origin::Said] {
        if account.sent().cl100k <= most {
            return;
        }
        let of_kind: Vec<usize> =
            account.live().filter(|&index| Origin::of(account, index) == Some(kind)).collect();
        let Some(top) = of_kind.iter().filter_map(|&index| account.message(index)?.cuts.top()).max() else {
            continue;
        };
        let fits = |&level: &Level| {
            let saved: usize = of_kind.iter().map(|&index| gain(account, index, level)).sum();
            account.sent().cl100k.saturating_sub(saved) <= most
        };
        let level = (lowest.0..=top.0).rev().map(Level).find(fits).unwrap_or(lowest);
        for index in of_kind {
            if gain(account, index, level) > 0 {
                account.set(index, Form::Cut(level), Layer::Shrink, Reason::OverWindow);
            }
        }
    }
}

/// The origin of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Result,
    Shortened,
    Said,
}

impl Origin {
    fn of(account: &Account, index: usize) -> Option<Self> {
        let message: &Message =
            account.message(index).filter(|message| message.is_sent && !message.cuts.is_empty())?;
        match message.body {
            Body::ToolResult(_) if account.form(index) == Form::Edited => Some(Self::Shortened),
            Body::ToolResult(_) => Some(Self::Result),
            _ => Some(Self::Said),
        }
    }
}

/// Tokens that cutting this message to `level` saves against how it is sent now.
fn gain(account: &Account, index: usize, level: Level) -> usize {
    account.row(index).map_or(0, |row| row.tokens().saturating_sub(row.tokens_as(Form::Cut(level))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::measure::{Part, Raw, RawRole, Rules, measure};
    use crate::context::transcript::{Transcript, Usage};

    fn utf16(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    /// One answer with a call for each of these texts, and the results that hold them.
    fn account(texts: &[String]) -> Account {
        let ids: Vec<Vec<u16>> = (0..texts.len()).map(|at| utf16(&format!("call_{at}"))).collect();
        let calls = ids.iter().map(|id| Part::Call { id, name: &[], arguments: &[], is_signed: false });
        let usage = Usage::default();
        let role = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
        let results = ids.iter().zip(texts).map(|(id, text)| {
            let role = RawRole::ToolResult { call_id: id, tool_name: &[], marker: None };
            measure(&Raw::new(role, vec![Part::Text(&utf16(text))]), &Rules::default())
        });
        let answer = measure(&Raw::new(role, calls.collect()), &Rules::default());
        let messages = std::iter::once(answer).chain(results).map(Arc::new);
        Account::of(&Transcript::new(messages.collect()))
    }

    #[test]
    fn what_is_summarised_is_cut_only_where_cutting_the_rest_is_not_enough() {
        let words = |count| "some words of a line ".repeat(count);
        let texts = [format!("{}\n", words(22)).repeat(60), words(3000)];
        let fresh = || {
            let mut account = account(&texts);
            assert!(is_summarizable(&account, 1) && !account.message(2).is_some_and(|of| of.cuts.is_empty()));
            account.set(1, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
            account
        };
        let summary = fresh().row(1).map_or(0, Row::tokens);
        let answer = fresh().row(0).map_or(0, Row::tokens);
        assert!(summary > Level(2).tokens(), "{summary}");
        let mut account = fresh();
        cut_texts(&mut account, answer + summary + Level(1).tokens(), Level::MIN);
        assert_eq!((account.form(1), account.form(2)), (Form::Edited, Form::Cut(Level(1))));
        let mut account = fresh();
        cut_texts(&mut account, answer + 2 * Level(1).tokens(), Level::MIN);
        assert_eq!((account.form(1), account.form(2)), (Form::Cut(Level(1)), Form::Cut(Level::MIN)));
    }
}
