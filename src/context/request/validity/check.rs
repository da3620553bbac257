//! Checks the rules: a function finds the messages that break one.
//!
//! Only messages that pi sends are checked. A message of an unknown role breaks no rule, because a host may leave it out.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::{Family, Rule};
use crate::context::facts::measure::{Part, Raw, RawRole, outline};
use crate::context::facts::transcript::{Body, Link, Transcript};
use crate::text::{has_lone_surrogate, is_blank};

/// Models that bind a signature to the first call of each step.
const SIGNED_CALL_MODELS: &str = "gemini-3";

/// One message that breaks one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Position of the message.
    pub index: usize,
    /// The rule it breaks.
    pub rule: Rule,
}

/// The problems of these messages, by index.
pub fn check(messages: &[Raw<'_>], family: Family) -> BTreeSet<Problem> {
    View::of(messages, family).problems()
}

/// A conversation with the rules that apply to it.
pub(super) struct View<'a> {
    pub(super) transcript: Transcript,
    pub(super) messages: &'a [Raw<'a>],
    family: Family,
}

impl<'a> View<'a> {
    pub(super) fn of(messages: &'a [Raw<'a>], family: Family) -> Self {
        let transcript = Transcript::new(messages.iter().map(|raw| Arc::new(outline(raw))).collect());
        Self { transcript, messages, family }
    }

    pub(super) fn problems(&self) -> BTreeSet<Problem> {
        let within = self.contents().chain(self.duplicate_ids()).chain(self.unsigned_calls());
        self.pairs().chain(self.turns()).chain(within).collect()
    }

    /// Finds results without calls and calls without results. An orphan is a duplicate if another result answers its call.
    fn pairs(&self) -> impl Iterator<Item = Problem> {
        let mut answered = HashSet::new();
        self.transcript.messages().iter().enumerate().filter_map(move |(index, message)| {
            let rule = match &message.body {
                Body::Assistant(assistant) => {
                    for id in &assistant.call_ids {
                        answered.remove(id);
                    }
                    (!self.unanswered(index).is_empty()).then_some(Rule::UnansweredCall)
                }
                Body::ToolResult(result) => match self.transcript.link(index) {
                    Link::Orphan if answered.contains(&result.call_id) => Some(Rule::DuplicateResult),
                    Link::Orphan => Some(Rule::OrphanResult),
                    _ => {
                        answered.insert(&result.call_id);
                        self.transcript.is_parted(index).then_some(Rule::LateResult)
                    }
                },
                _ => None,
            };
            rule.map(|rule| Problem { index, rule })
        })
    }

    /// Ids of the unanswered calls of the message at `index`.
    pub(super) fn unanswered(&self, index: usize) -> Vec<&str> {
        let Some(assistant) = self.transcript.get(index).and_then(|message| message.sent_assistant()) else {
            return Vec::new();
        };
        let results = self.transcript.group(index).skip(1);
        let answered: HashSet<usize> = results.map(|result| self.transcript.call_position(result)).collect();
        let calls = assistant.call_ids.iter().enumerate();
        calls.filter(|(position, _)| !answered.contains(position)).map(|(_, id)| &**id).collect()
    }

    /// The problems inside single messages.
    fn contents(&self) -> impl Iterator<Item = Problem> {
        let sent = self.messages.iter().enumerate().filter(|(_, message)| message.is_sent);
        sent.flat_map(|(index, message)| self.content_rules(message).map(move |rule| Problem { index, rule }))
    }

    fn content_rules(&self, message: &Raw<'_>) -> impl Iterator<Item = Rule> + use<> {
        let is_anthropic = self.family == Family::Anthropic;
        let is_answer = matches!(message.role, RawRole::Assistant { .. });
        let speaks = is_answer || matches!(message.role, RawRole::User);
        let parts = &message.parts;
        let says_nothing = parts.iter().all(is_blank_text);
        let has_blank = || parts.iter().any(is_blank_text);
        let has_lone_surrogate = message.has_broken_id() || parts.iter().any(part_has_lone_surrogate);
        let needs_more = is_answer && (is_anthropic || self.family == Family::Responses);
        let has_only = |part: &Part<'_>| is_blank_text(part) || matches!(part, Part::Thinking { .. });
        let has_bad_id = || !message.call_ids().all(is_anthropic_id);
        let rules = [
            (speaks && says_nothing, Rule::EmptyMessage),
            (speaks && !says_nothing && is_anthropic && has_blank(), Rule::BlankText),
            (has_lone_surrogate, Rule::LoneSurrogate),
            (is_answer && is_anthropic && has_bad_id(), Rule::CallIdPattern),
            (is_answer && is_anthropic && texts_after_call(parts).next().is_some(), Rule::TextAfterCall),
            (needs_more && !says_nothing && parts.iter().all(has_only), Rule::ThinkingAlone),
        ];
        rules.into_iter().filter_map(|(is_broken, rule)| is_broken.then_some(rule))
    }

    /// The rules of who may speak after whom.
    fn turns(&self) -> Vec<Problem> {
        let turns: Vec<usize> = (0..self.messages.len()).filter(|&index| self.is_turn(index)).collect();
        let mut found = Vec::new();
        if let Some(&index) = turns.first().filter(|&&index| self.is_reply(index)) {
            found.push(Problem { index, rule: Rule::StartsWithReply });
        }
        if let Some(&index) = turns.last() {
            found.extend(self.ending_rule(index).map(|rule| Problem { index, rule }));
        }
        if self.family == Family::Google {
            let call_after_reply = |pair: &[usize]| match *pair {
                [before, index] if self.calls(before).is_some() && self.calls(index) == Some(true) => {
                    Some(Problem { index, rule: Rule::CallAfterReply })
                }
                _ => None,
            };
            found.extend(turns.windows(2).filter_map(call_after_reply));
        }
        found
    }

    /// Whether an assistant message calls tools; `None` for any other.
    pub(super) fn calls(&self, index: usize) -> Option<bool> {
        self.transcript.get(index)?.assistant().map(|assistant| !assistant.call_ids.is_empty())
    }

    /// Returns `true` for a message that the provider sees as a turn.
    pub(super) fn is_turn(&self, index: usize) -> bool {
        let is_sent = self.messages.get(index).is_some_and(|message| message.is_sent);
        is_sent && self.transcript.get(index).is_some_and(|message| !message.is_system())
    }

    pub(super) fn is_reply(&self, index: usize) -> bool {
        let body = self.transcript.get(index).map(|message| &message.body);
        matches!(body, Some(Body::Assistant(_) | Body::ToolResult(_)))
    }

    fn ending_rule(&self, last: usize) -> Option<Rule> {
        let message = self.messages.get(last)?;
        let is_answer = matches!(message.role, RawRole::Assistant { .. });
        match (self.family, message.parts.last()) {
            (Family::Google, _) => is_answer.then_some(Rule::EndsOnReply),
            (Family::Anthropic, Some(Part::Text([.., last]))) => {
                (is_answer && is_blank(&[*last])).then_some(Rule::TrailingSpace)
            }
            _ => None,
        }
    }

    /// Finds messages that reuse a call id: one of the same message on any wire, any earlier one on Anthropic's.
    fn duplicate_ids(&self) -> impl Iterator<Item = Problem> {
        let mut seen = HashSet::new();
        self.transcript.messages().iter().enumerate().filter_map(move |(index, message)| {
            let assistant = message.sent_assistant()?;
            if self.family != Family::Anthropic {
                seen.clear();
            }
            // `count` inserts every id.
            let reused = assistant.call_ids.iter().filter(|id| !seen.insert(*id)).count();
            let is_repeated = self.messages.get(index).is_some_and(|raw| !raw.repeated_calls().is_empty());
            (reused > 0 || is_repeated).then_some(Problem { index, rule: Rule::DuplicateCallId })
        })
    }

    /// Finds steps of Gemini 3 in the open turn whose first call has no signature.
    fn unsigned_calls(&self) -> impl Iterator<Item = Problem> {
        let turn = self.transcript.last_user().unwrap_or(0)..self.transcript.len();
        turn.filter(|_| self.family == Family::Google).filter_map(|index| {
            let assistant = self.transcript.get(index)?.sent_assistant()?;
            let is_bound = assistant.source.model.contains(SIGNED_CALL_MODELS);
            let first = self.messages.get(index)?.parts.iter().find_map(|part| match part {
                Part::Call { is_signed, .. } => Some(*is_signed),
                _ => None,
            });
            (is_bound && first == Some(false)).then_some(Problem { index, rule: Rule::UnsignedCall })
        })
    }
}

impl Raw<'_> {
    /// Returns `true` for a tool result whose id or name holds a lone surrogate.
    pub(super) fn has_broken_id(&self) -> bool {
        match self.role {
            RawRole::ToolResult { call_id, tool_name, .. } => {
                has_lone_surrogate(call_id) || has_lone_surrogate(tool_name)
            }
            _ => false,
        }
    }
}

/// Returns `true` for a blank text block.
pub(super) fn is_blank_text(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if is_blank(text))
}

/// Positions of the text blocks behind the first tool call.
pub(super) fn texts_after_call(parts: &[Part<'_>]) -> impl Iterator<Item = usize> {
    let call = parts.iter().position(|part| matches!(part, Part::Call { .. })).unwrap_or(parts.len());
    let texts = parts.iter().enumerate().skip(call);
    texts.filter(|(_, part)| matches!(part, Part::Text(text) if !is_blank(text))).map(|(at, _)| at)
}

/// Returns `true` if the block holds a lone surrogate that would be sent.
pub(super) fn part_has_lone_surrogate(part: &Part<'_>) -> bool {
    match part {
        Part::Text(text) | Part::Counted(text) | Part::Thinking { text, .. } => has_lone_surrogate(text),
        Part::Call { id, name, arguments, .. } => {
            has_lone_surrogate(id) || has_lone_surrogate(name) || escapes_lone_surrogate(arguments)
        }
        Part::Image { .. } | Part::Unknown => false,
    }
}

/// Returns `true` if JSON text holds an escaped surrogate. `JSON.stringify` does not escape pairs, so it is alone.
fn escapes_lone_surrogate(json: &[u16]) -> bool {
    let is_surrogate = |digits: &str| digits.starts_with(['8', '9', 'a', 'b', 'c', 'd', 'e', 'f']);
    // An escaped backslash escapes nothing.
    String::from_utf16_lossy(json).replace(r"\\", "").split(r"\ud").skip(1).any(is_surrogate)
}

fn is_anthropic_id(id: &[u16]) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    !id.is_empty() && String::from_utf16_lossy(id).chars().all(is_allowed)
}
