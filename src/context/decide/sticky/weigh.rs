//! Decides if the frontier moves at the next call, by what that costs and saves.

use super::{Pending, Sticky};
use crate::context::decide::economy::Policy;
use crate::context::decide::reports::newest_ms;
use crate::context::decide::verdict::{Arithmetic, Verdict, payback_calls};
use crate::context::request::layers::images;
use crate::context::request::validity::holds_turn;
use crate::context::weights::{GROWTH_SHARE, LEAST_CONTEXT, LEAST_SHARE, MOST_ABOVE};
use crate::contract::CONTEXT_RATIO;

/// What the ski rental goes by. Costs are in input tokens, sizes in provider tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rent {
    /// Paid since the last batch for carrying what a new one could remove.
    pub(super) carried: f64,
    /// Size that the last batch left.
    pub(super) left: f64,
    /// Size at which a batch was last worked out that did not pay.
    pub(super) unpaid_at: f64,
    /// What all calls would have cost without any edit, but for writing each token once.
    pub(super) reads: f64,
    /// What the edits have saved of that so far, less what they cost.
    pub(super) saved: f64,
}

impl Sticky {
    /// Decides about the next call, which may be the first that is planned, and edits for it.
    pub(super) fn decide(&mut self, is_first: bool) -> Arithmetic {
        let before = self.rent;
        let weighed = self.weigh(is_first);
        self.account.begin_trial();
        let decided = if weighed.verdict.moves() { self.try_batch(weighed) } else { weighed };
        if !decided.verdict.moves() {
            self.rent.carried = decided.carried;
        }
        self.keep_books(decided.is_cold);
        let (at, sent, estimate) = (self.held.len(), self.account.sent(), self.estimate());
        self.pending = Some(Pending { at, verdict: decided.verdict, sent, estimate, before });
        decided
    }

    /// Makes a batch. Takes it back if it is made for the bill's sake and does not pay.
    fn try_batch(&mut self, weighed: Arithmetic) -> Arithmetic {
        self.act(weighed.verdict);
        let prices = self.priced().prices;
        let (removed, rewritten) = (weighed.context - self.context(), self.rewritten());
        let cost = prices.rewrite(rewritten);
        let has_paid = weighed.carried * removed / weighed.removable >= cost && self.may_cost(cost);
        let threshold = self.limits.threshold();
        let makes_room = self.context() <= (1.0 - GROWTH_SHARE) * threshold;
        let is_made = match weighed.verdict {
            Verdict::Carried => has_paid,
            // A limit that the host set is obeyed whatever that costs.
            Verdict::OverThreshold => {
                let is_set = threshold < CONTEXT_RATIO * self.limits.context_window;
                has_paid || makes_room && (is_set || self.may_cost(cost))
            }
            _ => true,
        };
        let payback_calls = payback_calls(removed, rewritten, prices);
        if is_made {
            self.rent = Rent { carried: 0.0, left: self.context(), unpaid_at: 0.0, ..self.rent };
            return Arithmetic { payback_calls, ..weighed };
        }
        self.take_back();
        self.rent.unpaid_at = weighed.context;
        Arithmetic { verdict: Verdict::Unpaid, payback_calls, ..weighed }
    }

    /// Takes back what was edited for a call that is not made.
    pub(super) fn take_back(&mut self) {
        self.account.end_trial();
        self.account.take_changed();
    }

    /// Provider tokens from the first edit of this call on.
    fn rewritten(&self) -> f64 {
        let since = |first| self.account.size_since(first).cl100k as f64;
        self.estimate().scale * self.account.first_tried().map_or(0.0, since)
    }

    /// Returns `true` if a batch may cost so much, in input tokens: whenever the session ends, the bill is hardly above that
    /// without the hook.
    fn may_cost(&self, cost: f64) -> bool {
        let Rent { reads, saved, .. } = self.rent;
        let writes = self.priced().prices.rewrite(self.estimate().tokens(self.account.raw()));
        cost <= saved + MOST_ABOVE * (reads + writes)
    }

    /// Books what the next call costs with the edits and without.
    fn keep_books(&mut self, is_cold: bool) {
        let (estimate, prices) = (self.estimate(), self.priced().prices);
        let [raw, sent] = [self.account.raw(), self.account.sent()].map(|size| estimate.tokens(size));
        let (price, rewrite) =
            if is_cold { (prices.write, 0.0) } else { (prices.read, prices.rewrite(self.rewritten())) };
        self.rent.reads += price * raw;
        self.rent.saved += price * (raw - sent) - rewrite;
    }

    /// True if the last call failed and nothing was said since: it is sent again as it was, unless it was refused for its
    /// length.
    fn is_retry(&self) -> bool {
        let last = self.account.rows().last();
        let is_failed = last.is_some_and(|row| row.message.assistant().is_some() && !row.message.is_sent);
        is_failed && self.reports.calibration.room().is_none()
    }

    pub(super) fn context(&self) -> f64 {
        self.estimate().tokens(self.account.sent())
    }

    /// Tokens above which the frontier moves whatever that costs.
    pub(super) fn limit(&self) -> f64 {
        self.limits.threshold().min(self.limits.budget())
    }

    /// The host's policy, with the prices that were learned where it leaves them to be.
    pub(super) fn priced(&self) -> Policy {
        let learned = self.reports.watch.prices().filter(|_| self.policy.learns_prices);
        Policy { prices: learned.unwrap_or(self.policy.prices), ..self.policy }
    }

    /// Provider tokens below which nothing is removed for a bill's sake.
    fn least(&self) -> f64 {
        LEAST_CONTEXT.min(LEAST_SHARE * self.limits.context_window)
    }

    /// Size above which a limit makes a batch: where the last one could not get below it, the context must have grown.
    fn due(&self, limit: f64) -> f64 {
        if self.rent.left > limit { self.rent.left + GROWTH_SHARE * limit } else { limit }
    }

    /// The same of the budget. A request over the window fails, so that is no reason to wait.
    fn budget_due(&self) -> f64 {
        let (budget, window) = (self.due(self.limits.budget()), self.limits.context_window);
        if self.rent.left < window { budget.min(window) } else { budget }
    }

    /// Returns `true` if any answer so far came with usage.
    pub(super) fn is_reported(&self) -> bool {
        self.was_reported
            || self.account.rows().newest_first().any(|(_, row)| row.message.reported_tokens().is_some())
    }

    /// The arithmetic of the next call.
    fn weigh(&self, is_first: bool) -> Arithmetic {
        let (policy, context) = (self.priced(), self.context());
        // What the last batch left, or the first is expected to. Nearly all of it is rewritten, for something old is always
        // among what goes.
        let settled = self.rent.left.max(self.least());
        let (above, rewrite) = (context - settled, policy.prices.rewrite(settled));
        let carried = self.rent.carried + policy.carry(above);
        let is_cold = self.reports.watch.is_cold(newest_ms(&self.account), self.policy.fixed_ttl());
        let is_refused = self.reports.calibration.room().is_some_and(|room| context > room);
        let is_over =
            is_refused || images::is_over(&self.account, &self.limits) || context > self.budget_due();
        let verdict = if self.is_retry() {
            Verdict::Wait
        } else if !is_over && holds_turn(&self.account) {
            Verdict::TurnOpen
        } else if (is_first || context < self.least()) && !self.is_reported() {
            Verdict::Unreported
        } else if is_cold && above > 0.0 {
            Verdict::Cold
        } else if is_over {
            Verdict::OverWindow
        } else if context > self.due(self.limits.threshold()) {
            Verdict::OverThreshold
        } else if images::are_many(&self.account, &self.limits) {
            Verdict::ManyImages
        } else if carried > rewrite && above > 0.0 {
            Verdict::Carried
        } else {
            Verdict::Wait
        };
        // A batch that did not pay is worked out again when the context has grown.
        let is_vain = context <= (1.0 + GROWTH_SHARE) * self.rent.unpaid_at;
        let is_for_the_bill = matches!(verdict, Verdict::Carried | Verdict::OverThreshold);
        let verdict = if is_for_the_bill && is_vain { Verdict::Unpaid } else { verdict };
        let removable = policy.removable(above);
        let payback_calls = payback_calls(removable, settled, policy.prices);
        Arithmetic { verdict, is_cold, context, removable, carried, rewrite, payback_calls, frontier: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::decide::Lessons;
    use crate::context::decide::conversation::Rewrite;
    use crate::context::decide::play::Schedule;
    use crate::context::facts::measure::{Raw, RawRole, outline};
    use crate::context::facts::transcript::{Transcript, Usage};
    use crate::context::request::layers::Limits;

    #[test]
    fn a_batch_that_leaves_more_than_the_budget_waits_no_further_than_the_window() {
        let limits = Limits { context_window: 100_000.0, ..Limits::default() };
        let mut fold = Sticky::new(Policy::default(), limits);
        fold.rent.left = fold.limits.budget() + 1.0;
        assert!((fold.budget_due() - 100_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_call_whose_list_was_rewritten_before_its_answer_came_is_one_call() {
        let usage = Usage::default();
        let answer = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
        let list = |roles: &[RawRole<'_>]| {
            let of = |role: &RawRole<'_>| Arc::new(outline(&Raw::new(*role, Vec::new())));
            Transcript::new(roles.iter().map(of).collect())
        };
        let mut fold = Sticky::default();
        let lessons = &mut Lessons::default();
        fold.play(&list(&[RawRole::User]), lessons, &mut |_| {});
        fold.plan();
        let (rewritten, mut lived) = (list(&[RawRole::Summary, answer]), 0);
        let rewrite = Rewrite {
            kept: Vec::new(),
            kept_end: 0,
            known: 1,
            answer: Some(1),
            is_tail: true,
            changed: Some(0),
            is_new: true,
        };
        let mut fold = fold.continued(&rewritten, &rewrite);
        fold.play(&rewritten, lessons, &mut |request| {
            lived += usize::from(request.is_lived);
        });
        assert_eq!(lived, 1);
    }
}
