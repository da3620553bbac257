//! Owned messages in pi's shapes, and what a plan makes of them: the test's own applying of edits, so that the core's
//! arithmetic can be checked against real messages counted afresh.

use std::sync::Arc;

use pi_strata::context::cuts::cut_text;
use pi_strata::context::layers::Limits;
use pi_strata::context::measure::{Part, Raw, RawRole, Rules, count, measure};
use pi_strata::context::plan::{Action, Edit, KeptLines, Plan};
use pi_strata::context::schedule::economy::Policy;
use pi_strata::context::schedule::{Mode, decide};
use pi_strata::context::shorten::MarkerLanguage;
use pi_strata::context::transcript::{Move, Transcript, Usage};
use pi_strata::context::validity::{Family, Mend, Problem, Repair, check};
use pi_strata::text::Utf16Len;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<u16>);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    System,
    User,
    Assistant { api: Text, model: Text },
    ToolResult { call_id: Text, tool_name: Text },
    Summary,
    Custom,
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Text(Text),
    Thinking { text: Text, signature: Text },
    Call { id: Text, name: Text, arguments: Text, is_signed: bool },
    Image,
    Counted(Text),
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) is_sent: bool,
    pub(crate) blocks: Vec<Block>,
}

/// Tokens that a plan may count too few and too many of what it sends. They may run across the break between a line and a gap, and
/// from each end of a cut text into the marker; of a cut the plan counts the largest outcome.
pub(crate) fn most_miscounted(plan: &Plan) -> (usize, usize) {
    let (mut gaps, mut cut_texts) = (0, 0);
    for edit in &plan.edits {
        match &edit.action {
            Action::KeepLines(kept) => gaps += kept.rows.len() + 1,
            Action::Truncate(cuts) => cut_texts += cuts.len(),
            _ => {}
        }
    }
    (2 * gaps, 2 * gaps + 8 * cut_texts)
}

/// The lines that stay and the markers between them.
fn kept_lines(text: &[u16], kept: &KeptLines) -> Vec<u16> {
    let lines: Vec<&[u16]> = text.split(|&unit| unit == 10).collect();
    let end = lines.len() - usize::from(lines.last().is_some_and(|line| line.is_empty()));
    let mut left: Vec<Vec<u16>> = Vec::new();
    let mut from = 0;
    let mut is_first = true;
    for rows in
        kept.rows.iter().map(|rows| rows.start as usize..rows.end as usize).chain(std::iter::once(end..end))
    {
        if rows.start > from {
            let omitted = rows.start - from;
            left.push(if std::mem::take(&mut is_first) {
                MarkerLanguage::Zh.marker(omitted, Utf16Len(text.len()))
            } else {
                MarkerLanguage::Zh.gap(omitted)
            });
        }
        left.extend(lines[rows.clone()].iter().map(|line| line.to_vec()));
        from = rows.end;
    }
    left.join(&10)
}

impl Message {
    pub(crate) fn raw(&self) -> Raw<'_> {
        let role = match &self.role {
            Role::System => RawRole::System,
            Role::User => RawRole::User,
            Role::Assistant { api, model } => RawRole::Assistant {
                api: &api.0,
                provider: &[],
                model: &model.0,
                usage: Usage::default(),
                has_text_id: false,
            },
            Role::ToolResult { call_id, tool_name } => {
                RawRole::ToolResult { call_id: &call_id.0, tool_name: &tool_name.0, marker: None }
            }
            Role::Summary => RawRole::Summary,
            Role::Custom => RawRole::Custom,
            Role::Other => RawRole::Other,
        };
        let parts = self.blocks.iter().map(Block::part).collect();
        Raw { role, timestamp_ms: None, is_sent: self.is_sent, parts, fingerprint: 0, identity: 0 }
    }

    pub(crate) fn is_result(&self) -> bool {
        matches!(self.role, Role::ToolResult { .. })
    }

    pub(crate) fn is_reply(&self) -> bool {
        matches!(self.role, Role::Assistant { .. } | Role::ToolResult { .. })
    }

    /// True for what reaches the provider as a turn of its own.
    pub(crate) fn is_spoken(&self) -> bool {
        self.is_sent && self.role != Role::System
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Its blocks, of two calls with one id only the first.
    pub(crate) fn without_repeated_calls(&self) -> Vec<Block> {
        let mut left: Vec<Block> = Vec::new();
        for block in &self.blocks {
            let is_same = |other: &Block| matches!((block, other), (Block::Call { id, .. }, Block::Call { id: other, .. }) if id == other);
            if !left.iter().any(is_same) {
                left.push(block.clone());
            }
        }
        left
    }

    fn edited(&self, edit: &Edit, transcript: &Transcript) -> Self {
        let mut message = self.clone();
        match &edit.action {
            Action::Drop => panic!("a dropped message is no edited one"),
            Action::OmitImages | Action::DropCalls => {}
            Action::StripThinking => message.blocks.retain(|block| !matches!(block, Block::Thinking { .. })),
            Action::Summarize => {
                let result = transcript.get(edit.index).and_then(|facts| facts.tool_result());
                let shortened = result.and_then(|result| result.shortened.as_ref()).expect("has a summary");
                let summary = Block::Text(Text(shortened.text.to_vec()));
                let first = message.blocks.iter().position(|block| matches!(block, Block::Text(_)));
                message.blocks.retain(|block| !matches!(block, Block::Text(_)));
                message.blocks.insert(first.expect("has text"), summary);
            }
            Action::KeepLines(kept) => {
                let text: Vec<u16> = message.texts().map(|text| text.0.clone()).collect::<Vec<_>>().join(&10);
                let left = kept_lines(&text, kept);
                let first = message.blocks.iter().position(|block| matches!(block, Block::Text(_)));
                message.blocks.retain(|block| !matches!(block, Block::Text(_)));
                message.blocks.insert(first.expect("has text"), Block::Text(Text(left)));
            }
            Action::Truncate(cuts) => {
                let texts = message.blocks.iter_mut().filter_map(|block| match block {
                    Block::Text(text) => Some(text),
                    _ => None,
                });
                for (at, text) in texts.enumerate() {
                    if let Some(cut) = cuts.iter().find(|cut| cut.text_block == at) {
                        text.0 = cut_text(&text.0, cut.head, cut.tail);
                    }
                }
            }
        }
        message.blocks = message.without_repeated_calls();
        let images = message.blocks.iter_mut().filter(|block| matches!(block, Block::Image));
        for image in images.take(edit.images_out as usize) {
            *image = Block::Text(Text(MarkerLanguage::Zh.image()));
        }
        message
    }
}

impl Block {
    fn part(&self) -> Part<'_> {
        match self {
            Self::Text(text) => Part::Text(&text.0),
            Self::Thinking { text, signature } => Part::Thinking { text: &text.0, signature: &signature.0 },
            Self::Call { id, name, arguments, is_signed } => {
                Part::Call { id: &id.0, name: &name.0, arguments: &arguments.0, is_signed: *is_signed }
            }
            Self::Image => Part::Image { len: 4000 },
            Self::Counted(text) => Part::Counted(&text.0),
            Self::Unknown => Part::Unknown,
        }
    }
}

pub(crate) fn transcript(messages: &[Message]) -> Transcript {
    transcript_by(messages, &Rules::default())
}

pub(crate) fn transcript_by(messages: &[Message], rules: &Rules) -> Transcript {
    Transcript::new(messages.iter().map(|message| Arc::new(measure(&message.raw(), rules))).collect())
}

pub(crate) fn tokens(messages: &[Message]) -> usize {
    messages.iter().map(|message| count(&message.raw(), &Rules::default())).sum()
}

/// The plan of one call.
pub(crate) fn plan(messages: &[Message], limits: &Limits, mode: Mode) -> Plan {
    let transcript = transcript(messages);
    let plan = decide(&transcript, mode, &Policy::default(), limits, None).plan;
    Plan { edits: plan.by_message(&transcript), ..plan }
}

/// The plan and what it leaves, each message with the position it came from.
pub(crate) fn run(messages: &[Message], limits: &Limits, mode: Mode) -> (Plan, Vec<(usize, Message)>) {
    let plan = plan(messages, limits, mode);
    let output = in_order(apply(messages, &transcript(messages), &plan.edits), &plan.moves);
    (plan, output)
}

fn apply(messages: &[Message], transcript: &Transcript, edits: &[Edit]) -> Vec<(usize, Message)> {
    let mut edits = edits.iter().peekable();
    let kept = messages.iter().enumerate().filter_map(|(index, message)| {
        match edits.next_if(|edit| edit.index == index) {
            Some(edit) if edit.action == Action::Drop => None,
            Some(edit) => Some((index, message.edited(edit, transcript))),
            None => Some((index, message.clone())),
        }
    });
    kept.collect()
}

/// The messages that are left, each moved one behind the message that it is sent behind.
fn in_order(left: Vec<(usize, Message)>, moves: &[Move]) -> Vec<(usize, Message)> {
    let (mut strangers, mut order): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|(index, _)| moves.iter().any(|step| step.index == *index));
    while !strangers.is_empty() {
        let before = strangers.len();
        for (index, message) in std::mem::take(&mut strangers).into_iter().rev() {
            let after = moves.iter().find(|step| step.index == index).map(|step| step.after);
            match order.iter().position(|(at, _)| Some(*at) == after) {
                Some(at) => order.insert(at + 1, (index, message)),
                None => strangers.insert(0, (index, message)),
            }
        }
        assert!(strangers.len() < before, "a message is sent behind one that is not");
    }
    order
}

/// The mended transcript.
pub(crate) fn mended(messages: &[Message], Repair { order, mends }: &Repair) -> Vec<Message> {
    let order = order.clone().unwrap_or_else(|| (0..messages.len()).collect());
    let kept = order.into_iter().map(|index| (index, &messages[index])).filter_map(|(index, message)| {
        match mends.iter().find(|(at, _)| *at == index).map(|(_, mend)| mend) {
            None => Some(message.clone()),
            Some(Mend::Drop) => None,
            Some(Mend::Edit { blocks, is_rewritten }) => {
                let mut message = message.clone();
                let mut at = 0;
                message.blocks.retain(|_| {
                    at += 1;
                    !blocks.contains(&(at - 1))
                });
                if *is_rewritten {
                    for block in &mut message.blocks {
                        if let Block::Text(text) | Block::Counted(text) = block {
                            text.0 = String::from_utf16_lossy(&text.0).encode_utf16().collect();
                        }
                    }
                }
                Some(message)
            }
        }
    });
    kept.collect()
}

pub(crate) fn problems(messages: &[Message], family: Family) -> Vec<Problem> {
    let raws: Vec<Raw<'_>> = messages.iter().map(Message::raw).collect();
    check(&transcript(messages), &raws, family)
}
