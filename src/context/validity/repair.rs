//! The fewest losses that make a transcript valid: messages or single blocks left out, half surrogate pairs replaced.
//!
//! Messages between a call and its results move behind these. Nothing is added. Fixing one rule can break another (a call
//! without its message has orphan results), so repair goes in passes, contents first, until nothing is left to mend. A
//! transcript that ends on a reply waits for the user's next message and is left alone.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::check::{View, is_blank_text, part_has_lone_surrogate, texts_after_call};
use super::{Family, Problem, Rule, check};
use crate::context::measure::{Part, Raw, RawRole, outline};
use crate::context::transcript::Transcript;
use crate::text::{has_lone_surrogate, utf16};

/// Stands for a text whose lone surrogates were replaced: it is neither blank nor broken.
const REPLACED: &[u16] = &[0xFFFD];

/// The change of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// It is left out.
    Drop,
    /// Some of its blocks are left out, or half surrogate pairs in its texts replaced by U+FFFD, or both.
    Edit {
        /// Positions of the blocks left out.
        blocks: Vec<usize>,
        /// True if its texts are rewritten.
        is_rewritten: bool,
    },
}

/// The changes that make a transcript valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The indices of all messages in their new order; `None` where the order stays.
    pub order: Option<Vec<usize>>,
    /// The change of each message that changes, by index.
    pub mends: Vec<(usize, Mend)>,
}

/// The changes that make these messages valid.
///
/// ```
/// use std::sync::Arc;
///
/// use pi_strata::context::measure::{Part, Raw, RawRole, outline};
/// use pi_strata::context::transcript::Transcript;
/// use pi_strata::context::validity::{Family, Mend, Rule, check, repair};
///
/// let text: Vec<u16> = "Go on".encode_utf16().collect();
/// let orphan = RawRole::ToolResult { call_id: &text, tool_name: &[], marker: None };
/// let messages = [
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
///     Raw::new(orphan, vec![Part::Text(&text)]),
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
/// ];
/// let transcript = Transcript::new(messages.iter().map(|message| Arc::new(outline(message))).collect());
/// let problems = check(&transcript, &messages, Family::Any);
/// assert!(problems.iter().any(|problem| problem.index == 1 && problem.rule == Rule::OrphanResult));
/// assert_eq!(repair(&messages, Family::Any).mends, [(1, Mend::Drop)]);
/// ```
pub fn repair(messages: &[Raw<'_>], family: Family) -> Repair {
    let transcript = Transcript::new(messages.iter().map(|raw| Arc::new(outline(raw))).collect());
    let order = transcript.sending_order();
    let ordered: Vec<Raw<'_>> = order.iter().filter_map(|&index| messages.get(index).cloned()).collect();
    let mut left: Vec<Left> = ordered.iter().map(Left::all).collect();
    while mend_once(&ordered, &mut left, family) {}
    let all = order.iter().zip(ordered.iter().zip(&left));
    let mut mends: Vec<_> =
        all.filter_map(|(&index, (message, left))| Some((index, left.mend(message)?))).collect();
    mends.sort_by_key(|(index, _)| *index);
    Repair { order: (!order.is_sorted()).then_some(order), mends }
}

/// The rest of a message.
struct Left {
    /// Positions of the blocks that are still in; `None` where the message is left out.
    blocks: Option<Vec<usize>>,
    is_rewritten: bool,
}

/// The losses of one pass.
#[derive(Default)]
struct Losses {
    messages: BTreeSet<usize>,
    blocks: BTreeSet<(usize, usize)>,
    rewritten: BTreeSet<usize>,
}

/// Mends the most basic problems there are; false where there are none.
fn mend_once(messages: &[Raw<'_>], left: &mut [Left], family: Family) -> bool {
    let messages: Vec<Raw<'_>> =
        messages.iter().zip(&*left).map(|(message, left)| left.of(message)).collect();
    let transcript = Transcript::new(messages.iter().map(|raw| Arc::new(outline(raw))).collect());
    let problems = check(&transcript, &messages, family);
    let Some(stage) = problems.iter().filter_map(|problem| stage(problem.rule)).min() else {
        return false;
    };
    let view = View { transcript: &transcript, messages: &messages, family };
    let mut losses = Losses::default();
    for problem in problems.iter().filter(|problem| self::stage(problem.rule) == Some(stage)) {
        view.mend(*problem, &mut losses);
    }
    for (index, left) in left.iter_mut().enumerate() {
        left.lose(index, &losses);
    }
    true
}

impl Left {
    fn all(message: &Raw<'_>) -> Self {
        Self { blocks: Some((0..message.parts.len()).collect()), is_rewritten: false }
    }

    /// The message as it is by now. One that was left out has no role and is not sent: it breaks no rule.
    fn of<'a>(&self, message: &Raw<'a>) -> Raw<'a> {
        let Some(blocks) = &self.blocks else {
            return Raw { is_sent: false, ..Raw::new(RawRole::Other, Vec::new()) };
        };
        let mended = |text| if self.is_rewritten && has_lone_surrogate(text) { REPLACED } else { text };
        let parts = blocks.iter().filter_map(|&at| match *message.parts.get(at)? {
            Part::Text(text) => Some(Part::Text(mended(text))),
            Part::Counted(text) => Some(Part::Counted(mended(text))),
            part => Some(part),
        });
        Raw { parts: parts.collect(), ..*message }
    }

    fn lose(&mut self, index: usize, losses: &Losses) {
        self.is_rewritten |= losses.rewritten.contains(&index);
        let blocks = self.blocks.take().filter(|_| !losses.messages.contains(&index));
        let stays = |at: &usize| !losses.blocks.contains(&(index, *at));
        self.blocks = blocks.map(|blocks| {
            let staying = blocks.into_iter().enumerate().filter(|(at, _)| stays(at));
            staying.map(|(_, block)| block).collect()
        });
    }

    fn mend(&self, message: &Raw<'_>) -> Option<Mend> {
        let Some(left) = &self.blocks else { return Some(Mend::Drop) };
        let (all, is_rewritten) = (message.parts.len(), self.is_rewritten);
        let lost = || (0..all).filter(|at| left.binary_search(at).is_err()).collect();
        (is_rewritten || left.len() < all).then(|| Mend::Edit { blocks: lost(), is_rewritten })
    }
}

impl View<'_> {
    fn mend(&self, problem: Problem, losses: &mut Losses) {
        let index = problem.index;
        let parts = self.messages.get(index).map(|message| message.parts.as_slice()).unwrap_or_default();
        match problem.rule {
            Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult => {
                losses.messages.insert(index);
            }
            Rule::EmptyMessage | Rule::ThinkingAlone | Rule::CallIdPattern | Rule::UnsignedCall => {
                self.drop_group(index, losses);
            }
            Rule::DuplicateCallId => {
                let repeated = self.messages.get(index).map(Raw::repeated_calls).unwrap_or_default();
                if repeated.is_empty() {
                    self.drop_group(index, losses);
                }
                losses.blocks.extend(repeated.into_iter().map(|at| (index, at)));
            }
            Rule::BlankText => {
                let blank = parts.iter().enumerate().filter(|(_, part)| is_blank_text(part));
                losses.blocks.extend(blank.map(|(at, _)| (index, at)));
            }
            Rule::TextAfterCall if has_thinking(parts) => self.drop_group(index, losses),
            Rule::TextAfterCall => losses.blocks.extend(texts_after_call(parts).map(|at| (index, at))),
            Rule::LoneSurrogate => self.mend_surrogates(index, parts, losses),
            Rule::UnansweredCall => self.mend_unanswered(index, parts, losses),
            Rule::StartsWithReply => {
                let leading = (0..self.transcript.len()).filter(|&index| self.is_spoken(index));
                for reply in leading.take_while(|&index| self.is_reply(index)) {
                    self.drop_group(reply, losses);
                }
            }
            Rule::CallAfterReply => {
                let before = (0..index).rev().filter(|&index| self.is_spoken(index));
                losses.messages.extend(before.take_while(|&index| self.is_reply_without_call(index)));
            }
            Rule::TrailingSpace | Rule::EndsOnReply => {}
        }
    }

    /// Leaves out the message with everything that belongs to it. Where the first of a group is lost, all of it is.
    fn drop_group(&self, index: usize, losses: &mut Losses) {
        let start = self.transcript.group_start(index);
        if !losses.messages.contains(&start) {
            losses.messages.extend(self.transcript.group(start));
        }
    }

    /// Texts are rewritten. A signature covers its thinking, and an id its results: there the whole goes.
    fn mend_surrogates(&self, index: usize, parts: &[Part<'_>], losses: &mut Losses) {
        let mut broken = parts.iter().filter(|part| part_has_lone_surrogate(part)).peekable();
        let is_text = |part: &Part<'_>| matches!(part, Part::Text(_) | Part::Counted(_));
        let has_broken_id = self.messages.get(index).is_some_and(Raw::has_broken_id);
        if broken.peek().is_some() && broken.all(is_text) && !has_broken_id {
            losses.rewritten.insert(index);
        } else {
            self.drop_group(index, losses);
        }
    }

    /// Only the call goes, unless signed thinking vouches for it or nothing would be left.
    fn mend_unanswered(&self, index: usize, parts: &[Part<'_>], losses: &mut Losses) {
        let unanswered: HashSet<Vec<u16>> = self.unanswered(index).into_iter().map(utf16).collect();
        let is_lost = |part: &Part<'_>| matches!(part, Part::Call { id, .. } if unanswered.contains(*id));
        if has_thinking(parts) || parts.iter().all(|part| is_lost(part) || is_blank_text(part)) {
            self.drop_group(index, losses);
        } else {
            let lost = parts.iter().enumerate().filter(|(_, part)| is_lost(part));
            losses.blocks.extend(lost.map(|(at, _)| (index, at)));
        }
    }

    fn is_reply_without_call(&self, index: usize) -> bool {
        let assistant = self.transcript.get(index).and_then(|message| message.assistant());
        assistant.is_some_and(|assistant| assistant.call_ids.is_empty())
    }
}

/// The stage of a problem, the first ones first; `None` for those that are left alone.
const fn stage(rule: Rule) -> Option<u8> {
    match rule {
        Rule::EmptyMessage
        | Rule::BlankText
        | Rule::LoneSurrogate
        | Rule::CallIdPattern
        | Rule::DuplicateCallId
        | Rule::TextAfterCall
        | Rule::ThinkingAlone
        | Rule::UnsignedCall => Some(0),
        Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult | Rule::UnansweredCall => Some(1),
        Rule::StartsWithReply | Rule::CallAfterReply => Some(2),
        Rule::TrailingSpace | Rule::EndsOnReply => None,
    }
}

fn has_thinking(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Thinking { .. }))
}
