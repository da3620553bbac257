//! When the messages of a list say they were put there: a call that is older than what stands before it now was made of
//! another list.

use crate::context::transcript::{Body, Message};

/// The times of the messages so far, in ms.
#[derive(Clone, Debug, Default)]
pub(super) struct Dates {
    /// Of the newest message that is neither an answer nor a tool's.
    newest_input: Option<f64>,
    has_summary: bool,
    /// Of the newest summary, and whether an older message after it bears that out.
    summary: Option<f64>,
    is_summary_dated: bool,
}

impl Dates {
    pub(super) fn pass(&mut self, message: &Message) {
        let is_input = !matches!(message.body, Body::Assistant(_) | Body::ToolResult(_));
        if is_input && message.timestamp_ms > self.newest_input {
            self.newest_input = message.timestamp_ms;
        }
        if matches!(message.body, Body::Summary) {
            (self.has_summary, self.is_summary_dated) = (true, false);
            self.summary = message.timestamp_ms;
        } else if let Some((summary, ms)) = self.summary.zip(message.timestamp_ms) {
            self.is_summary_dated |= ms < summary;
        }
    }

    /// Whether something newer than a call stands before it.
    pub(super) fn is_older_than_input(&self, time_ms: Option<f64>) -> bool {
        time_ms.zip(self.newest_input).is_some_and(|(ms, input)| ms < input)
    }

    /// Whether a call was made before the summary that stands before it.
    pub(super) fn is_older_than_summary(&self, time_ms: Option<f64>) -> bool {
        self.summary.zip(time_ms).is_some_and(|(summary, ms)| ms < summary)
    }

    /// Whether there is a summary, and nothing tells which calls were made before it.
    pub(super) fn is_undated(&self) -> bool {
        self.has_summary && !self.is_summary_dated
    }
}
