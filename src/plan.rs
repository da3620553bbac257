//! The answer of the core: at most one edit per message, and what it saves.
//!
//! The boundary applies it to the host's own objects. An edit can shorten tool-result text, remove thinking, drop a
//! message or, when nothing else fits, cut a text; no edit can add, reorder or rewrite anything else.

use std::ops::Range;
use std::sync::Arc;

use crate::cuts::Cut;
use crate::tokens::estimate::Size;

/// What happens to one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its tool-result text is replaced by the shortened one.
    Summarize,
    /// Of its tool-result text only some lines stay.
    KeepLines(Arc<KeptLines>),
    /// Its thinking blocks are removed whole.
    StripThinking,
    /// It is left out of the request.
    Drop,
    /// Its text blocks are cut, each as said; a block not named stays whole.
    Truncate(Vec<Cut>),
}

/// The lines of a tool result that stay, word for word and in order, a marker line for each gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLines {
    /// Ranges of lines, in order, none touching the next.
    pub rows: Box<[Range<u32>]>,
    /// cl100k tokens of the whole message then.
    pub tokens: u32,
    /// Identifiers that are left, by the numbers of the schedule that chose.
    pub numbers: Box<[u32]>,
    /// Lines that are left, likewise.
    pub lines: Box<[u32]>,
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
    /// The size of the transcript as it came.
    pub before: Size,
    /// The size of what will be sent.
    pub after: Size,
}
