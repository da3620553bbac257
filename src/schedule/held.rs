//! A message as a schedule holds it: its facts, and in what form it is sent.
//!
//! Only what follows from one message alone is told here; which of them goes, and when, `batch` and `sticky` decide.

use std::sync::Arc;

use super::ledger::Numbers;
use super::line_cuts::LineCut;
use super::lines::LineNumbers;
use crate::plan::{Layer, Reason};
use crate::transcript::{Body, Message};

/// How much of its worth something superseded keeps: its newer form shows most of it.
const SUPERSEDED_SHARE: f64 = 0.7;

/// A message and what became of it. Its form never goes back.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its facts.
    pub message: Arc<Message>,
    /// The message that opens its group.
    pub group: usize,
    /// Identifiers it shows unedited.
    pub numbers: Numbers,
    /// Those its edited form shows.
    pub kept: Option<Numbers>,
    /// Lines it shows unedited.
    pub lines: LineNumbers,
    /// Those its edited form shows.
    pub kept_lines: Option<LineNumbers>,
    /// Which of its lines stay, if it is cut by line.
    pub line_cut: Option<Arc<LineCut>>,
    /// How it is sent.
    pub form: Form,
    /// By which rule, if it is not whole.
    pub reason: Reason,
    /// Whether the model took up anything it brought.
    pub is_taken_up: bool,
    /// What superseded it.
    pub stale: Option<Reason>,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it came.
    Whole,
    /// Some of its lines.
    Lines,
    /// Summarised, or without its thinking.
    Edited,
    /// Not at all.
    Gone,
}

impl Held {
    /// Whether a provider sees it as a turn.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        self.message.is_turn() && self.reason != Reason::OrphanResult
    }

    /// Bytes it keeps from being freed, and as many for its identifiers' part of the ledger.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let own = size_of_val(&*self.numbers) + size_of_val(&*self.lines);
        size_of::<Self>() + self.message.heap_bytes() + 2 * own
    }

    /// cl100k tokens as it is sent.
    #[must_use]
    pub fn tokens(&self) -> usize {
        match self.form {
            Form::Whole => self.message.tokens,
            Form::Lines => self.line_cut.as_ref().map_or(self.message.tokens, |cut| cut.tokens),
            Form::Edited => self.edited_tokens(),
            Form::Gone => 0,
        }
    }

    /// cl100k tokens of its edited form.
    #[must_use]
    pub fn edited_tokens(&self) -> usize {
        match &self.message.body {
            Body::ToolResult(result) => {
                result.shortened.as_ref().map_or(self.message.tokens, |shortened| shortened.message_tokens)
            }
            Body::Assistant(assistant) => {
                self.message.tokens.saturating_sub(assistant.thinking.map_or(0, |thinking| thinking.tokens))
            }
            _ => self.message.tokens,
        }
    }

    /// Identifiers it shows as it is sent.
    #[must_use]
    pub fn shown(&self) -> &[u32] {
        match self.form {
            Form::Whole => &self.numbers,
            Form::Lines => self.line_cut.as_ref().map_or(&[], |cut| &cut.numbers),
            Form::Edited => self.kept.as_deref().unwrap_or_default(),
            Form::Gone => &[],
        }
    }

    /// Lines it shows as it is sent.
    #[must_use]
    pub fn shown_lines(&self) -> &[u32] {
        match self.form {
            Form::Whole => &self.lines,
            Form::Lines => self.line_cut.as_ref().map_or(&[], |cut| &cut.lines),
            Form::Edited => self.kept_lines.as_deref().unwrap_or(&self.lines),
            Form::Gone => &[],
        }
    }

    /// The layer an edit of it belongs to.
    #[must_use]
    pub fn layer(&self) -> Layer {
        match (&self.message.body, self.form) {
            (_, Form::Gone) => Layer::Window,
            (Body::Assistant(_), _) => Layer::Thinking,
            _ => Layer::ToolResults,
        }
    }

    /// What losing it costs, if a newer form of it shows most of the same.
    #[must_use]
    pub fn superseded(&self, loss: f64) -> f64 {
        if self.stale.is_some() { loss * SUPERSEDED_SHARE } else { loss }
    }

    /// The rule by which it goes.
    #[must_use]
    pub fn why(&self) -> Reason {
        self.stale.unwrap_or(if self.is_taken_up { Reason::LeastUseful } else { Reason::NeverUsed })
    }
}
