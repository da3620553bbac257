//! The answer of the core: at most one edit per message, and what it saves.
//!
//! Decisions flow in through `Draft`, a `Plan` flows out; the boundary applies it to the host's own objects. An
//! edit can shorten tool-result text, remove thinking, drop a message or, when nothing else fits, cut a text; no
//! edit can add, reorder or rewrite anything else.

use std::sync::Arc;

use crate::schedule::line_cuts::LineCut;
use crate::text::Utf16Len;
use crate::transcript::{Message, Transcript};

/// What happens to one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its tool-result text is replaced by the shortened one.
    Summarize,
    /// Of its tool-result text only some lines stay.
    KeepLines(Arc<LineCut>),
    /// Its thinking blocks are removed whole.
    StripThinking,
    /// It is left out of the request.
    Drop,
    /// Its text blocks are cut, each as said; a block not named stays whole.
    Truncate(Vec<Cut>),
}

/// A text block of which only head and tail stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Position of the block among the message's text blocks.
    pub text_block: usize,
    /// How much of its beginning stays.
    pub head: Utf16Len,
    /// How much of its end stays.
    pub tail: Utf16Len,
    /// Tokens this cut saves.
    pub tokens_saved: usize,
}

/// Which rule of the product asked for an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The transcript was not valid: what bricks a session is left out.
    Repair,
    /// Layer 1: old tool results.
    ToolResults,
    /// Layer 2: old thinking.
    Thinking,
    /// Layer 3: the sliding window.
    Window,
    /// Layer 4: never over the window.
    Shrink,
}

/// Why an edit was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A tool result that answers no call: a provider refuses the whole request over one.
    OrphanResult,
    /// A tool result over the guard's cap.
    LongToolResult,
    /// Not among the newest tool results.
    OldToolResult,
    /// Not among the newest messages with thinking.
    OldThinking,
    /// The oldest group of a request over the threshold.
    OverThreshold,
    /// Even after all that, the request would not fit into the window.
    OverWindow,
    /// The file was read again later.
    ReadAgain,
    /// The file was changed later.
    ChangedSince,
    /// The same was asked of the same tool later.
    RunAgain,
    /// A later tool result has the same text.
    Duplicate,
    /// Nothing the model wrote later takes anything up that it brought.
    NeverUsed,
    /// Of what there was, least likely to be needed again for its tokens.
    LeastUseful,
    /// pi never sends it: the model's answer failed or was aborted.
    NeverSent,
    /// Its signature covers earlier messages, and one of those was edited.
    ThinkingBound,
}

impl Reason {
    /// Every reason, in declaration order: the boundary sends positions in this list.
    pub const ALL: [Self; 14] = [
        Self::OrphanResult,
        Self::LongToolResult,
        Self::OldToolResult,
        Self::OldThinking,
        Self::OverThreshold,
        Self::OverWindow,
        Self::ReadAgain,
        Self::ChangedSince,
        Self::RunAgain,
        Self::Duplicate,
        Self::NeverUsed,
        Self::LeastUseful,
        Self::NeverSent,
        Self::ThinkingBound,
    ];

    /// In words; never text of the conversation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OrphanResult => "tool result without its call",
            Self::LongToolResult => "tool result over the cap",
            Self::OldToolResult => "old tool result",
            Self::OldThinking => "old thinking",
            Self::OverThreshold => "oldest group over the threshold",
            Self::OverWindow => "over the window",
            Self::ReadAgain => "file read again since",
            Self::ChangedSince => "file changed since",
            Self::RunAgain => "same call made again since",
            Self::Duplicate => "same text again since",
            Self::NeverUsed => "nothing later refers to it",
            Self::LeastUseful => "least likely to be needed again",
            Self::NeverSent => "never sent",
            Self::ThinkingBound => "thinking after an edited message",
        }
    }
}

/// One decision about one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Position of the message in the transcript.
    pub index: usize,
    /// Which layer asked for it.
    pub layer: Layer,
    /// What happens.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Tokens it saves against the unedited message.
    pub tokens_saved: usize,
}

/// All edits of one call, oldest message first.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The edits, by index; at most one per message.
    pub edits: Vec<Edit>,
    /// cl100k tokens of the transcript as it came.
    pub tokens_before: usize,
    /// cl100k tokens of what will be sent.
    pub tokens_after: usize,
}

/// A plan in the making.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    transcript: &'a Transcript,
    edits: Vec<Option<Edit>>,
    tokens: usize,
}

impl<'a> Draft<'a> {
    /// Starts with every message kept.
    #[must_use]
    pub fn new(transcript: &'a Transcript) -> Self {
        Self { transcript, edits: vec![None; transcript.len()], tokens: transcript.tokens() }
    }

    /// The transcript the draft is about.
    #[must_use]
    pub fn transcript(&self) -> &'a Transcript {
        self.transcript
    }

    /// cl100k tokens of what would be sent now.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// True if the message at `index` is left out.
    #[must_use]
    pub fn is_dropped(&self, index: usize) -> bool {
        self.edit(index).is_some_and(|edit| edit.action == Action::Drop)
    }

    /// The decision about the message at `index` so far.
    #[must_use]
    pub fn edit(&self, index: usize) -> Option<&Edit> {
        self.edits.get(index).and_then(Option::as_ref)
    }

    /// Decides about a message; a later decision replaces an earlier one, but nothing brings back what is dropped.
    pub fn apply(&mut self, index: usize, layer: Layer, action: Action, reason: Reason) {
        let Some(message) = self.transcript.get(index) else { return };
        if self.is_dropped(index) {
            return;
        }
        let tokens_saved = message.tokens_saved_by(&action);
        if let Some(slot) = self.edits.get_mut(index) {
            let saved_before = slot.as_ref().map_or(0, |edit| edit.tokens_saved);
            self.tokens = (self.tokens + saved_before).saturating_sub(tokens_saved);
            *slot = Some(Edit { index, layer, action, reason, tokens_saved });
        }
    }

    /// Leaves out a whole group: the message at `start` and the tool results that answer it.
    pub fn drop_group(&mut self, start: usize, layer: Layer, reason: Reason) {
        for index in self.transcript.group(start) {
            self.apply(index, layer, Action::Drop, reason);
        }
    }

    /// Closes the draft.
    #[must_use]
    pub fn finish(self) -> Plan {
        Plan {
            edits: self.edits.into_iter().flatten().collect(),
            tokens_before: self.transcript.tokens(),
            tokens_after: self.tokens,
        }
    }
}

impl Message {
    /// Tokens that `action` would save on this message.
    #[must_use]
    pub fn tokens_saved_by(&self, action: &Action) -> usize {
        match action {
            Action::Summarize => {
                let shortened = self.tool_result().and_then(|result| result.shortened.as_ref());
                shortened.map_or(0, |shortened| self.tokens.saturating_sub(shortened.message_tokens))
            }
            Action::StripThinking => {
                let thinking = self.assistant().and_then(|assistant| assistant.thinking);
                thinking.map_or(0, |thinking| thinking.tokens.min(self.tokens))
            }
            Action::KeepLines(cut) => self.tokens.saturating_sub(cut.tokens),
            Action::Drop => self.tokens,
            Action::Truncate(cuts) => cuts.iter().map(|cut| cut.tokens_saved).sum::<usize>().min(self.tokens),
        }
    }
}
