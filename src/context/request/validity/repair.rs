//! Repairs a transcript with the fewest losses: drops messages or blocks, and replaces lone surrogates.
//!
//! Messages between a call and its results move behind these. Nothing is added. Fixing one problem can cause another (a
//! dropped call leaves orphan results), so repair works in passes, contents first, until no problem is left. A transcript
//! that ends on a reply waits for the user's next message and stays.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::check::{View, is_blank_text, part_has_lone_surrogate, texts_after_call};
use super::{Family, Problem, Rule};
use crate::context::facts::measure::{Part, Raw, RawRole};
use crate::text::{has_lone_surrogate, utf16};

/// A text that is neither blank nor broken, in place of one whose lone surrogates were replaced.
const REPLACED: &[u16] = &[0xFFFD];

/// The change of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mend {
    /// True if the message is dropped.
    pub is_dropped: bool,
    /// Positions of the dropped blocks of a message that stays.
    pub blocks: BTreeSet<usize>,
    /// True if U+FFFD replaces the lone surrogates in its texts.
    pub is_rewritten: bool,
}

/// The changes that make a transcript valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The indices of all messages in their new order; `None` if the order stays.
    pub order: Option<Vec<usize>>,
    /// The changes by the index of their message.
    pub mends: BTreeMap<usize, Mend>,
}

/// Returns the changes that make these messages valid.
///
/// ```
/// use pi_strata::context::facts::measure::{Part, Raw, RawRole};
/// use pi_strata::context::request::validity::{Family, Rule, check, repair};
///
/// let text: Vec<u16> = "Go on".encode_utf16().collect();
/// let orphan = RawRole::ToolResult { call_id: &text, tool_name: &[], marker: None };
/// let messages = [
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
///     Raw::new(orphan, vec![Part::Text(&text)]),
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
/// ];
/// let problems = check(&messages, Family::Any);
/// assert!(problems.iter().any(|problem| problem.index == 1 && problem.rule == Rule::OrphanResult));
/// assert!(repair(&messages, Family::Any).mends[&1].is_dropped);
/// ```
pub fn repair(messages: &[Raw<'_>], family: Family) -> Repair {
    let order = View::of(messages, family).transcript.sending_order();
    let ordered: Vec<&Raw<'_>> = order.iter().filter_map(|&index| messages.get(index)).collect();
    let mut mends = Mends::new();
    while mend_once(&ordered, &mut mends, family) {}
    mends.retain(|_, mend| *mend != Mend::default());
    let mends = mends.into_iter().filter_map(|(at, mend)| Some((*order.get(at)?, mend))).collect();
    Repair { order: (!order.is_sorted()).then_some(order), mends }
}

/// Changes by the position of their message.
type Mends = BTreeMap<usize, Mend>;

/// Mends the problems of the earliest stage. Returns `false` if there is none.
fn mend_once(messages: &[&Raw<'_>], mends: &mut Mends, family: Family) -> bool {
    let mended = |(at, message)| Mend::applied(mends.get(&at), message);
    let left: Vec<Raw<'_>> = messages.iter().copied().enumerate().map(mended).collect();
    let view = View::of(&left, family);
    let problems = view.problems();
    let Some(first) = problems.iter().filter_map(|problem| stage(problem.rule)).min() else {
        return false;
    };
    let mut losses = Mends::new();
    for problem in problems.iter().filter(|problem| stage(problem.rule) == Some(first)) {
        view.mend(*problem, &mut losses);
    }
    for (at, loss) in losses {
        let parts = messages.get(at).map_or(0, |message| message.parts.len());
        mends.entry(at).or_default().add(&loss, parts);
    }
    true
}

impl Mend {
    /// The message after this change. A dropped one has no role and is not sent, so it breaks no rule.
    fn applied<'a>(mend: Option<&Self>, message: &Raw<'a>) -> Raw<'a> {
        let Some(Self { is_dropped, blocks, is_rewritten }) = mend else { return message.clone() };
        if *is_dropped {
            return Raw { is_sent: false, ..Raw::new(RawRole::Other, Vec::new()) };
        }
        let mended = |text| if *is_rewritten && has_lone_surrogate(text) { REPLACED } else { text };
        let left = message.parts.iter().enumerate().filter(|(at, _)| !blocks.contains(at));
        let parts = left.map(|(_, part)| match *part {
            Part::Text(text) => Part::Text(mended(text)),
            Part::Counted(text) => Part::Counted(mended(text)),
            part => part,
        });
        Raw { parts: parts.collect(), ..*message }
    }

    /// Adds a loss of a message that this change was applied to and that came with so many blocks.
    fn add(&mut self, loss: &Self, parts: usize) {
        if loss.is_dropped {
            *self = Self { is_dropped: true, ..Self::default() };
            return;
        }
        let left: Vec<usize> = (0..parts).filter(|at| !self.blocks.contains(at)).collect();
        self.blocks.extend(loss.blocks.iter().filter_map(|&at| left.get(at)));
        self.is_rewritten |= loss.is_rewritten;
    }
}

impl View<'_> {
    fn mend(&self, problem: Problem, losses: &mut Mends) {
        let Problem { index, rule } = problem;
        let Some(message) = self.messages.get(index) else { return };
        let parts = &message.parts;
        match rule {
            Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult => drop_message(index, losses),
            Rule::EmptyMessage | Rule::ThinkingAlone | Rule::CallIdPattern | Rule::UnsignedCall => {
                self.drop_group(index, losses);
            }
            Rule::DuplicateCallId => match message.repeated_calls() {
                repeated if repeated.is_empty() => self.drop_group(index, losses),
                repeated => drop_blocks(index, repeated, losses),
            },
            Rule::BlankText => drop_blocks(index, positions(parts, is_blank_text), losses),
            Rule::TextAfterCall if has_thinking(parts) => self.drop_group(index, losses),
            Rule::TextAfterCall => drop_blocks(index, texts_after_call(parts), losses),
            Rule::LoneSurrogate => self.mend_surrogates(index, message, losses),
            Rule::UnansweredCall => self.mend_unanswered(index, parts, losses),
            Rule::StartsWithReply => {
                let leading = (0..self.messages.len()).filter(|&index| self.is_turn(index));
                leading
                    .take_while(|&index| self.is_reply(index))
                    .for_each(|reply| self.drop_group(reply, losses));
            }
            Rule::CallAfterReply => {
                let before = (0..index).rev().filter(|&index| self.is_turn(index));
                before
                    .take_while(|&index| self.calls(index) == Some(false))
                    .for_each(|reply| drop_message(reply, losses));
            }
            Rule::TrailingSpace | Rule::EndsOnReply => {}
        }
    }

    /// Drops the group of a message.
    fn drop_group(&self, index: usize, losses: &mut Mends) {
        let start = self.transcript.group_start(index);
        if !losses.get(&start).is_some_and(|loss| loss.is_dropped) {
            self.transcript.group(start).for_each(|index| drop_message(index, losses));
        }
    }

    /// Rewrites texts. Drops the group if thinking or a call is broken: a signature covers thinking, results name the call.
    fn mend_surrogates(&self, index: usize, message: &Raw<'_>, losses: &mut Mends) {
        let is_text = |part: &Part<'_>| matches!(part, Part::Text(_) | Part::Counted(_));
        let is_in_text = |part: &Part<'_>| is_text(part) || !part_has_lone_surrogate(part);
        if !message.has_broken_id() && message.parts.iter().all(is_in_text) {
            losses.entry(index).or_default().is_rewritten = true;
        } else {
            self.drop_group(index, losses);
        }
    }

    /// Drops the calls, or the group if the message has thinking or nothing else.
    fn mend_unanswered(&self, index: usize, parts: &[Part<'_>], losses: &mut Mends) {
        let unanswered: HashSet<Vec<u16>> = self.unanswered(index).into_iter().map(utf16).collect();
        let is_lost = |part: &Part<'_>| matches!(part, Part::Call { id, .. } if unanswered.contains(*id));
        if has_thinking(parts) || parts.iter().all(|part| is_lost(part) || is_blank_text(part)) {
            self.drop_group(index, losses);
        } else {
            drop_blocks(index, positions(parts, is_lost), losses);
        }
    }
}

fn drop_message(index: usize, losses: &mut Mends) {
    losses.entry(index).or_default().is_dropped = true;
}

fn drop_blocks(index: usize, blocks: impl IntoIterator<Item = usize>, losses: &mut Mends) {
    losses.entry(index).or_default().blocks.extend(blocks);
}

/// Positions of the blocks for which `is` holds.
fn positions<'a>(parts: &'a [Part<'a>], is: impl Fn(&Part<'_>) -> bool) -> impl Iterator<Item = usize> {
    parts.iter().enumerate().filter(move |(_, part)| is(part)).map(|(at, _)| at)
}

/// The pass that repairs a problem; `None` for a problem that stays.
const fn stage(rule: Rule) -> Option<u8> {
    match rule {
        Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult | Rule::UnansweredCall => Some(1),
        Rule::StartsWithReply | Rule::CallAfterReply => Some(2),
        Rule::TrailingSpace | Rule::EndsOnReply => None,
        // Problems inside a message.
        _ => Some(0),
    }
}

fn has_thinking(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Thinking { .. }))
}
