//! Thinking that is bound to its prefix. If anything before a block differs from when it was made, the newest Claude models
//! refuse the request or drop the block, and OpenAI's newest models do not see it.

use std::ops::Range;

use crate::context::facts::transcript::{Assistant, Source};
use crate::context::request::account::{Account, Form};
use crate::context::request::plan::{Layer, Reason};

/// The Claude models that check this, with the first version that does. The hook strips such thinking.
const BOUND_SINCE: [(&str, Version); 5] = [
    ("claude-fable-", (5, 1)),
    ("claude-mythos-", (5, 1)),
    ("claude-opus-", (5, 5)),
    ("claude-sonnet-", (5, 5)),
    ("claude-haiku-", (5, 5)),
];

/// OpenAI's models since that version. OpenAI itself leaves such reasoning out, and refuses a call without it.
const LEFT_OUT_SINCE: [(&str, Version); 1] = [("gpt-", (6, 2))];

/// Major and minor; 0 where a name says none.
type Version = (u32, u32);

/// More digits are a date.
const MAX_VERSION_DIGITS: usize = 2;

/// Returns `true` if this model binds thinking to its prefix.
///
/// ```
/// use pi_strata::context::facts::transcript::Source;
/// use pi_strata::context::request::validity::binds_thinking;
/// let of = |model: &str| Source { api: "".into(), provider: "".into(), model: model.into() };
/// assert!(binds_thinking(&of("claude-opus-5-5")) && binds_thinking(&of("anthropic.claude-sonnet-5.5-v1:0")));
/// assert!(binds_thinking(&of("~anthropic/claude-opus-latest")) && !binds_thinking(&of("claude-3-5-sonnet-latest")));
/// assert!(!binds_thinking(&of("claude-opus-4-20250514")) && !binds_thinking(&of("gpt-5.5")));
/// ```
pub fn binds_thinking(source: &Source) -> bool {
    is_since(&BOUND_SINCE, source)
}

/// Returns `true` if the model loses its thinking when anything before it changes.
fn loses_thinking(source: &Source) -> bool {
    binds_thinking(source) || is_since(&LEFT_OUT_SINCE, source)
}

fn is_since(versions: &[(&str, Version)], source: &Source) -> bool {
    let model = source.model.to_lowercase();
    versions.iter().any(|(name, since)| {
        // A gateway's alias for the newest: `claude-opus-latest`, `gpt-sol-latest`.
        let is_since = |rest: &str| version(rest).map_or(rest.ends_with("latest"), |known| known >= *since);
        model.split_once(name).is_some_and(|(_, rest)| is_since(rest))
    })
}

/// The `5.5` of `5-5-20260901`.
fn version(rest: &str) -> Option<Version> {
    let mut numbers = rest.split(|character: char| !character.is_ascii_digit());
    let mut next = || numbers.next().filter(|digits| digits.len() <= MAX_VERSION_DIGITS)?.parse().ok();
    let major = next()?;
    Some((major, next().unwrap_or(0)))
}

/// Strips the bound thinking in this range.
pub fn strip_within(account: &mut Account, messages: Range<usize>) {
    let thinkers = account.thinkers();
    let place = |end: usize| thinkers.partition_point(|&index| index < end);
    let within = thinkers.get(place(messages.start)..place(messages.end)).unwrap_or_default().to_vec();
    strip_among(account, &within);
}

/// Strips the bound thinking at these indices.
pub fn strip_among(account: &mut Account, indices: &[usize]) {
    let bound = thinkers_of(binds_thinking, account, indices.iter().copied());
    let bound: Vec<usize> = bound.filter(|(_, of)| of.has_other_content).map(|(index, _)| index).collect();
    strip_bound(account, &bound);
}

/// Strips the thinking of these messages: the prefix it is bound to has changed.
pub fn strip_bound(account: &mut Account, thinkers: &[usize]) {
    for &index in thinkers {
        account.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
    }
}

/// Strips all bound thinking after the first change, even in the current step. Later thinking is bound to the new prefix.
pub fn strip_unbound(account: &mut Account) {
    if let Some(changed) = account.take_changed() {
        let end = account.rows().len();
        strip_within(account, changed + 1..end);
        account.take_changed();
    }
}

/// Returns `true` if a change of any earlier message would cost thinking of the open turn.
///
/// Only the model that thought last counts: the next call goes to it.
pub fn holds_turn(account: &Account) -> bool {
    let start = account.last_user().unwrap_or(0);
    let in_turn = || account.thinkers().iter().rev().copied().take_while(|&index| index > start);
    let newest = in_turn().next().and_then(|index| account.message(index)?.assistant());
    newest.is_some_and(|of| loses_thinking(&of.source))
        && thinkers_of(loses_thinking, account, in_turn()).next().is_some()
}

/// The assistant messages at these indices that are sent with thinking, of the models that `is_one` accepts.
fn thinkers_of(
    is_one: fn(&Source) -> bool,
    account: &Account,
    indices: impl Iterator<Item = usize>,
) -> impl Iterator<Item = (usize, &Assistant)> {
    // Mostly one model made them all.
    let mut last: Option<(&Source, bool)> = None;
    indices.filter_map(move |index| {
        let row = account.row(index).filter(|row| *row.form() == Form::Whole && !row.message.is_protected)?;
        let assistant = row.message.sent_assistant().filter(|of| of.thinking.is_some())?;
        let source = &assistant.source;
        let is_of_it = last.filter(|(of, _)| *of == source).map_or_else(|| is_one(source), |(_, is)| is);
        last = Some((source, is_of_it));
        is_of_it.then_some((index, assistant))
    })
}
