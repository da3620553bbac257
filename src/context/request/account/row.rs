//! A message and the form it is sent in.

use std::sync::Arc;

use crate::context::facts::transcript::{Body, Message};
use crate::context::request::plan::{Action, Edit, KeptLines, Layer, Reason};
use crate::tokens::estimate::Size;

/// The form in which a message is sent. An edit only moves to a shorter one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Unedited.
    Whole,
    /// A tool result cut to some lines.
    Lines(Arc<KeptLines>),
    /// A tool result with its shortened text, an assistant message without its thinking.
    Edited,
    /// With each of its texts cut to at most so many cl100k tokens, and without thinking.
    Cut(u32),
    /// Not sent.
    Gone,
}

/// The way in which a message is sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its form.
    pub form: Form,
    /// The layer that edited it, if it is not whole.
    pub layer: Layer,
    /// The rule behind it.
    pub reason: Reason,
    /// Number of its first images that are left out.
    pub images_out: u32,
}

impl Sent {
    /// Returns `true` if any of the message is left out.
    pub fn is_edited(&self) -> bool {
        self.form != Form::Whole || self.images_out > 0
    }
}

/// A message and the form in which it is sent.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its facts.
    pub message: Arc<Message>,
    /// The message that opens its group.
    pub group: usize,
    /// Its position among the calls of the message it answers.
    pub call: usize,
    /// The way in which it is sent, unless the window hides it.
    pub sent: Sent,
    /// cl100k tokens of the whole message, copied so that dropped messages are not loaded into the processor's cache.
    pub(super) whole_tokens: u32,
    /// True if the sliding window hides it: then it is not sent, whatever its form.
    pub(super) is_hidden: bool,
    /// The newest message of the group that it opens.
    pub(super) newest_in_group: usize,
    /// True if a user message followed: its turn is closed.
    pub(super) is_closed: bool,
    /// If a model refused its images, the number of them that were left out before.
    pub(super) refused_images: Option<u32>,
    /// True if its model refused its thinking.
    pub(super) has_refused_thinking: bool,
}

impl Row {
    /// The form in which the message is sent.
    pub fn form(&self) -> &Form {
        if self.is_hidden { &Form::Gone } else { &self.sent.form }
    }

    /// Returns `true` if `later` takes more of it away than its current form.
    pub(super) fn may_become(&self, later: &Form) -> bool {
        let is_result = self.message.is_tool_result();
        match (&self.sent.form, later) {
            (Form::Gone, _) | (_, Form::Whole) => false,
            (Form::Whole, _) | (_, Form::Gone) => true,
            (before, _) => {
                (is_result || matches!(later, Form::Cut(_))) && self.tokens_as(later) < self.tokens_as(before)
            }
        }
    }

    /// cl100k tokens as it is sent.
    pub fn tokens(&self) -> usize {
        self.tokens_as(self.form())
    }

    /// cl100k tokens in this form. `Gone` looks up no facts.
    pub fn tokens_as(&self, form: &Form) -> usize {
        let message = &self.message;
        let left = match (form, &message.body) {
            (Form::Gone, _) => return 0,
            (Form::Edited, Body::ToolResult(result)) => {
                let shortened = result.shortened.as_ref();
                shortened.map_or(message.tokens, |shortened| shortened.message_tokens.min(message.tokens))
            }
            (Form::Edited | Form::Cut(_), Body::Assistant(assistant)) => {
                let thinking = assistant.thinking.map_or(0, |thinking| thinking.tokens);
                let cut = if let Form::Cut(most) = form { message.cuts.saved_at(*most) } else { 0 };
                message.tokens.saturating_sub(thinking + cut)
            }
            (Form::Lines(kept), _) => message.tokens.min(kept.tokens as usize),
            (Form::Cut(most), _) => message.tokens.saturating_sub(message.cuts.saved_at(*most)),
            (Form::Whole | Form::Edited, _) => message.tokens,
        };
        left.saturating_sub(self.sent.images_out as usize * message.images.tokens_saved as usize)
    }

    /// The rows of its text that this form shows, in order.
    pub fn rows_as(&self, form: &Form) -> Vec<usize> {
        if let Form::Lines(kept) = form {
            return kept.runs.iter().flat_map(|(run, _)| run.clone()).map(|at| at as usize).collect();
        }
        let layout = self.message.traits.layout.as_ref();
        (0..layout.map_or(0, |layout| layout.rows.len())).collect()
    }

    /// Its sent images.
    pub fn images(&self) -> ImageSize {
        self.images_as(self.form())
    }

    /// The same in this form.
    pub fn images_as(&self, form: &Form) -> ImageSize {
        let is_in = self.message.is_sent && *form != Form::Gone;
        let sent = self.message.images.lens.get(self.sent.images_out as usize..).filter(|_| is_in);
        let sent = sent.unwrap_or_default();
        let lens = || sent.iter().map(|&len| len as usize);
        ImageSize { count: sent.len(), chars: lens().sum(), largest: lens().max().unwrap_or(0) }
    }

    /// Its size as it is sent; zero if it is not.
    pub(super) fn size(&self) -> Size {
        self.size_as(self.form())
    }

    pub(super) fn size_as(&self, form: &Form) -> Size {
        let is_message = self.message.is_sent && *form != Form::Gone;
        let assistant = self.message.sent_assistant().filter(|_| self.is_closed && *form == Form::Whole);
        let old_thinking =
            assistant.and_then(|assistant| assistant.thinking).map_or(0, |thinking| thinking.tokens);
        Size { cl100k: self.tokens_as(form), old_thinking, messages: usize::from(is_message) }
    }

    /// The edit that gives the message its form; `None` if it is unedited. `index` is its position.
    pub(super) fn edit(&self, index: usize) -> Option<Edit> {
        let (form, Sent { layer, reason, images_out, .. }) = (self.form(), &self.sent);
        let assistant = || self.message.assistant();
        let repeats_calls = || assistant().is_some_and(|assistant| assistant.repeated_calls.is_some());
        let action = match form {
            Form::Whole if *images_out > 0 => Action::OmitImages,
            Form::Whole if repeats_calls() => Action::DropCalls,
            Form::Whole => return None,
            Form::Lines(kept) => Action::KeepLines(kept.clone()),
            Form::Edited if assistant().is_some() => Action::StripThinking,
            Form::Edited => Action::Summarize,
            Form::Cut(most) => Action::Truncate(self.message.cuts.at(*most).collect()),
            Form::Gone => Action::Drop,
        };
        let (layer, reason) = match form {
            _ if self.is_hidden => (Layer::Window, Reason::OverThreshold),
            Form::Whole if repeats_calls() => (Layer::Repair, Reason::RepeatedCall),
            _ => (*layer, *reason),
        };
        let tokens_saved = (self.whole_tokens as usize).saturating_sub(self.tokens());
        let images_out = if *form == Form::Gone { 0 } else { *images_out };
        Some(Edit { index, count: 1, layer, action, reason, tokens_saved, images_out })
    }

    /// Returns `true` if a provider sees it as a turn: sent, no system message, no orphan result.
    pub fn is_turn(&self) -> bool {
        self.message.is_sent && !self.message.is_system() && self.sent.reason != Reason::OrphanResult
    }
}

/// Images of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageSize {
    /// Their number.
    pub count: usize,
    /// Characters they take.
    pub chars: usize,
    /// Characters of the largest.
    pub largest: usize,
}

impl ImageSize {
    /// Any number of any size.
    pub const MAX: Self = Self { count: usize::MAX, chars: usize::MAX, largest: usize::MAX };

    /// The lesser of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let least = |of: fn(&Self) -> usize| of(&self).min(of(&other));
        Self { count: least(|of| of.count), chars: least(|of| of.chars), largest: least(|of| of.largest) }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let largest = self.largest.max(more.largest);
        Self { count: self.count + more.count, chars: self.chars + more.chars, largest }
    }
}
