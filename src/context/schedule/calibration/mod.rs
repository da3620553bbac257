//! Calibration: what the provider's own counts teach about ours.
//!
//! A prompt has `scale × tokens counted + base` tokens and a frame around each message. Each model has its own line, fitted
//! through its newest reports of what was really sent. A request refused for its length is a report, too: it had at least
//! what it says, or more than the window.

mod fit;

use std::sync::Arc;

pub use self::fit::PRIOR_SCALE;
use self::fit::{Fit, Reading, Report};
use crate::context::transcript::{Assistant, Message, Source, Usage};
use crate::tokens::estimate::{Estimate, Size};

/// Reports of one model that are looked at, the newest: a conversation's kind of text changes.
const REPORTS: usize = 16;
/// Models that are remembered, the latest.
const MODELS: usize = 8;
/// A refused request that was thought to fit is taken to have had so many times the window: as much as makes the next one fit
/// though its model counts twice what was thought, at the second refusal.
const REFUSED: f64 = 1.4;

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
    fit: Option<Fit>,
}

/// The lessons of the reports so far.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    is_on: bool,
    /// Provider tokens beside the messages, as the host says; `None` where it says nothing.
    overhead_tokens: Option<f64>,
    /// The one that answered last is the last.
    models: Vec<Model>,
    /// The contents of the call before: providers report a call late.
    last: Option<Sent>,
    /// True if the last request was refused for its length.
    is_refused: bool,
    calls: usize,
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
    pub fn set_overhead(&mut self, overhead_tokens: Option<f64>) {
        self.overhead_tokens = overhead_tokens;
    }

    /// Goes on with a list that its host rewrote. What calls taught stays: each report is of what was sent then.
    pub fn rewrite(&mut self) {
        self.unreported.clear();
    }

    /// True if the last request was refused for its length.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Takes in what was reported of the call answered at `index`, planned for this window. A report of another list than stands
    /// before it now teaches nothing.
    pub fn observe(
        &mut self,
        index: usize,
        Assistant { source, usage, .. }: &Assistant,
        sent: Sent,
        is_stale: bool,
        context_window: f64,
    ) {
        if !self.is_on {
            return;
        }
        let before = self.last.replace(sent);
        // A request foreseen to be over the window is no news: one that cannot be made smaller would be thought ever larger.
        let refused = usage.refused.map(|told| {
            let known = [told, self.estimate().tokens(sent.edited)];
            known.into_iter().find(|&tokens| tokens > context_window).unwrap_or(REFUSED * context_window)
        });
        self.is_refused = refused.is_some();
        let report = Report { nth: self.calls, sent, before, usage: *usage, refused };
        self.calls += 1;
        if refused.is_none() && usage.prompt_tokens().is_none() {
            self.unreported.push((index, report));
            forget_all_but(REPORTS, &mut self.unreported);
        } else if refused.is_some() || !is_stale {
            self.take(source, &report);
        }
    }

    /// Learns from reports that came in after their messages were taken in; gives back which those are.
    pub fn catch_up(&mut self, messages: &[Arc<Message>]) -> Vec<usize> {
        let mut late = Vec::new();
        for (index, report) in std::mem::take(&mut self.unreported) {
            let assistant = messages.get(index).and_then(|message| message.assistant());
            match assistant.filter(|assistant| assistant.usage.prompt_tokens().is_some()) {
                Some(Assistant { source, usage, .. }) => {
                    self.take(source, &Report { usage: *usage, ..report });
                    late.push(index);
                }
                None => self.unreported.push((index, report)),
            }
        }
        late
    }

    fn take(&mut self, source: &Source, report: &Report) {
        let found = self.models.iter().position(|model| model.source == *source);
        let mut model = found.map_or_else(
            || Model { source: source.clone(), reports: Vec::new(), fit: None },
            |at| self.models.remove(at),
        );
        model.reports.push(*report);
        forget_all_but(REPORTS, &mut model.reports);
        let other = self.fit();
        let usual = model.fit.or(other).map_or(Reading::default(), |fit| fit.reading);
        // Beside the messages the host sends the same to every model.
        let told = self.overhead_tokens.map(|overhead| overhead / PRIOR_SCALE);
        let beside = other.map(|Fit { estimate, .. }| estimate.base / estimate.scale).or(told);
        model.fit = Fit::of(&model.reports, usual, beside);
        self.models.push(model);
        forget_all_but(MODELS, &mut self.models);
    }

    /// Of the model that answered last, unless none of its reports can be believed.
    fn fit(&self) -> Option<Fit> {
        self.models.iter().rev().find_map(|model| model.fit)
    }

    /// Tokens of the prompt a usage reports, read as the last reports are.
    #[must_use]
    pub fn prompt_of(&self, usage: &Usage) -> Option<f64> {
        let read = self.fit().and_then(|fit| fit.reading.prompt_tokens(usage));
        read.or_else(|| usage.prompt_tokens())
    }

    /// The estimate of the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let told = Estimate { base: self.overhead_tokens.unwrap_or(0.0), ..Estimate::PLAIN };
        self.fit().map_or(told, |fit| fit.estimate)
    }

    /// The share of the budget to shrink to. Before any report the count is plain, and where even that is over the budget
    /// the provider's own is likely to be far over it.
    #[must_use]
    pub fn caution(&self) -> f64 {
        if self.is_on && self.fit().is_none() { 1.0 / PRIOR_SCALE } else { 1.0 }
    }
}

fn forget_all_but<T>(newest: usize, list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(newest));
}

#[cfg(test)]
mod tests;
