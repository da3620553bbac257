//! The sticky schedule: a fold over the transcript that edits old messages in batches, when that pays.
//!
//! A decision depends on the messages before it alone, so the same transcript gives the same bytes after a
//! restart, and an edited message keeps its bytes. Every assistant message marks a call: even a failed request was sent
//! with what was decided for it. The fold holds no clock and no text.

mod batch;
mod weigh;

use std::ops::Range;

use super::conversation::Rewrite;
use super::economy::Policy;
use super::held::Held;
use super::index::CoverageIndex;
use super::play::Schedule;
use super::reports::{Reports, Request};
use super::verdict::{Arithmetic, Verdict};
use super::weights::GROWTH_SHARE;
use crate::context::facts::traits::identifiers::Identifier;
use crate::context::facts::traits::lines::Line;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::{Account, Form, Row, Sent};
use crate::context::request::layers::{Limits, Overflow, shrink, thinking};
use crate::context::request::plan::{Edit, Plan};
use crate::context::request::validity::{bound_among, bound_within};
use crate::tokens::estimate::{Estimate, Size};

/// A decision, and its batch where that was worked out.
type Step = (Arithmetic, Option<Batch>);

/// A batch that was tried out.
#[derive(Clone, Debug)]
struct Batch {
    edits: Vec<(usize, Sent)>,
    plan: Plan,
    floor: Size,
    /// cl100k tokens from its first edit on.
    rewritten: usize,
    /// Provider tokens that it leaves.
    left: f64,
    acts_above: (f64, f64),
}

/// The call that was planned last. The limits of then hold until its answer is taken in.
#[derive(Clone, Debug)]
struct Next {
    /// Number of messages before its answer.
    at: usize,
    /// The decision, unless it was carried out already.
    step: Option<Step>,
    sent: Size,
    estimate: Estimate,
}

/// The fold after some messages.
#[derive(Clone, Debug, Default)]
pub struct Sticky {
    policy: Policy,
    /// The limits as the host set them.
    set: Limits,
    /// The limits that hold: narrowed by what refusals taught.
    limits: Limits,
    account: Account,
    held: Vec<Held>,
    index: CoverageIndex,
    reports: Reports,
    /// Paid since the last batch for carrying what a new one could remove, in input tokens.
    carried: f64,
    /// Provider tokens the last batch left.
    left: f64,
    /// The call that was planned last: its answer tells that it was made.
    next: Option<Next>,
    /// Provider tokens above which a batch acts at the threshold and at the budget, where the last one could not get below.
    acts_above: (f64, f64),
    /// True if a call was planned, and if any answer came with usage; of a rewritten list, before that.
    has_planned: bool,
    was_reported: bool,
    /// True if the list was rewritten since the last plan.
    is_restored: bool,
}

impl Schedule for Sticky {
    fn parts(&mut self) -> (&mut Account, &mut Reports) {
        (&mut self.account, &mut self.reports)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn request(&mut self, index: usize, message: &Message, is_elsewhere: bool) -> Request {
        let lived = self.next.take().filter(|next| next.at == index);
        let is_lived = lived.is_some();
        let (step, sent, estimate) = match lived {
            Some(Next { step, sent, estimate, .. }) => (step, Some(sent), estimate),
            // Nothing was decided about this list then.
            None if is_elsewhere => (None, None, self.estimate()),
            // A call from before a compaction had another list.
            None if self.reports.is_older_than_summary(message.timestamp_ms) => (None, None, self.estimate()),
            None => {
                let weighed = self.weigh(false);
                let may_be_unpaid = matches!(weighed.verdict, Verdict::Carried | Verdict::OverThreshold);
                let step = if may_be_unpaid { self.worked_out(weighed) } else { (weighed, None) };
                (Some(step), None, self.estimate())
            }
        };
        let verdict = step.map_or(Verdict::Wait, |step| self.take(step));
        Request {
            sent: sent.unwrap_or_else(|| self.account.sent()),
            estimate,
            verdict: Some(verdict),
            touched: self.account.take_oldest_touched(),
            is_lived,
            elsewhere: None,
        }
    }

    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript) {
        if message.assistant().is_some() {
            self.index.tick();
            self.narrow();
        }
        let traits = &message.traits;
        self.account.enter(transcript, index);
        let is_seen = message.is_sent && self.account.form(index) != Form::Gone;
        self.reports.pass(message);
        let mut held = Held { call: self.index.calls(), ..Held::default() };
        if is_seen {
            let mut number = |names: &[Identifier], lines: &[Line]| self.index.number(names, lines);
            held.numbers = number(&traits.identifiers, &traits.lines);
            let kept_lines = traits.kept_lines.as_deref().unwrap_or(&traits.lines);
            held.kept = traits.kept.as_ref().map(|kept| number(kept, kept_lines));
            let call =
                self.account.row(index).and_then(|row| self.account.row(row.group).zip(Some(row.call)));
            let target = call.and_then(|(row, call)| row.message.traits.targets.get(call));
            self.index.enter(&held.numbers, traits, message.assistant().is_some(), target);
        }
        self.held.push(held);
    }

    fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>) {
        self.next = None;
        if std::mem::take(&mut self.is_restored) {
            self.restore();
        }
        self.was_reported = self.is_reported();
        let is_first = !std::mem::replace(&mut self.has_planned, true);
        let weighed = self.weigh(is_first);
        let step = if weighed.verdict.moves() { self.worked_out(weighed) } else { (weighed, None) };
        let (at, estimate) = (self.held.len(), self.estimate());
        let (plan, floor) = match &step.1 {
            Some(batch) => (batch.plan.clone(), batch.floor),
            None => (self.account.plan(), self.floor()),
        };
        let frontier = plan.edits.last().map_or(0, Edit::end);
        let arithmetic = Arithmetic { frontier, ..step.0 };
        self.next = Some(Next { at, step: Some(step), sent: plan.after, estimate });
        (plan, floor, Some(arithmetic))
    }

    /// Frozen messages stay as they are: only what is decided next goes by the new terms.
    fn set_terms(&mut self, _transcript: &Transcript, policy: Policy, limits: &Limits) {
        self.policy = policy;
        if limits.context_window.total_cmp(&self.set.context_window).is_ne() {
            self.reports.calibration.forget_windows();
        }
        self.set = limits.clone();
        self.narrow();
    }

    /// What both lists begin with is sent as it was; from there on nothing is decided yet.
    fn rewrite(&mut self, transcript: &Transcript, rewrite: &Rewrite) {
        // What was planned last was sent. The call counts when its answer comes.
        let lived = self.next.take().map(|next| {
            let (sent, estimate) = (next.sent, next.estimate);
            next.step.map(|step| self.take(step));
            (sent, estimate)
        });
        let lived = lived.zip(rewrite.answer);
        let (has_planned, was_reported) = (self.has_planned, self.is_reported());
        let mut reports = std::mem::take(&mut self.reports);
        reports.goes_on(rewrite);
        let mut anew = Self {
            reports,
            next: lived.map(|((sent, estimate), at)| Next { at, step: None, sent, estimate }),
            has_planned: has_planned && !rewrite.is_new,
            was_reported,
            is_restored: true,
            ..Self::new(self.policy, self.set.clone())
        };
        if !rewrite.is_new {
            (anew.carried, anew.left, anew.acts_above) = (self.carried, self.left, self.acts_above);
        }
        for (index, message) in transcript.messages().iter().enumerate().take(rewrite.known) {
            anew.enter(index, message, transcript);
        }
        anew.freeze(&self.account, transcript, rewrite);
        anew.left = anew.left.min(anew.context());
        *self = anew;
    }

    fn unbind(&mut self, messages: Range<usize>) {
        self.strip_bound(&bound_within(&self.account, messages));
    }

    fn has_edits(&self) -> bool {
        let is_planned = self
            .next
            .as_ref()
            .and_then(|next| next.step.as_ref())
            .and_then(|step| step.1.as_ref())
            .is_some_and(|batch| !batch.edits.is_empty());
        is_planned || self.account.sent() != self.account.raw()
    }

    fn withdraw(&mut self) {
        self.next = None;
    }
}

impl Sticky {
    /// The fold before any message.
    #[must_use]
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let reports = Reports::new(policy.calibrate);
        Self { policy, set: limits.clone(), limits, reports, ..Self::default() }
    }

    /// Goes by the host's limits, narrowed by what refusals taught.
    fn narrow(&mut self) {
        let limits = self.reports.calibration.narrow(&self.set);
        if self.limits != limits {
            // Under a narrower window the next batch need not wait for growth.
            if limits.context_window <= self.limits.context_window {
                self.left = 0.0;
            }
            self.acts_above = (0.0, 0.0);
            self.limits = limits;
        }
    }

    /// The tokens that layer 4 leaves, or would leave.
    fn floor(&self) -> Size {
        if self.limits.overflow == Overflow::Shrink || self.context() <= self.limits.budget() {
            return self.account.sent();
        }
        let mut least = self.account.clone();
        let most = self.limits.most_words();
        let goals = shrink::Goals { most, ..shrink::Goals::least(self.limits.budget()) };
        shrink::shrink(&mut least, &self.estimate(), goals);
        least.sent()
    }

    fn estimate(&self) -> Estimate {
        self.reports.calibration.estimate()
    }

    /// Sends the groups that end in what both lists begin with as `before` does. Of a group that was cut, bound thinking stays out.
    fn freeze(&mut self, before: &Account, transcript: &Transcript, rewrite: &Rewrite) {
        let Rewrite { kept, kept_end, .. } = rewrite;
        let is_edited = |row: &Row| row.edit.0 != Form::Whole || row.images_out > 0;
        let edited = kept.iter().enumerate().filter_map(|(index, was)| {
            let was = (*was)?;
            before.row(was).is_some_and(is_edited).then_some((index, was))
        });
        let (pairs, cut): (Vec<_>, Vec<_>) = edited.partition(|&(index, was)| {
            transcript.group_end(index) <= kept.len() && before.group_end(was) <= *kept_end
        });
        let frozen: Vec<usize> = pairs.iter().map(|(index, _)| *index).collect();
        self.show_anew(&frozen, |account| account.send_as(before, &pairs));
        let cut: Vec<usize> = cut.iter().map(|(index, _)| *index).collect();
        self.strip_bound(&bound_among(&self.account, &cut));
        if let Some(&changed) = cut.first() {
            self.strip_unbound(changed);
        }
        self.account.take_oldest_touched();
        self.account.take_changed();
    }

    /// Sends whole what the end of a rewritten list may not do without. Bound thinking that was taken out never comes back.
    fn restore(&mut self) {
        let step = thinking::step_under_way(&self.account);
        let needed = self.account.needed_whole(self.limits.keep_recent_tool_results, step);
        self.show_anew(&needed, |account| needed.iter().for_each(|&index| account.send_whole(index)));
        self.strip_bound(&bound_among(&self.account, &needed));
        if let Some(changed) = self.account.take_changed() {
            self.strip_unbound(changed);
        }
    }

    /// Goes on by a decision.
    fn take(&mut self, (arithmetic, moved): Step) -> Verdict {
        if let Some(Batch { edits, left, acts_above, .. }) = moved {
            let indices: Vec<usize> = edits.iter().map(|(index, _)| *index).collect();
            self.show_anew(&indices, |account| account.send_tried(&edits));
            self.account.take_changed();
            (self.carried, self.left, self.acts_above) = (0.0, left, acts_above);
        } else if arithmetic.verdict.moves() {
            self.act(arithmetic.verdict);
        } else {
            self.carried = arithmetic.carried;
            if arithmetic.verdict == Verdict::Unpaid && arithmetic.context > self.limits.threshold() {
                self.acts_above.0 = arithmetic.context + GROWTH_SHARE * self.limits.threshold();
            }
        }
        arithmetic.verdict
    }
}
