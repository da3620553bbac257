//! Calibration: what the provider's own counts teach about ours.
//!
//! A prompt has `scale × tokens counted + base` tokens and a frame around each message. Each model has its own line, fitted
//! through its newest reports of what was really sent. A request refused for its length is a report, too: it had at least
//! what it says, or more than the window.

mod fit;

use std::sync::Arc;

pub use self::fit::PRIOR_SCALE;
use self::fit::{Fit, Reading, Report, SCALE_RANGE};
use crate::context::transcript::{Assistant, Body, Message, Source, Usage};
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// Reports of one model that are looked at, the newest: a conversation's kind of text changes.
const REPORTS: usize = 16;
/// Models that are remembered, the latest.
const MODELS: usize = 8;
/// A refused request that was thought to fit is taken to have had so many times the window: as much as makes the next one fit
/// though its model counts twice what was thought, at the second refusal.
const REFUSED: f64 = 1.3;
/// Most that a provider counts beside the messages, for prompt and tools: agents send 10 000 to 50 000. In tokens.
const MOST_BESIDE: f64 = 150_000.0;
/// A scale that is a little too high can make what stands beside the messages seem this share of the report below nothing.
const NEGATIVE_SHARE: f64 = 0.1;
/// Most that a prompt has for a token of cl100k, and beside the messages, where a summary stands in front of reports that may
/// be of the longer list before it.
const MOST_OF_SUMMARY: (f64, f64) = (1.3 * PRIOR_SCALE, 80_000.0);

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Position of the answer.
    pub index: usize,
    /// The answer.
    pub assistant: &'a Assistant,
    /// When it was made, in ms.
    pub time_ms: Option<f64>,
    /// The request that was sent.
    pub sent: Sent,
    /// True if this process planned the call. Of a list that was rewritten `sent` is what the report is of then, whatever the
    /// times say.
    pub is_lived: bool,
    /// Tokens of the window it was planned for.
    pub context_window: f64,
}

/// The possible contents of a prompt, in cl100k tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// The transcript as it was: what a recording without the hook sent.
    pub raw: Size,
    /// With the edits decided then.
    pub edited: Size,
}

#[derive(Clone, Debug)]
struct Model {
    source: Source,
    reports: Vec<Report>,
    /// cl100k tokens beside the messages by the model before: the host sends the same to this one.
    beside: Option<f64>,
    fit: Option<Fit>,
}

impl Model {
    /// True if its reports are all of a recording: of a transcript that was sent as it came.
    fn is_recording(&self) -> bool {
        self.fit.is_some_and(|fit| fit.reading.raw == self.reports.len())
    }
}

/// The lessons of the reports so far.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is known by itself")]
pub struct Calibration {
    is_on: bool,
    /// Provider tokens beside the messages, as the host says; `None` where it says nothing.
    overhead_tokens: Option<f64>,
    /// The one that answered last is the last.
    models: Vec<Model>,
    /// When the newest message came that is neither an answer nor a tool's, and when the newest summary, in ms: a call that is
    /// older was made of another list.
    newest_input: Option<f64>,
    summary: Option<f64>,
    has_undated_summary: bool,
    /// The contents of the call before: providers report a call late.
    last: Option<Sent>,
    /// True if the last request was refused for its length.
    is_refused: bool,
    has_lived: bool,
    /// True if the host rewrote the list: then only what this process has planned is known for sure.
    is_rewritten: bool,
    /// The newest message with a report.
    newest_report: Option<usize>,
    /// Calls that nothing usable was reported of so far, with what they held: hosts may write it down later.
    unreported: Vec<(usize, Report)>,
}

impl Calibration {
    /// The state before any report. Switched off it learns nothing.
    #[must_use]
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Sets what the host says of its prompt and tools: that stands in for reports until there are some.
    pub fn expect(&mut self, overhead_tokens: Option<f64>) {
        self.overhead_tokens = overhead_tokens;
    }

    /// Goes on with a list that its host rewrote. What calls taught stays: each report is of what was sent then.
    pub fn rewrite(&mut self) {
        self.is_rewritten = true;
        (self.newest_input, self.summary, self.has_undated_summary) = (None, None, false);
        self.newest_report = None;
        self.unreported.clear();
    }

    /// Takes in a message that stands before the next call.
    pub fn pass(&mut self, message: &Message) {
        if !matches!(message.body, Body::Assistant(_) | Body::ToolResult(_))
            && message.timestamp_ms > self.newest_input
        {
            self.newest_input = message.timestamp_ms;
        }
        if matches!(message.body, Body::Summary) {
            self.summary = message.timestamp_ms;
            self.has_undated_summary = message.timestamp_ms.is_none();
        }
    }

    /// True if an answer of that time was to a call that did not have the summary before it: nothing was decided there.
    #[must_use]
    pub fn is_older_than_summary(&self, time_ms: Option<f64>) -> bool {
        is_older(time_ms, self.summary)
    }

    /// True if the last request was refused for its length.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// True if it took in a call that this process planned.
    #[must_use]
    pub fn has_lived(&self) -> bool {
        self.has_lived
    }

    /// Takes in what was reported of a call.
    pub fn observe(&mut self, call: Call<'_>) {
        self.has_lived |= call.is_lived;
        if !self.is_on {
            return;
        }
        let Call { index, assistant: Assistant { source, usage, .. }, time_ms, sent, .. } = call;
        let is_sure = call.is_lived && self.is_rewritten;
        let before = self.last.replace(sent);
        self.is_refused = usage.refused.is_some();
        let mut report = Report { sent, before, usage: *usage, refused: None };
        if let Some(told) = usage.refused {
            let (estimate, window) = (self.estimate().tokens(sent.edited), call.context_window);
            report.refused = Some(if told > window {
                told
            } else if estimate > window {
                // As was foreseen: it is no news, and what cannot be made smaller would be thought ever larger.
                estimate
            } else {
                REFUSED * window
            });
        } else if usage.prompt_tokens().is_none() {
            self.unreported.push((index, report));
            let surplus = self.unreported.len().saturating_sub(REPORTS);
            self.unreported.drain(..surplus);
            return;
        } else {
            self.newest_report = Some(index);
            if !is_sure && is_older(time_ms, self.newest_input) {
                return;
            }
        }
        self.take(source, &report);
    }

    /// Learns from reports that came in after their messages were taken in; gives back which those are. A report is of no
    /// use once a later one was seen.
    pub fn catch_up(&mut self, messages: &[Arc<Message>]) -> Vec<usize> {
        let has_come = |(index, _): &(usize, Report)| {
            messages.get(*index).is_some_and(|of| of.reported_tokens().is_some())
        };
        if !self.unreported.iter().any(has_come) {
            return Vec::new();
        }
        let (late, unreported) = std::mem::take(&mut self.unreported).into_iter().partition(has_come);
        self.unreported = unreported;
        let late: Vec<(usize, Report)> = late;
        for (index, report) in &late {
            let Some(assistant) = messages.get(*index).and_then(|of| of.assistant()) else { continue };
            if self.newest_report.is_none_or(|newest| newest < *index) {
                self.newest_report = Some(*index);
                self.take(&assistant.source, &Report { usage: assistant.usage, ..*report });
            }
        }
        late.into_iter().map(|(index, _)| index).collect()
    }

    fn take(&mut self, source: &Source, report: &Report) {
        let is_doubted = self.has_undated_summary && self.fit().is_none();
        let most = if is_doubted { MOST_OF_SUMMARY } else { (SCALE_RANGE.1, MOST_BESIDE) };
        let told = self.overhead_tokens.map(|overhead| overhead / PRIOR_SCALE);
        let beside = self.fit().map(|fit| fit.beside()).or(told);
        let is_recording = self.models.last().is_some_and(Model::is_recording);
        let found = self.models.iter().position(|model| model.source == *source);
        let mut model = found.map_or_else(
            || Model { source: source.clone(), reports: Vec::new(), beside, fit: None },
            |at| self.models.remove(at),
        );
        let surplus = (model.reports.len() + 1).saturating_sub(REPORTS);
        model.reports.drain(..surplus);
        model.reports.push(*report);
        let mut usual = model.fit.map_or(Reading::default(), |fit| fit.reading);
        usual.raw = if is_recording { model.reports.len() } else { usual.raw.saturating_sub(surplus) };
        model.fit = Fit::of(&model.reports, usual, most, model.beside);
        self.models.push(model);
        let surplus = self.models.len().saturating_sub(MODELS);
        self.models.drain(..surplus);
    }

    /// Of the model that answered last, unless none of its reports can be believed.
    fn fit(&self) -> Option<Fit> {
        self.models.iter().rev().find_map(|model| model.fit)
    }

    /// Tokens of the prompt a usage reports, read as the last reports are.
    #[must_use]
    pub fn prompt_of(&self, usage: &Usage) -> Option<f64> {
        let total = usage.prompt_tokens()?;
        Some(self.fit().and_then(|fit| fit.reading.prompt_tokens(usage)).unwrap_or(total))
    }

    /// The estimate of the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let Some(Fit { scale, anchor, .. }) = self.fit() else {
            return Estimate { base: self.overhead_tokens.unwrap_or(0.0), ..Estimate::PLAIN };
        };
        let beside = anchor.reported - scale * anchor.counted;
        let base = beside.max(-NEGATIVE_SHARE * anchor.reported);
        Estimate { base, scale, frame: MESSAGE_FRAME_TOKENS }
    }

    /// The share of the budget to shrink to. Before any report the count is plain, and where even that is over the budget
    /// the provider's own is likely to be far over it.
    #[must_use]
    pub fn caution(&self) -> f64 {
        if self.is_on && self.fit().is_none() { 1.0 / PRIOR_SCALE } else { 1.0 }
    }
}

fn is_older(time_ms: Option<f64>, than: Option<f64>) -> bool {
    time_ms.zip(than).is_some_and(|(time, than)| time < than)
}

#[cfg(test)]
mod tests;
