//! The layers recomputed at each call: what is sent follows from the transcript alone.
//!
//! Going on from the last call gives the same as starting over. Only the sum of what was sent at each reported call is
//! kept of the past, for the estimate to learn from.

use super::conversation::Rewrite;
use super::economy::Policy;
use super::play::Schedule;
use super::reports::{Reports, Request};
use super::verdict::Arithmetic;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::{Account, Form};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::Goals;
use crate::context::request::layers::window::Window;
use crate::context::request::layers::{Limits, Overflow, images, shrink, thinking, tool_results};
use crate::context::request::plan::{Layer, Plan, Reason};
use crate::context::request::validity::strip_unbound;
use crate::tokens::estimate::Size;

/// The layers over a growing transcript.
#[derive(Clone, Debug, Default)]
pub struct EveryCall {
    /// The limits as the host set them.
    set: Limits,
    /// The limits that hold: narrowed by what refusals taught.
    limits: Limits,
    pub(super) account: Account,
    reports: Reports,
    window: Window,
    /// Numbers of the tool results and of the messages with thinking that layers 1 and 2 have passed.
    results_done: usize,
    thinkers_done: usize,
    /// The call that was planned last, and the position of its answer: that tells that it was made.
    next: Option<(usize, Request)>,
    /// Old results that layer 1 has still to shorten: those that were read back stay whole for the open turn.
    waiting: Vec<usize>,
}

impl Schedule for EveryCall {
    fn parts(&mut self) -> (&mut Account, &mut Reports) {
        (&mut self.account, &mut self.reports)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn request(&mut self, index: usize, _message: &Message, _is_elsewhere: bool) -> Request {
        let lived = self.next.take().filter(|(at, _)| *at == index);
        lived.map_or_else(
            || {
                let request = self.settled();
                self.account.end_trial();
                request
            },
            |(_, request)| Request { is_lived: true, ..request },
        )
    }

    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript) {
        self.reports.pass(message);
        self.account.enter(transcript, index);
        if message.assistant().is_some() {
            self.limits = self.reports.calibration.narrow(&self.set);
        }
    }

    fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>) {
        self.next = Some((self.account.len(), self.settled()));
        let plan = self.account.plan();
        if self.limits.overflow == Overflow::Keep {
            self.shrink();
        }
        let floor = self.account.sent();
        self.account.end_trial();
        (plan, floor, None)
    }

    /// All that follows from new limits is worked out anew.
    fn set_terms(&mut self, transcript: &Transcript, _policy: Policy, limits: &Limits) {
        if limits.context_window.total_cmp(&self.set.context_window).is_ne() {
            self.reports.calibration.forget_windows();
        }
        self.set = limits.clone();
        let limits = self.reports.calibration.narrow(limits);
        if self.limits == limits {
            return;
        }
        self.limits = limits;
        let reports = std::mem::take(&mut self.reports);
        let anew = self.over(transcript, self.account.len(), reports);
        let before = std::mem::replace(self, anew);
        self.next = before.next;
        self.settle();
        self.account.end_trial();
        self.account.touch_changed(&before.account);
    }

    fn withdraw(&mut self) {
        self.next = None;
    }
}

impl EveryCall {
    /// The layers before any message.
    #[must_use]
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let set = limits.clone();
        Self { set, limits, reports: Reports::new(policy.calibrate), ..Self::default() }
    }

    /// The call that would be made now; layer 4's part of it is on trial.
    fn settled(&mut self) -> Request {
        let estimate = self.reports.calibration.estimate();
        self.settle();
        Request {
            touched: self.account.take_oldest_touched(),
            sent: self.account.sent(),
            estimate,
            verdict: None,
            is_lived: false,
            elsewhere: None,
        }
    }

    /// The layers over a list that its host rewrote.
    pub(super) fn continued(&self, transcript: &Transcript, rewrite: &Rewrite) -> Self {
        let mut reports = self.reports.clone();
        reports.goes_on(rewrite);
        let lived = self.next.filter(|(at, _)| *at == self.account.len()).zip(rewrite.answer);
        let next = lived.map(|((_, of), at)| (at, Request { touched: None, ..of }));
        Self { next, ..self.over(transcript, rewrite.known, reports) }
    }

    /// The layers over the first `count` messages, under the same limits.
    fn over(&self, transcript: &Transcript, count: usize, reports: Reports) -> Self {
        let (set, limits) = (self.set.clone(), self.limits.clone());
        let mut anew = Self { set, limits, reports, ..Self::default() };
        for (index, message) in transcript.messages().iter().enumerate().take(count) {
            anew.enter(index, message, transcript);
        }
        anew
    }

    /// Brings the account to what is sent now; layer 4's part of it is on trial, for it starts anew at each call.
    fn settle(&mut self) {
        let Self { limits, account, .. } = self;
        let old = tool_results::old(account, limits);
        self.waiting.extend(old.iter().skip(self.results_done));
        self.results_done = old.len();
        let states = States::asked_for(account, limits, self.reports.calibration.estimate().scale);
        let (waiting, due): (Vec<usize>, Vec<usize>) =
            self.waiting.iter().partition(|&&index| account.is_recalled_now(index) || states.keeps(index));
        self.waiting = waiting;
        for index in due {
            if tool_results::is_shortenable(account, index) {
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
        let budget = self.reports.calibration.room().unwrap_or_else(|| self.limits.budget());
        if estimate.tokens(self.account.sent()) > budget {
            let most = self.reports.calibration.room().unwrap_or_else(|| self.limits.most_words());
            shrink::shrink(&mut self.account, &estimate, Goals { most, ..Goals::least(budget) });
        }
    }
}
