//! The answer of the core: at most one edit per message, and what it saves.
//!
//! The boundary applies it to the host's own objects. An edit can shorten tool-result text, remove thinking, drop a
//! message or, when nothing else fits, cut a text; no edit can add, reorder or rewrite anything else.

use std::ops::Range;
use std::sync::Arc;

use crate::context::cuts::Cut;
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
    /// Nothing but the images that [`Edit::images_out`] counts is left out.
    OmitImages,
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
    /// Of each range, why it stays.
    pub keeps: Box<[Keep]>,
    /// cl100k tokens of the whole message then.
    pub tokens: u32,
    /// Identifiers that are left, by the numbers of the schedule that chose.
    pub numbers: Box<[u32]>,
    /// Lines that are left, likewise.
    pub lines: Box<[u32]>,
}

/// What makes lines of a cut tool result worth their tokens, for the most part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Lines that the model wrote or quoted itself: what it edits next.
    OwnLines,
    /// Lines of a file that an edit would have to quote.
    FileLines,
    /// Names that the model has used.
    UsedNames,
    /// Names that it has not used yet.
    NewNames,
    /// Leaving them out would save less than the marker in their place costs.
    ShortGap,
}

impl Keep {
    /// Every one, in declaration order: the boundary sends positions in this list.
    pub const ALL: [Self; 5] =
        [Self::OwnLines, Self::FileLines, Self::UsedNames, Self::NewNames, Self::ShortGap];

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnLines => "the last copy of lines that the model wrote itself and may edit",
            Self::FileLines => "the last copy of lines of a file that an edit would have to quote",
            Self::UsedNames => "the last place that shows names the model has used",
            Self::NewNames => "the only place that shows these names",
            Self::ShortGap => "leaving them out would save less than the marker costs",
        }
    }
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
    /// Not among the newest images of old tool results.
    OldImage,
    /// More images, or larger ones, than the provider takes in a request.
    TooManyImages,
}

impl Reason {
    /// Every reason, in declaration order: the boundary sends positions in this list.
    pub const ALL: [Self; 16] = [
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
        Self::OldImage,
        Self::TooManyImages,
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
            Self::OldImage => "old image",
            Self::TooManyImages => "more images than the provider takes",
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
    /// How many of its images, the first ones, are left out by a marker each.
    pub images_out: u32,
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
