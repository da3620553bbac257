//! The sticky schedule: a fold over the transcript that edits old messages in batches, when that pays.
//!
//! A decision depends on the messages before it alone, so the same transcript gives the same bytes after a
//! restart, and an edited message keeps its bytes. Every assistant message marks a call: even a failed request was sent
//! with what was decided for it. The fold holds no clock and no text.

mod batch;
mod ladder;
mod weigh;

use self::weigh::Rent;
use super::conversation::Rewrite;
use super::economy::Policy;
use super::held::Held;
use super::index::CoverageIndex;
use super::play::Schedule;
use super::reports::{Reports, Request};
use super::verdict::{Arithmetic, Verdict};
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::layers::{Limits, Overflow, shrink, thinking};
use crate::context::request::plan::{Edit, Plan};
use crate::context::request::validity::{strip_among, strip_unbound, strip_within};
use crate::tokens::estimate::{Estimate, Size};

/// The call that was planned last. Until its answer comes its batch can be taken back.
#[derive(Clone, Debug)]
struct Pending {
    /// Number of messages before its answer.
    at: usize,
    verdict: Verdict,
    sent: Size,
    estimate: Estimate,
    /// The rent before it was planned.
    before: Rent,
}

/// The fold after some messages.
#[derive(Clone, Debug, Default)]
pub struct Sticky {
    policy: Policy,
    /// The limits as the host set them.
    set: Limits,
    /// The limits that hold: narrowed by what refusals taught.
    limits: Limits,
    pub(super) account: Account,
    held: Vec<Held>,
    /// Calls so far.
    calls: u32,
    /// What the first messages showed, up to the last batch that was worked out.
    index: CoverageIndex,
    /// The number of these messages.
    indexed: usize,
    reports: Reports,
    rent: Rent,
    pending: Option<Pending>,
    /// True if a call was planned, also of the list before a rewrite.
    has_planned: bool,
    /// True if an answer to the list before a rewrite came with usage.
    was_reported: bool,
    /// Number of newest results that the next plan sends whole, if the list was rewritten since the last one.
    restored_results: Option<usize>,
}

impl Schedule for Sticky {
    fn parts(&mut self) -> (&mut Account, &mut Reports) {
        (&mut self.account, &mut self.reports)
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn request(&mut self, index: usize, message: &Message, is_elsewhere: bool) -> Request {
        let is_lived = self.pending.as_ref().is_some_and(|call| call.at == index);
        if !is_lived {
            self.withdraw();
            // Nothing was decided about this list when its call was made with another one.
            if !is_elsewhere && !self.reports.is_older_than_summary(message.timestamp_ms) {
                self.decide(false);
            }
        }
        self.account.keep_trial();
        let decided = self.pending.take();
        let decided = decided.map(|Pending { verdict, sent, estimate, .. }| (verdict, sent, estimate));
        let (verdict, sent, estimate) =
            decided.unwrap_or_else(|| (Verdict::Wait, self.account.sent(), self.estimate()));
        let touched = self.account.take_oldest_touched();
        Request { sent, estimate, verdict: Some(verdict), touched, is_lived, elsewhere: None }
    }

    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript) {
        // No answer came: the next message stands where it would.
        if self.pending.as_ref().is_some_and(|call| call.at <= index) {
            self.withdraw();
        }
        let is_answer = message.assistant().is_some();
        if is_answer {
            self.calls += 1;
            self.narrow();
        }
        self.account.enter(transcript, index);
        self.reports.pass(message);
        let is_shown = message.is_sent && self.account.form(index) != Form::Gone;
        self.held.push(Held { is_shown, call: self.calls, ..Held::default() });
    }

    fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>) {
        self.withdraw();
        if let Some(newest_results) = self.restored_results.take() {
            self.restore(newest_results);
        }
        let is_first = !std::mem::replace(&mut self.has_planned, true);
        let decided = self.decide(is_first);
        let (plan, floor) = (self.account.plan(), self.floor());
        let frontier = plan.edits.last().map_or(0, Edit::end);
        (plan, floor, Some(Arithmetic { frontier, ..decided }))
    }

    /// Frozen messages stay as they are: only what is decided next goes by the new terms.
    fn set_terms(&mut self, _transcript: &Transcript, policy: Policy, limits: &Limits) {
        self.withdraw();
        self.policy = policy;
        if limits.context_window.total_cmp(&self.set.context_window).is_ne() {
            self.reports.calibration.forget_windows();
        }
        self.set = limits.clone();
        self.narrow();
    }

    fn withdraw(&mut self) {
        if let Some(call) = self.pending.take() {
            self.take_back();
            self.rent = call.before;
        }
    }
}

impl Sticky {
    /// The fold before any message.
    #[must_use]
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let reports = Reports::new(policy.calibrate);
        Self { policy, set: limits.clone(), limits, reports, ..Self::default() }
    }

    /// The fold of a list that its host rewrote. What both lists begin with is sent as it was; from there on nothing is decided
    /// yet.
    pub(super) fn continued(&self, transcript: &Transcript, rewrite: &Rewrite) -> Self {
        let mut reports = self.reports.clone();
        reports.goes_on(rewrite);
        let mut anew = Self {
            reports,
            rent: self.rent_after(rewrite),
            has_planned: self.has_planned && !rewrite.is_new,
            was_reported: self.is_reported(),
            // Where only the tail of one request changed, what a batch cut for its room stays cut.
            restored_results: Some(if rewrite.is_tail { 0 } else { self.limits.keep_recent_tool_results }),
            ..Self::new(self.policy, self.set.clone())
        };
        for (index, message) in transcript.messages().iter().enumerate().take(rewrite.known) {
            anew.enter(index, message, transcript);
        }
        anew.freeze(&self.account, transcript, rewrite);
        anew.rent = Rent { left: anew.rent.left.min(anew.context()), ..anew.rent };
        // What was planned last was sent. The call counts when its answer comes.
        let lived = self.pending.clone().zip(rewrite.answer);
        anew.pending = lived.map(|(call, at)| Pending { at, before: anew.rent, ..call });
        anew
    }

    /// What a rewritten list owes.
    fn rent_after(&self, rewrite: &Rewrite) -> Rent {
        // A new conversation owes nothing to what was carried before.
        if rewrite.is_new {
            return Rent::default();
        }
        // Nor does a list to a question that was asked aside.
        let is_aside = rewrite.is_tail && rewrite.answer.is_none();
        let aside = self.pending.as_ref().filter(|call| is_aside && !call.verdict.moves());
        aside.map_or(self.rent, |call| call.before)
    }

    /// Goes by the host's limits, narrowed by what refusals taught.
    fn narrow(&mut self) {
        let limits = self.reports.calibration.narrow(&self.set);
        if self.limits != limits {
            // Under a narrower window the next batch need not wait for growth.
            if limits.context_window <= self.limits.context_window {
                self.rent.left = 0.0;
            }
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

    /// Enters what came since the last batch into the index. Until a batch is worked out nobody asks it.
    fn fill_index(&mut self) {
        let Self { account, held, index, .. } = self;
        for (at, held) in held.iter_mut().enumerate().skip(self.indexed).filter(|(_, held)| held.is_shown) {
            let Some(row) = account.row(at) else { continue };
            held.enter(index, row, account.message(row.group));
        }
        self.index.go_to(self.calls);
        self.indexed = self.held.len();
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
        self.account.send_as(before, &pairs);
        if let Some(&(changed, _)) = cut.first() {
            let end = self.account.len();
            strip_within(&mut self.account, changed..end);
        }
        self.account.take_oldest_touched();
        self.account.take_changed();
    }

    /// Sends whole what the end of a rewritten list may not do without. Bound thinking that was taken out never comes back.
    fn restore(&mut self, newest_results: usize) {
        let step = thinking::step_under_way(&self.account);
        let needed = self.account.needed_whole(newest_results, step);
        for &index in &needed {
            self.account.send_whole(index);
        }
        strip_among(&mut self.account, &needed);
        strip_unbound(&mut self.account);
    }
}
