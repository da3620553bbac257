//! The layers recomputed at each call: what is sent follows from the transcript alone.
//!
//! Going on from the last call gives the same as starting over. Only the sum of what was sent at each reported call is
//! kept of the past, for the estimate to learn from.

use std::sync::Arc;

use super::calibration::{Calibration, Known, Past, Sent};
use super::fold::Fold;
use crate::account::{Account, Form};
use crate::layers::window::Window;
use crate::layers::{Limits, Overflow, shrink, thinking, tool_results};
use crate::plan::{Layer, Plan, Reason};
use crate::tokens::estimate::{Estimate, Size};
use crate::transcript::{Message, Transcript};

/// The layers over a growing transcript.
pub struct EveryCall {
    limits: Limits,
    account: Account,
    calibration: Calibration,
    window: Window,
    /// How many of the tool results, and of the messages with thinking, are behind layers 1 and 2.
    results_done: usize,
    thinkers_done: usize,
    /// Of the last plan.
    planned: Option<f64>,
}

impl EveryCall {
    /// The layers before any message.
    #[must_use]
    pub fn new(limits: Limits, calibration: Calibration) -> Self {
        Self {
            limits,
            account: Account::default(),
            calibration,
            window: Window::default(),
            results_done: 0,
            thinkers_done: 0,
            planned: None,
        }
    }

    /// What the reports so far teach.
    pub fn calibration(&mut self) -> &mut Calibration {
        &mut self.calibration
    }

    /// What is sent at the call that would follow `transcript`, and the least that could be.
    #[must_use]
    pub fn plan(&mut self, transcript: &Transcript) -> (Plan, Size) {
        self.advance(transcript);
        self.calibration.expect_answer();
        self.settle();
        self.planned = self.calibration.planned_tokens(self.account.sent());
        let plan = self.account.plan();
        let floor = if self.limits.overflow == Overflow::Keep { self.shrunk() } else { self.account.sent() };
        self.account.end_trial();
        (plan, floor)
    }

    /// Takes in what was reported late.
    fn catch_up(&mut self, transcript: &Transcript) {
        let late = self.calibration.catch_up(transcript.messages());
        self.account.renew(transcript, &late);
    }

    /// Brings the account to what is sent now; layer 4's part of it is on trial, for it starts anew at each call.
    fn settle(&mut self) {
        let Self { limits, account, .. } = self;
        let old = tool_results::old(account, limits);
        let newly_old: Vec<usize> = old.iter().skip(self.results_done).copied().collect();
        self.results_done += newly_old.len();
        for index in newly_old {
            let result = account.message(index).and_then(|message| message.tool_result());
            if result.is_some_and(|result| result.shortened.is_some()) {
                account.set(index, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
            }
        }
        let (end, step) = (thinking::old_before(account, limits), thinking::step_under_way(account));
        while let Some(&index) = account.thinkers().get(self.thinkers_done)
            && index < end
            && Some(index) != step
        {
            if thinking::is_strippable(account, index, step) {
                account.set(index, Form::Edited, Layer::Thinking, Reason::OldThinking);
            }
            self.thinkers_done += 1;
        }
        let estimate = self.calibration.estimate();
        self.window.slide(account, limits, &estimate);
        account.begin_trial();
        if limits.overflow == Overflow::Shrink {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let estimate = self.calibration.estimate();
        if estimate.tokens(self.account.sent()) > self.limits.budget() {
            let budget = self.calibration.caution() * self.limits.budget();
            shrink::shrink(&mut self.account, &estimate, budget);
        }
    }

    /// What layer 4 would leave.
    fn shrunk(&mut self) -> Size {
        self.shrink();
        self.account.sent()
    }

    /// How prompts are estimated now.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.calibration.estimate()
    }
}

impl Fold for EveryCall {
    fn len(&self) -> usize {
        self.account.len()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn bytes(&self) -> usize {
        self.account.bytes()
    }

    fn known(&self) -> Option<Known> {
        self.calibration.known()
    }

    fn past(&self) -> &Past {
        self.calibration.past()
    }

    fn message(&self, index: usize) -> Option<&Arc<Message>> {
        self.account.row(index).map(|row| &row.message)
    }

    fn planned_tokens(&self) -> Option<f64> {
        self.planned
    }

    fn advance(&mut self, transcript: &Transcript) {
        let mut is_caught_up = false;
        for (index, message) in transcript.messages().iter().enumerate().skip(self.account.len()) {
            if let Some(assistant) = message.sent_assistant().filter(|_| self.calibration.is_on()) {
                self.settle();
                let sent = Sent { raw: self.account.raw(), edited: self.account.sent() };
                self.account.end_trial();
                // What came late was not known yet when this call was planned.
                if !std::mem::replace(&mut is_caught_up, true) {
                    self.catch_up(transcript);
                }
                self.calibration.observe(index, assistant, message.timestamp_ms, sent);
            }
            self.calibration.pass(message);
            self.account.enter(transcript, index);
        }
        if !is_caught_up {
            self.catch_up(transcript);
        }
    }
}
