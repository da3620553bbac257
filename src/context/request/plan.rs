//! The edit plan: at most one edit per message, and the tokens it saves.
//!
//! The boundary applies it to the host's own objects. An edit can shorten tool-result text, remove thinking, drop a
//! message or, when nothing else fits, cut a text. A move puts a message from between a call and its results behind them.
//! Nothing else is added, moved or rewritten.

use std::ops::Range;
use std::sync::Arc;

use crate::context::facts::cuts::Cut;
use crate::context::facts::transcript::{Move, Transcript};
pub use crate::contract::{Keep, Layer, Reason};
use crate::tokens::estimate::Size;

/// The change to one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its tool-result text is replaced by the shortened one.
    Summarize,
    /// Its tool-result text is cut to some lines.
    KeepLines(Arc<KeptLines>),
    /// Its thinking blocks are removed whole.
    StripThinking,
    /// Only the images that [`Edit::images_out`] counts are left out.
    OmitImages,
    /// Tool calls that repeat the id of an earlier one in it are left out. Every other edit of such a message does that, too.
    DropCalls,
    /// It is left out of the request.
    Drop,
    /// These text blocks are cut; the others stay whole.
    Truncate(Vec<Cut>),
    /// It is sent behind the message at this index.
    MoveAfter(usize),
}

/// The lines of a tool result that stay, word for word and in order, a marker line for each gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLines {
    /// Ranges of lines, in order, none touching the next, each with the reason to keep it.
    pub runs: Box<[(Range<u32>, Keep)]>,
    /// cl100k tokens of the message with only these lines.
    pub tokens: u32,
}

/// The edit of one message, or the drop of a run of messages by one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Position of the message in the transcript.
    pub index: usize,
    /// Number of messages that it drops; 1 for every other change.
    pub count: usize,
    /// The layer that asked for it.
    pub layer: Layer,
    /// The change.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Tokens it saves against the unedited message.
    pub tokens_saved: usize,
    /// Number of its images, from the first, that a marker each replaces.
    pub images_out: u32,
}

impl Edit {
    /// The edit that moves a message behind the results of a call.
    pub fn of_move(step: Move) -> Self {
        Self {
            index: step.index,
            count: 1,
            layer: Layer::Repair,
            action: Action::MoveAfter(step.after),
            reason: Reason::Parted,
            tokens_saved: 0,
            images_out: 0,
        }
    }

    /// The index after it.
    pub fn end(&self) -> usize {
        self.index + self.count
    }

    /// Merges `next`, if both drop adjacent messages by one rule. Returns `true` if it did.
    pub(super) fn merges(&mut self, next: &Self) -> bool {
        let is_drop = self.action == Action::Drop && next.action == Action::Drop;
        let is_one =
            is_drop && next.index == self.end() && (next.layer, next.reason) == (self.layer, self.reason);
        if is_one {
            self.count += next.count;
            self.tokens_saved += next.tokens_saved;
        }
        is_one
    }
}

/// All edits of one call, oldest message first.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Messages that are sent behind the results of a call, by index.
    pub moves: Vec<Move>,
    /// The edits, by index; at most one per message. A long conversation drops most messages, so a run dropped by one rule
    /// is one edit.
    pub edits: Vec<Edit>,
    /// The size of the unedited transcript.
    pub before: Size,
    /// The size of what will be sent.
    pub after: Size,
}

impl Plan {
    /// The moves of messages that this plan sends, past calls that it sends.
    pub fn moves_in(&self, transcript: &Transcript) -> Vec<Move> {
        transcript.moves().filter(|step| !self.drops(step.index) && !self.drops(step.opener)).collect()
    }

    /// Returns `true` if the message at `index` is left out of the request.
    pub fn drops(&self, index: usize) -> bool {
        let before = self.edits.partition_point(|edit| edit.index <= index).checked_sub(1);
        let edit = before.and_then(|at| self.edits.get(at));
        edit.is_some_and(|edit| edit.action == Action::Drop && index < edit.end())
    }
}
