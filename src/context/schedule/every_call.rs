//! The layers recomputed at each call: what is sent follows from the transcript alone.
//!
//! Going on from the last call gives the same as starting over. Only the sum of what was sent at each reported call is
//! kept of the past, for the estimate to learn from.

use super::economy::Policy;
use super::reports::{Played, Reports, Request, answer_to_last, take_touched};
use crate::context::account::{Account, Form};
use crate::context::layers::window::Window;
use crate::context::layers::{Limits, Overflow, images, shrink, thinking, tool_results};
use crate::context::plan::{Layer, Plan, Reason};
use crate::context::transcript::Transcript;
use crate::context::validity::unbound;
use crate::tokens::estimate::{Estimate, Size};

/// The plan of a call, under the limits of then.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Number of messages before its answer.
    at: usize,
    sent: Size,
    estimate: Estimate,
    /// The oldest message that was sent otherwise than before, with the tokens before it.
    touched: Option<(usize, f64)>,
}

/// The layers over a growing transcript.
#[derive(Clone, Debug)]
pub struct EveryCall {
    limits: Limits,
    account: Account,
    reports: Reports,
    /// Seconds a cache entry lives, where the host sets them.
    fixed_ttl: Option<f64>,
    window: Window,
    /// Numbers of the tool results and of the messages with thinking that layers 1 and 2 have passed.
    results_done: usize,
    thinkers_done: usize,
    /// The call that was planned last: its answer tells that it was made.
    next: Option<Next>,
    /// Results behind layer 1 that stay whole for the open turn.
    recalled: Vec<usize>,
}

impl EveryCall {
    /// The layers before any message.
    pub fn new(limits: Limits, reports: Reports, fixed_ttl: Option<f64>) -> Self {
        Self {
            limits,
            account: Account::default(),
            reports,
            fixed_ttl,
            window: Window::default(),
            results_done: 0,
            thinkers_done: 0,
            next: None,
            recalled: Vec::new(),
        }
    }

    /// Number of messages it took in.
    pub fn len(&self) -> usize {
        self.account.len()
    }

    /// True before any message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lessons of the reports so far.
    pub fn reports(&mut self) -> &mut Reports {
        &mut self.reports
    }

    /// The account of the call that would follow `transcript`, and the least that could be; with the last of the calls
    /// that were taken in.
    pub fn plan(&mut self, transcript: &Transcript) -> (Plan, Size, Option<Played>) {
        let mut last = None;
        self.play(transcript, transcript.len(), |played| last = Some(played));
        self.next = Some(self.settled());
        let plan = self.account.plan();
        if self.limits.overflow == Overflow::Keep {
            self.shrink();
        }
        let floor = self.account.sent();
        self.account.end_trial();
        (plan, floor, last)
    }

    /// Takes in what is new in `transcript` before `end`, and tells of each call.
    pub fn play(&mut self, transcript: &Transcript, end: usize, mut observe: impl FnMut(Played)) {
        let mut is_caught_up = false;
        self.reports.watch.set_times(transcript.cache_times());
        let messages = transcript.messages().iter().enumerate().take(end);
        for (index, message) in messages.skip(self.account.len()) {
            if let Some(assistant) = message.assistant() {
                let lived = self.next.take().filter(|next| next.at == index);
                let planned = lived.unwrap_or_else(|| {
                    let planned = self.settled();
                    self.account.end_trial();
                    planned
                });
                // A late report was not known yet when this call was planned.
                if !std::mem::replace(&mut is_caught_up, true) {
                    self.reports.catch_up(&mut self.account, transcript);
                }
                let Next { sent, estimate, touched, .. } = planned;
                let request = Request {
                    sent,
                    estimate,
                    verdict: None,
                    touched,
                    is_lived: lived.is_some(),
                    context_window: self.limits.context_window,
                    fixed_ttl: self.fixed_ttl,
                };
                observe(self.reports.enter(&self.account, index, (message, assistant), request));
            }
            self.reports.pass(message);
            self.account.enter(transcript, index);
        }
        if !is_caught_up {
            self.reports.catch_up(&mut self.account, transcript);
        }
    }

    /// The call that would be made now; layer 4's part of it is on trial.
    fn settled(&mut self) -> Next {
        let estimate = self.estimate();
        self.settle();
        let touched = take_touched(&mut self.account, estimate);
        let sent = self.account.sent();
        Next { at: self.account.len(), sent, estimate, touched }
    }

    /// Sets what the host says of its model now. All that follows from it is worked out anew.
    pub fn set_terms(&mut self, transcript: &Transcript, policy: &Policy, limits: &Limits) {
        self.fixed_ttl = policy.fixed_ttl();
        if self.limits == *limits {
            return;
        }
        let before = self.account.clone();
        self.limits = limits.clone();
        self.start_over(transcript, before.len());
        self.settle();
        self.account.end_trial();
        self.account.touch_changed(&before);
    }

    /// Goes on with a list that its host rewrote. The calls answered before `known` were taken in already.
    pub fn rewrite(&mut self, transcript: &Transcript, known: usize) {
        let answer = answer_to_last(&self.account, transcript, known);
        let lived = self.next.take().filter(|next| next.at == self.account.len());
        self.reports.goes_on(known);
        self.start_over(transcript, known);
        self.next = lived.zip(answer).map(|(next, at)| Next { at, touched: None, ..next });
    }

    /// Takes in the first messages anew.
    fn start_over(&mut self, transcript: &Transcript, count: usize) {
        let (limits, reports) = (self.limits.clone(), std::mem::take(&mut self.reports));
        *self = Self { next: self.next, ..Self::new(limits, reports, self.fixed_ttl) };
        for (index, message) in transcript.messages().iter().enumerate().take(count) {
            self.reports.pass(message);
            self.account.enter(transcript, index);
        }
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
        let estimate = self.reports.calibration.estimate();
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
        let estimate = self.reports.calibration.estimate();
        if estimate.tokens(self.account.sent()) > self.limits.budget() {
            let budget = self.reports.calibration.caution() * self.limits.budget();
            shrink::shrink(&mut self.account, &estimate, budget);
        }
    }

    /// The estimate of prompts now.
    pub fn estimate(&self) -> Estimate {
        self.reports.calibration.estimate()
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
