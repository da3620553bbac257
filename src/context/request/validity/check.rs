//! Finds the messages that break a rule, and the losses that fix them.
//!
//! Only messages that pi sends are checked. A message of an unknown role breaks no rule, because a host may leave it out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::{Family, Rule};
use crate::context::facts::measure::{Part, Raw, RawRole, outline};
use crate::context::facts::transcript::{Assistant, Link, Message, Transcript};
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

/// Changes by message position.
pub(super) type Mends = BTreeMap<usize, Mend>;

/// The problems of these messages, by index.
pub fn check(messages: &[Raw<'_>], family: Family) -> BTreeSet<Problem> {
    Checker::of(messages, family).findings().problems
}

/// The problems of a conversation, and the changes that fix them.
#[derive(Default)]
pub(super) struct Findings {
    problems: BTreeSet<Problem>,
    /// The changes for each pass of a repair. The last list is never applied.
    pub(super) mends: [Mends; 4],
}

impl Findings {
    /// Adds a problem. Returns the list for the changes that fix it.
    fn add(&mut self, index: usize, rule: Rule) -> &mut Mends {
        self.problems.insert(Problem { index, rule });
        let [within, pairs, turns, unmended] = &mut self.mends;
        match rule {
            Rule::OrphanResult | Rule::LateResult | Rule::DuplicateResult | Rule::UnansweredCall => pairs,
            Rule::StartsWithReply | Rule::CallAfterReply => turns,
            Rule::TrailingSpace | Rule::EndsOnReply => unmended,
            _ => within,
        }
    }
}

/// Checks a transcript against the rules of a family of providers.
pub(super) struct Checker<'a> {
    pub(super) transcript: Transcript,
    messages: &'a [Raw<'a>],
    family: Family,
}

impl<'a> Checker<'a> {
    pub(super) fn of(messages: &'a [Raw<'a>], family: Family) -> Self {
        let transcript = Transcript::new(messages.iter().map(|raw| Arc::new(outline(raw))).collect());
        Self { transcript, messages, family }
    }

    pub(super) fn findings(&self) -> Findings {
        let mut found = Findings::default();
        for (index, message) in self.messages.iter().enumerate().filter(|(_, message)| message.is_sent) {
            self.check_content(index, message, &mut found);
        }
        self.check_calls(&mut found);
        self.check_results(&mut found);
        self.check_turns(&mut found);
        found
    }

    /// Checks the rules inside a message.
    fn check_content(&self, index: usize, message: &Raw<'_>, found: &mut Findings) {
        let parts = &message.parts;
        let is_anthropic = self.family == Family::Anthropic;
        let is_answer = matches!(message.role, RawRole::Assistant { .. });
        let speaks = is_answer || matches!(message.role, RawRole::User);
        // pi sends a result with an image as blocks, else as a text.
        let is_in_blocks = speaks || parts.iter().any(|part| matches!(part, Part::Image { .. }));
        let needs_more = is_answer && (is_anthropic || self.family == Family::Responses);
        let blank = positions(parts, is_blank_text);
        let says_nothing = blank.len() == parts.len();
        let has_only = |part: &Part<'_>| is_blank_text(part) || matches!(part, Part::Thinking { .. });
        let first_call = parts.iter().position(|part| matches!(part, Part::Call { .. }));
        let mut texts = positions(parts, |part| matches!(part, Part::Text(text) if !is_blank(text)));
        texts.retain(|&at| first_call.is_some_and(|call| at > call));
        let broken_id = matches!(message.role, RawRole::ToolResult { call_id, tool_name, .. }
            if has_lone_surrogate(call_id) || has_lone_surrogate(tool_name));
        let broken = positions(parts, part_has_lone_surrogate);
        let is_text = |part: &Part<'_>| matches!(part, Part::Text(_) | Part::Counted(_));
        let others = positions(parts, |part| !is_text(part) && part_has_lone_surrogate(part));
        let rewritten = match (broken_id, others.is_empty()) {
            (true, _) => Loss::Message,
            (false, true) => Loss::Rewrite,
            (false, false) => Loss::unless_thinking(parts, others),
        };
        for (is_broken, rule, loss) in [
            (speaks && says_nothing, Rule::EmptyMessage, Loss::Group),
            (is_in_blocks && !says_nothing && is_anthropic, Rule::BlankText, Loss::Blocks(blank)),
            (broken_id || !broken.is_empty(), Rule::LoneSurrogate, rewritten),
            (is_answer && is_anthropic, Rule::TextAfterCall, Loss::unless_thinking(parts, texts)),
            (needs_more && !says_nothing && parts.iter().all(has_only), Rule::ThinkingAlone, Loss::Group),
        ] {
            self.report(index, is_broken, rule, loss, found);
        }
    }

    /// Finds calls without results, and calls that reuse an id: one of the same message on any wire, any earlier one on
    /// Anthropic's. Finds ids that Anthropic refuses, in answers of its own: pi rewrites the ids of other models. Finds steps
    /// of Gemini 3 in the open turn whose first call has no signature.
    fn check_calls(&self, found: &mut Findings) {
        let turn = self.transcript.last_user().unwrap_or(0);
        let mut seen = HashSet::new();
        for (index, (raw, message)) in self.messages.iter().zip(self.transcript.messages()).enumerate() {
            let Some(assistant) = message.sent_assistant() else { continue };
            if self.family != Family::Anthropic {
                seen.clear();
            }
            let reused: HashSet<&str> =
                assistant.call_ids.iter().filter(|id| !seen.insert(*id)).map(|id| &**id).collect();
            let is_bad = |part: &Part<'_>| matches!(part, Part::Call { id, .. } if !is_anthropic_id(id));
            let is_own = Family::of(&assistant.source.api) == Family::Anthropic;
            let mut calls = raw.parts.iter().filter(|part| matches!(part, Part::Call { .. }));
            let is_unsigned = matches!(calls.next(), Some(Part::Call { is_signed: false, .. }));
            let is_bound = self.family == Family::Google
                && index >= turn
                && assistant.source.model.contains(SIGNED_CALL_MODELS);
            let unanswered = self.unanswered(index, assistant);
            let lost =
                |is: &dyn Fn(&Part<'_>) -> bool| Loss::unless_thinking(&raw.parts, positions(&raw.parts, is));
            for (is_broken, rule, loss) in [
                (true, Rule::DuplicateCallId, lost(&|part| calls_one_of(part, &reused))),
                (true, Rule::DuplicateCallId, Loss::Blocks(raw.repeated_calls())),
                (self.family == Family::Anthropic && is_own, Rule::CallIdPattern, lost(&is_bad)),
                (is_bound && is_unsigned, Rule::UnsignedCall, Loss::Group),
                (true, Rule::UnansweredCall, lost(&|part| calls_one_of(part, &unanswered))),
            ] {
                self.report(index, is_broken, rule, loss, found);
            }
        }
    }

    /// Ids of the unanswered calls of the message at `index`.
    fn unanswered(&self, index: usize, assistant: &'a Assistant) -> HashSet<&'a str> {
        let results = self.transcript.group(index).skip(1);
        let answered: HashSet<usize> = results.map(|result| self.transcript.call_position(result)).collect();
        let calls = assistant.call_ids.iter().enumerate();
        calls.filter(|(position, _)| !answered.contains(position)).map(|(_, id)| &**id).collect()
    }

    /// Finds results without calls. An orphan is a duplicate if another result answers its call.
    fn check_results(&self, found: &mut Findings) {
        let mut answered = HashSet::new();
        for (index, message) in self.transcript.messages().iter().enumerate() {
            for id in message.assistant().iter().flat_map(|assistant| &assistant.call_ids) {
                answered.remove(id);
            }
            let Some(result) = message.tool_result() else { continue };
            let is_orphan = self.transcript.link(index) == Link::Orphan;
            let rule = match answered.contains(&result.call_id) {
                _ if !is_orphan => Rule::LateResult,
                true => Rule::DuplicateResult,
                false => Rule::OrphanResult,
            };
            let is_broken = is_orphan || self.transcript.is_parted(index);
            self.report(index, is_broken, rule, Loss::Message, found);
            if !is_orphan {
                answered.insert(&result.call_id);
            }
        }
    }

    /// Checks the order of turns.
    fn check_turns(&self, found: &mut Findings) {
        let messages = self.transcript.messages().iter().enumerate();
        let turns = messages.filter(|(_, message)| message.is_sent && !message.is_system());
        let turns: Vec<usize> = turns.map(|(index, _)| index).collect();
        let is_reply = |message: &Message| message.assistant().is_some() || message.is_tool_result();
        for &reply in turns.iter().take_while(|&&index| self.transcript.get(index).is_some_and(is_reply)) {
            let first = turns.first().copied().unwrap_or(reply);
            self.lose(reply, Loss::Group, found.add(first, Rule::StartsWithReply));
        }
        let last = turns.last().copied();
        if let Some((last, rule)) = last.and_then(|last| Some((last, self.ending_rule(last)?))) {
            found.add(last, rule);
        }
        for (at, pair) in turns.windows(2).enumerate().filter(|_| self.family == Family::Google) {
            if let &[before, index] = pair
                && self.calls(before).is_some()
                && self.calls(index) == Some(true)
            {
                let mends = found.add(index, Rule::CallAfterReply);
                let replies = turns.iter().take(at + 1).rev();
                for &reply in replies.take_while(|&&reply| self.calls(reply) == Some(false)) {
                    self.lose(reply, Loss::Message, mends);
                }
            }
        }
    }

    /// Whether an assistant message calls tools; `None` for other roles.
    fn calls(&self, index: usize) -> Option<bool> {
        self.transcript.get(index)?.assistant().map(|assistant| !assistant.call_ids.is_empty())
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

    /// Adds a problem and the loss that fixes it, if `is_broken`.
    fn report(&self, index: usize, is_broken: bool, rule: Rule, loss: Loss, found: &mut Findings) {
        if is_broken && !matches!(&loss, Loss::Blocks(blocks) | Loss::Calls(blocks) if blocks.is_empty()) {
            self.lose(index, loss, found.add(index, rule));
        }
    }

    fn lose(&self, index: usize, loss: Loss, mends: &mut Mends) {
        match loss {
            Loss::Rewrite => mends.entry(index).or_default().is_rewritten = true,
            Loss::Blocks(blocks) => mends.entry(index).or_default().blocks.extend(blocks),
            Loss::Calls(blocks) => {
                let parts = self.messages.get(index).map_or(&[][..], |message| &message.parts);
                let ids: HashSet<_> = blocks.iter().filter_map(|&at| call_id(parts.get(at)?)).collect();
                for result in self.transcript.group(index).skip(1) {
                    let answer = self.transcript.get(result).and_then(Message::tool_result);
                    if answer.is_some_and(|answer| ids.contains(&*answer.call_id)) {
                        self.lose(result, Loss::Message, mends);
                    }
                }
                self.lose(index, Loss::Blocks(blocks), mends);
            }
            Loss::Message => mends.entry(index).or_default().is_dropped = true,
            Loss::Group => {
                let start = self.transcript.group_start(index);
                if !mends.get(&start).is_some_and(|mend| mend.is_dropped) {
                    self.transcript.group(start).for_each(|index| self.lose(index, Loss::Message, mends));
                }
            }
        }
    }
}

/// The part of a message that a repair removes.
enum Loss {
    /// Its lone surrogates.
    Rewrite,
    /// Some blocks.
    Blocks(Vec<usize>),
    /// Some blocks, and the results of the calls among them.
    Calls(Vec<usize>),
    /// The message.
    Message,
    /// The message and its group.
    Group,
}

impl Loss {
    /// These blocks with the results of their calls, or the group of a message with thinking: its signature covers them.
    fn unless_thinking(parts: &[Part<'_>], blocks: Vec<usize>) -> Self {
        let has_thinking = parts.iter().any(|part| matches!(part, Part::Thinking { .. }));
        if has_thinking && !blocks.is_empty() { Self::Group } else { Self::Calls(blocks) }
    }
}

/// Positions of the blocks for which `is` holds.
fn positions(parts: &[Part<'_>], is: impl Fn(&Part<'_>) -> bool) -> Vec<usize> {
    parts.iter().enumerate().filter(|(_, part)| is(part)).map(|(at, _)| at).collect()
}

/// The id of a call, as its result names it.
fn call_id(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Call { id, .. } => Some(String::from_utf16_lossy(id)),
        _ => None,
    }
}

fn calls_one_of(part: &Part<'_>, ids: &HashSet<&str>) -> bool {
    call_id(part).is_some_and(|id| ids.contains(&*id))
}

fn is_blank_text(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if is_blank(text))
}

/// Returns `true` if the block holds a lone surrogate that would be sent.
fn part_has_lone_surrogate(part: &Part<'_>) -> bool {
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
