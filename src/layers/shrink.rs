//! Layer 4, never over the window: shrinks on, the least harmful first, until the request fits its budget.
//!
//! Summarises the newest tool results too, oldest first; drops the groups of the protected tail, oldest first, but
//! never the last user message nor the last group; then cuts the longest remaining texts, head and tail: those of
//! tools, and what people wrote only where that is not enough. Those texts are not among the facts, so this step
//! says which it needs and runs when the boundary hands them in.

use super::window::Head;
use super::{Limits, Overflow};
use crate::fault;
use crate::plan::{Action, Cut, Draft, Layer, Reason};
use crate::text::{Utf16Len, head, tail};
use crate::tokens::{self, estimate::Estimate};
use crate::transcript::{Body, Link, Message, Transcript};

/// No text is cut below this many tokens: less says nothing.
const MIN_CUT_TOKENS: usize = 64;

/// The text blocks of one message, handed in for cutting.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Position of the message.
    pub index: usize,
    /// Its text blocks, in order.
    pub blocks: Vec<Vec<u16>>,
}

/// Summarises and drops until the draft fits the budget or only the irreducible rest is left.
pub fn shrink(draft: &mut Draft<'_>, limits: &Limits, estimate: &Estimate) {
    if limits.overflow == Overflow::Keep {
        return;
    }
    let transcript = draft.transcript();
    let fits = |draft: &Draft<'_>| estimate.tokens(draft.tokens()) <= limits.budget();
    for index in 0..transcript.len() {
        if fits(draft) {
            return;
        }
        let result = transcript.get(index).and_then(|message| message.tool_result());
        if draft.edit(index).is_none() && result.is_some_and(|result| result.shortened.is_some()) {
            draft.apply(index, Layer::Shrink, Action::Summarize, Reason::OverWindow);
        }
    }
    let (head, last_user) = (Head::of(transcript), transcript.last_user());
    let last_group = last_group(transcript);
    for start in 0..last_group {
        if fits(draft) {
            return;
        }
        let opens_group = !matches!(transcript.link(start), Link::ResultOf(_));
        if opens_group && Some(start) != last_user && !head.protects(transcript, start) {
            draft.drop_group(start, Layer::Shrink, Reason::OverWindow);
        }
    }
}

/// Messages whose texts may be cut, if the draft is still over the budget; else none.
#[must_use]
pub fn wanted_texts(draft: &Draft<'_>, limits: &Limits, estimate: &Estimate) -> Vec<usize> {
    if limits.overflow == Overflow::Keep || estimate.tokens(draft.tokens()) <= limits.budget() {
        return Vec::new();
    }
    let transcript = draft.transcript();
    let is_there = |index: usize| draft.edit(index).is_none_or(|edit| edit.action == Action::Summarize);
    (0..transcript.len()).filter(|&index| is_there(index) && is_cuttable(transcript, index)).collect()
}

/// Cuts the longest texts, those of tools first, then the summaries of theirs, and what people wrote only where that
/// is not enough.
pub fn cut_texts(draft: &mut Draft<'_>, limits: &Limits, estimate: &Estimate, texts: &[Texts]) {
    fault::step();
    let budget = estimate.cl100k_within(limits.budget());
    let transcript = draft.transcript();
    let is_result =
        |texts: &&Texts| transcript.get(texts.index).is_some_and(|message| message.tool_result().is_some());
    let (results, others): (Vec<&Texts>, Vec<&Texts>) = texts.iter().partition(is_result);
    let (summaries, results): (Vec<&Texts>, Vec<&Texts>) =
        results.into_iter().partition(|texts| draft.edit(texts.index).is_some());
    for texts in [results, summaries, others] {
        if draft.tokens() > budget {
            cut_to_budget(draft, budget, &texts);
        }
    }
}

/// Cuts these texts to one common length, the greatest at which the draft fits. A summary that is shorter stays.
fn cut_to_budget(draft: &mut Draft<'_>, budget: usize, texts: &[&Texts]) {
    let transcript = draft.transcript();
    // What is never sent takes no room, so it has no share in it either.
    let is_sent = |texts: &&&Texts| transcript.get(texts.index).is_some_and(|message| message.is_sent);
    let blocks = texts.iter().filter(is_sent).flat_map(|texts| &texts.blocks);
    let sizes: Vec<usize> = blocks.map(|block| tokens::count_utf16(block)).collect();
    let saved_before = |draft: &Draft<'_>, index| draft.edit(index).map_or(0, |edit| edit.tokens_saved);
    let by_summaries: usize = texts.iter().map(|texts| saved_before(draft, texts.index)).sum();
    let fixed = (draft.tokens() + by_summaries).saturating_sub(sizes.iter().sum());
    let level = water_level(&sizes, budget.saturating_sub(fixed)).max(MIN_CUT_TOKENS);
    for texts in texts {
        let blocks = texts.blocks.iter().enumerate();
        let cuts: Vec<Cut> = blocks.filter_map(|(at, block)| cut_to(at, block, level)).collect();
        let by_cuts: usize = cuts.iter().map(|cut| cut.tokens_saved).sum();
        if by_cuts > saved_before(draft, texts.index) {
            draft.apply(texts.index, Layer::Shrink, Action::Truncate(cuts), Reason::OverWindow);
        }
    }
}

/// What stands between head and tail of a cut text.
#[must_use]
pub fn cut_marker(cut: Utf16Len) -> Vec<u16> {
    format!("\n\n... [{} characters truncated] ...\n\n", cut.0).encode_utf16().collect()
}

/// The text that a cut leaves.
#[must_use]
pub fn cut_text(text: &[u16], kept_head: Utf16Len, kept_tail: Utf16Len) -> Vec<u16> {
    let (head, tail) = (head(text, kept_head), tail(text, kept_tail));
    let omitted = text.len().saturating_sub(head.len() + tail.len());
    [head, &cut_marker(Utf16Len(omitted)), tail].concat()
}

/// The longest cut of `block` that has at most `level` tokens; `None` where it has no more than that anyway.
fn cut_to(text_block: usize, block: &[u16], level: usize) -> Option<Cut> {
    let tokens_before = tokens::count_utf16(block);
    if tokens_before <= level {
        return None;
    }
    let (mut fitting, mut too_long) = (0, block.len() / 2);
    let mut tokens_after = tokens::count_utf16(&cut_text(block, Utf16Len(0), Utf16Len(0)));
    while too_long - fitting > 1 {
        let half = Utf16Len(usize::midpoint(fitting, too_long));
        let tokens = tokens::count_utf16(&cut_text(block, half, half));
        if tokens <= level {
            (fitting, tokens_after) = (half.0, tokens);
        } else {
            too_long = half.0;
        }
    }
    let half = Utf16Len(fitting);
    let (head, tail) = (Utf16Len(head(block, half).len()), Utf16Len(tail(block, half).len()));
    let tokens_saved = tokens_before.saturating_sub(tokens_after);
    (tokens_saved > 0).then_some(Cut { text_block, head, tail, tokens_saved })
}

/// The greatest level such that the sizes, each cut to it, sum to at most `budget`.
fn water_level(sizes: &[usize], budget: usize) -> usize {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = budget;
    for (at, &size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

fn is_cuttable(transcript: &Transcript, index: usize) -> bool {
    match transcript.get(index).map(|message| &message.body) {
        Some(Body::ToolResult(result)) => !result.is_excluded,
        Some(Body::User | Body::Summary | Body::Other) => true,
        Some(Body::System | Body::Assistant(_)) | None => false,
    }
}

/// Where the last group opens: the newest message that is sent and no system one, with its call.
#[must_use]
pub fn last_group(transcript: &Transcript) -> usize {
    let is_sent = |message: &Message| !message.is_system() && message.tokens > 0;
    let newest = transcript
        .messages()
        .iter()
        .enumerate()
        .rev()
        .find(|(index, message)| is_sent(message) && transcript.link(*index) != Link::Orphan);
    newest.map_or(0, |(index, _)| transcript.group_start(index))
}
