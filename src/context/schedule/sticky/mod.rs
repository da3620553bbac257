//! The sticky schedule: a fold over the transcript that edits old messages in batches, when that pays.
//!
//! A decision depends on the messages before it alone, so the same transcript gives the same bytes after a
//! restart, and an edited message keeps its bytes. Every assistant message marks a call: even a failed request was sent
//! with what was decided for it. The fold holds no clock and no text.

mod act;
mod goes_on;
mod weigh;

use std::sync::Arc;

use super::economy::{Policy, scale_of};
use super::held::Held;
use super::prices::listed;
use super::reports::{Played, Reports, Request, newest_ms, take_touched};
use super::rhythm::Rhythm;
use super::shown::{Shown, Speaker};
use super::verdict::{Arithmetic, Verdict};
use super::weights::REFUSED_GROWTH;
use crate::context::account::Account;
use crate::context::layers::{Limits, Overflow, shrink};
use crate::context::plan::Plan;
use crate::context::traits::identifiers::Identifier;
use crate::context::traits::lines::Line;
use crate::context::transcript::{Assistant, Body, Link, Message, Transcript};
use crate::fault;
use crate::tokens::estimate::{Estimate, Size};

/// The decision for a call. The limits of then hold until its answer is taken in.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Number of messages before its answer.
    at: usize,
    arithmetic: Arithmetic,
    sent: Size,
    estimate: Estimate,
}

/// The fold after some messages.
#[derive(Clone, Debug)]
pub struct Sticky {
    /// As the host set it.
    asked: Policy,
    /// With what was learned of prices.
    policy: Policy,
    limits: Limits,
    account: Account,
    /// The parts that no batch changes stand in an [`Arc`]: a batch is tried out on a copy of the fold.
    held: Arc<Vec<Held>>,
    shown: Shown,
    rhythm: Rhythm,
    reports: Reports,
    /// Paid since the last batch for carrying what a new one could remove, in input tokens.
    carried: f64,
    /// Provider tokens the last batch left, or the low water if that is more.
    settled: f64,
    /// Provider tokens at which the last batch or layer 4 found no more to take.
    spent: f64,
    /// The call that was planned last: its answer tells that it was made.
    next: Option<Next>,
    /// The cost of carrying before a batch is worked out again that could not pay for itself.
    refused: f64,
}

impl Sticky {
    /// The fold before any message.
    #[must_use]
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let settled = policy.low_water(scale_of(limits.context_window));
        let reports = Reports::new(policy.calibrate);
        Self {
            asked: policy,
            policy,
            limits,
            account: Account::default(),
            held: Arc::default(),
            shown: Shown::default(),
            rhythm: Rhythm::default(),
            reports,
            carried: 0.0,
            settled,
            spent: 0.0,
            next: None,
            refused: 0.0,
        }
    }

    /// Number of messages it took in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True before any message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lessons of the reports so far.
    pub fn reports(&mut self) -> &mut Reports {
        &mut self.reports
    }

    /// The account of the call that would follow `transcript`, the least that could be, and why; with the last of the
    /// calls that were taken in.
    pub fn plan(&mut self, transcript: &Transcript) -> (Plan, Size, Arithmetic, Option<Played>) {
        let mut last = None;
        self.play(transcript, transcript.len(), |played| last = Some(played));
        fault::step();
        self.next = None;
        let (arithmetic, mut moved) = self.next_step();
        let (at, estimate) = (self.held.len(), self.estimate());
        let fold = moved.as_deref_mut().unwrap_or(self);
        let plan = fold.account.plan();
        let frontier = fold.account.frontier();
        let floor = fold.floor();
        self.next = Some(Next { at, arithmetic, sent: plan.after, estimate });
        (plan, floor, Arithmetic { frontier, ..arithmetic }, last)
    }

    /// The tokens that layer 4 leaves, or would leave.
    fn floor(&mut self) -> Size {
        if self.limits.overflow == Overflow::Shrink {
            return self.account.sent();
        }
        self.account.begin_trial();
        if self.context() > self.limits.budget() {
            let budget = self.shrunk_budget();
            shrink::shrink(&mut self.account, &self.reports.calibration.estimate(), budget);
        }
        let floor = self.account.sent();
        self.account.end_trial();
        floor
    }

    /// The estimate of prompts now.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.reports.calibration.estimate()
    }

    /// Takes in what is new in `transcript` before `end`, and tells of each call.
    pub fn play(&mut self, transcript: &Transcript, end: usize, mut observe: impl FnMut(Played)) {
        let mut is_caught_up = false;
        self.reports.watch.set_times(transcript.cache_times());
        let messages = transcript.messages().iter().enumerate().take(end);
        for (index, message) in messages.skip(self.held.len()) {
            if let Some(assistant) = message.assistant() {
                let lived = self.next.take().filter(|next| next.at == index);
                let estimate = lived.map_or_else(|| self.estimate(), |next| next.estimate);
                let verdict = match lived {
                    Some(next) => self.take_decided(next.arithmetic),
                    None => self.decide(message),
                };
                // A late report was not known yet when this call was planned.
                if !std::mem::replace(&mut is_caught_up, true) {
                    self.reports.catch_up(&mut self.account, transcript);
                }
                let request = Request {
                    sent: lived.map_or_else(|| self.account.sent(), |next| next.sent),
                    estimate,
                    verdict: Some(verdict),
                    touched: take_touched(&mut self.account, estimate),
                    is_lived: lived.is_some(),
                    context_window: self.limits.context_window,
                    fixed_ttl: self.policy.fixed_ttl(),
                };
                observe(self.reports.enter(&self.account, index, (message, assistant), request));
                self.learn_prices(assistant);
                self.shown.tick();
            }
            self.enter(index, message, transcript);
        }
        if !is_caught_up {
            self.reports.catch_up(&mut self.account, transcript);
        }
    }

    /// Decides about a call as was decided when it was made.
    fn decide(&mut self, message: &Message) -> Verdict {
        // A call from before a compaction had another list: nothing was decided about this one.
        if self.reports.is_older_than_summary(message.timestamp_ms) {
            return Verdict::Wait;
        }
        let arithmetic = self.weigh();
        if arithmetic.verdict != Verdict::Carried {
            return self.take_decided(arithmetic);
        }
        let (arithmetic, moved) = self.worked_out(arithmetic);
        let Some(moved) = moved else { return self.take_decided(arithmetic) };
        *self = *moved;
        self.rhythm.tick(arithmetic.is_cold);
        arithmetic.verdict
    }

    /// Does what was decided for the call that is answered now.
    fn take_decided(&mut self, arithmetic: Arithmetic) -> Verdict {
        if arithmetic.verdict.moves() {
            self.act(arithmetic.verdict);
        } else {
            self.carried = arithmetic.carried;
            if arithmetic.verdict == Verdict::Unpaid {
                self.refused = REFUSED_GROWTH * arithmetic.carried;
            }
        }
        self.rhythm.tick(arithmetic.is_cold);
        arithmetic.verdict
    }

    fn learn_prices(&mut self, Assistant { source, .. }: &Assistant) {
        if self.policy.learns_prices {
            self.policy.prices = self.reports.watch.prices(source);
        } else if self.policy.learns_ttl {
            self.policy.prices.ttl_seconds = listed(source).ttl_seconds;
        }
    }

    fn time(&self) -> Option<f64> {
        newest_ms(&self.account)
    }

    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript) {
        let traits = &message.traits;
        let is_seen = message.is_sent && transcript.link(index) != Link::Orphan;
        self.account.enter(transcript, index);
        self.reports.pass(message);
        let mut held = Held::default();
        if is_seen {
            let mut number = |names: &[Identifier], lines: &[Line]| self.shown.number(names, lines, index);
            held.numbers = number(&traits.identifiers, &traits.lines);
            let kept_lines = traits.kept_lines.as_deref().unwrap_or(&traits.lines);
            held.kept = traits.kept.as_ref().map(|kept| number(kept, kept_lines));
            held.cleared = traits.cleared.as_ref().map(|left| number(&left.identifiers, &left.lines));
            self.take_up(index, message, &held);
        }
        Arc::make_mut(&mut self.held).push(held);
    }

    /// Notes what a message shows, and what of the earlier ones it makes worth more or less.
    fn take_up(&mut self, index: usize, message: &Message, held: &Held) {
        for origin in self.shown.enter(&held.numbers, speaker(message)) {
            if let Some(origin) = Arc::make_mut(&mut self.held).get_mut(origin as usize) {
                origin.is_taken_up = true;
            }
        }
        if message.tool_result().is_none() {
            return;
        }
        let call = self.account.row(index).and_then(|row| self.account.row(row.group).zip(Some(row.call)));
        let target = call.and_then(|(row, call)| row.message.traits.targets.get(call));
        if let Some(target) = target {
            self.shown.learn(&target.files, &held.numbers);
        }
    }
}

fn speaker(message: &Message) -> Speaker {
    match message.body {
        Body::Assistant(_) => Speaker::Assistant,
        Body::ToolResult(_) => Speaker::Tool,
        _ => Speaker::Other,
    }
}
