//! The layers recomputed at each call: what is sent follows from the transcript alone.
//!
//! Going on from the last call gives the same as starting over. Only the sum of what was sent at each reported call is
//! kept of the past, for the estimate to learn from.

use super::cache_watch::{Answered, CacheWatch};
use super::calibration::{Calibration, Sent};
use super::economy::Policy;
use super::fold::Fold;
use super::played::Played;
use crate::context::account::{Account, Form};
use crate::context::layers::window::Window;
use crate::context::layers::{Limits, Overflow, images, shrink, thinking, tool_results};
use crate::context::plan::{Layer, Plan, Reason};
use crate::context::transcript::{Assistant, Message, Transcript};
use crate::context::validity::unbound;
use crate::tokens::estimate::{Estimate, Size};

/// The layers over a growing transcript.
pub struct EveryCall {
    limits: Limits,
    account: Account,
    calibration: Calibration,
    watch: CacheWatch,
    /// Seconds a cache entry lives, where the host sets them.
    fixed_ttl: Option<f64>,
    window: Window,
    /// How many of the tool results, and of the messages with thinking, are behind layers 1 and 2.
    results_done: usize,
    thinkers_done: usize,
    /// Of the last plan.
    planned: Option<f64>,
    /// Results behind layer 1 that stay whole for the open turn.
    recalled: Vec<usize>,
}

impl EveryCall {
    /// The layers before any message.
    #[must_use]
    pub fn new(limits: Limits, calibration: Calibration, fixed_ttl: Option<f64>) -> Self {
        Self {
            limits,
            account: Account::default(),
            calibration,
            watch: CacheWatch::default(),
            fixed_ttl,
            window: Window::default(),
            results_done: 0,
            thinkers_done: 0,
            planned: None,
            recalled: Vec::new(),
        }
    }

    /// What the reports so far teach.
    pub fn calibration(&mut self) -> &mut Calibration {
        &mut self.calibration
    }

    /// What is known of the provider's cache.
    pub fn watch(&mut self) -> &mut CacheWatch {
        &mut self.watch
    }

    /// What is sent at the call that would follow `transcript`, and the least that could be; with the last of the calls
    /// that were taken in.
    #[must_use]
    pub fn plan(&mut self, transcript: &Transcript) -> (Plan, Size, Option<Played>) {
        let mut last = None;
        self.play(transcript, transcript.len(), |played| last = Some(played));
        self.settle();
        self.planned = self.calibration.planned_tokens(self.account.sent());
        self.calibration.expect_answer();
        let plan = self.account.plan();
        let floor = if self.limits.overflow == Overflow::Keep { self.shrunk() } else { self.account.sent() };
        self.account.end_trial();
        (plan, floor, last)
    }

    /// Takes in what is new in `transcript` before `end`, and tells of each call.
    pub fn play(&mut self, transcript: &Transcript, end: usize, mut observe: impl FnMut(Played)) {
        let mut is_caught_up = false;
        self.watch.set_times(transcript.cache_times());
        let messages = transcript.messages().iter().enumerate().take(end);
        for (index, message) in messages.skip(self.account.len()) {
            if let Some(assistant) = message.assistant() {
                let estimate = self.estimate();
                self.settle();
                let sent = Sent { raw: self.account.raw(), edited: self.account.sent() };
                let touched = self.account.take_oldest_touched();
                let touched =
                    touched.map(|oldest| (oldest, estimate.tokens(self.account.sent_before(oldest))));
                self.account.end_trial();
                // What came late was not known yet when this call was planned.
                if !std::mem::replace(&mut is_caught_up, true) {
                    self.catch_up(transcript);
                }
                observe(self.call((index, assistant, message), sent, estimate, touched));
            }
            self.calibration.pass(message);
            self.watch.pass(message);
            self.account.enter(transcript, index);
        }
        if !is_caught_up {
            self.catch_up(transcript);
        }
    }

    /// The call that this assistant message answered: learns what it reports.
    fn call(
        &mut self,
        (index, assistant, message): (usize, &Assistant, &Message),
        sent: Sent,
        estimate: Estimate,
        touched: Option<(usize, f64)>,
    ) -> Played {
        let sight = self.watch.enter(Answered {
            index,
            source: &assistant.source,
            usage: &assistant.usage,
            prompt: self.calibration.prompt_of(&assistant.usage),
            time_ms: self.account.rows().last().and_then(|row| row.message.timestamp_ms),
            answered_ms: message.timestamp_ms,
            reached: message.is_sent || assistant.usage.prompt_tokens().is_some(),
            touched,
            estimated: (estimate.tokens(sent.edited), estimate.tokens(sent.raw)),
            base: estimate.base,
            fixed_ttl: self.fixed_ttl,
        });
        if message.is_sent && self.calibration.is_on() {
            self.calibration.observe(index, assistant, message.timestamp_ms, sent);
        }
        Played { index, raw: sent.raw, sent: sent.edited, estimate, verdict: None, sight }
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
        self.recalled.extend(newly_old.iter().filter(|&&index| account.is_recalled_now(index)));
        let (still, closed) = self.recalled.iter().partition(|&&index| account.is_recalled_now(index));
        let closed: Vec<usize> = closed;
        self.recalled = still;
        let is_over = |&index: &usize| !account.is_recalled_now(index);
        for index in newly_old.into_iter().filter(is_over).chain(closed).collect::<Vec<_>>() {
            let result = account.message(index).and_then(|message| message.tool_result());
            if result.is_some_and(|result| result.shortened.is_some()) {
                account.set(index, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
            }
        }
        images::omit_old(account, limits);
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
        strip_unbound(account);
        account.begin_trial();
        images::fit(account, limits);
        if limits.overflow == Overflow::Shrink {
            self.shrink();
            // The end of the trial counts as a change, so at the next call this is for good.
            strip_unbound(&mut self.account);
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

/// Takes out the thinking that is bound to what is sent otherwise now.
fn strip_unbound(account: &mut Account) {
    let Some(changed) = account.take_changed() else { return };
    for index in unbound(account, changed) {
        account.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
    }
    account.take_changed();
}

impl Fold for EveryCall {
    fn len(&self) -> usize {
        self.account.len()
    }

    fn decides_by(&self, limits: &Limits, _policy: &Policy) -> bool {
        self.limits == *limits
    }

    fn bytes(&self) -> usize {
        self.account.bytes()
    }

    fn account(&self) -> &Account {
        &self.account
    }

    fn taught(&self) -> &Calibration {
        &self.calibration
    }

    fn planned_tokens(&self) -> Option<f64> {
        self.planned
    }

    fn advance(&mut self, transcript: &Transcript) {
        self.play(transcript, transcript.len(), |_| {});
    }
}
