//! Decides if the frontier moves at the next call, by what that costs and saves.

use super::{Step, Sticky};
use crate::context::decide::economy::Policy;
use crate::context::decide::reports::newest_ms;
use crate::context::decide::verdict::{Arithmetic, Verdict, payback_calls};
use crate::context::decide::weights::{GROWTH_SHARE, LEAST_CONTEXT, LEAST_SHARE};
use crate::context::request::layers::images;
use crate::context::request::validity::holds_turn;

impl Sticky {
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

    /// Provider tokens the last batch left, or the first is expected to.
    fn settled(&self) -> f64 {
        self.left.max(self.least())
    }

    /// After a batch that could not get below a limit, waits until the context has grown.
    pub(super) fn wait_for_growth(&mut self) {
        let grown = |limit: f64| if self.left > limit { self.left + GROWTH_SHARE * limit } else { limit };
        let (window, budget) = (self.limits.context_window, grown(self.limits.budget()));
        // A request over the window fails.
        let budget = if self.left < window { budget.min(window) } else { budget };
        self.acts_above = (grown(self.limits.threshold()), budget);
    }

    /// Returns `true` if any answer so far came with usage.
    pub(super) fn is_reported(&self) -> bool {
        self.was_reported
            || self.account.rows().newest_first().any(|(_, row)| row.message.reported_tokens().is_some())
    }

    /// The batch that was `weighed`, tried out and taken back. One that moves because carrying has cost enough is not made if
    /// carrying what it takes has cost less than what it rewrites.
    pub(super) fn worked_out(&mut self, weighed: Arithmetic) -> Step {
        let before = self.context();
        let batch = self.tried_out(weighed.verdict);
        let (estimate, prices) = (self.estimate(), self.priced().prices);
        let removed = before - batch.left;
        let rewritten = estimate.scale * batch.rewritten as f64;
        let payback_calls = payback_calls(removed, rewritten, prices);
        let arithmetic = Arithmetic { payback_calls, ..weighed };
        let is_paid = weighed.carried * removed / weighed.removable >= prices.rewrite(rewritten);
        let makes_room = weighed.verdict == Verdict::OverThreshold
            && batch.left <= (1.0 - GROWTH_SHARE) * self.limits.threshold();
        let may_be_unpaid = matches!(weighed.verdict, Verdict::Carried | Verdict::OverThreshold);
        if may_be_unpaid && !is_paid && !makes_room {
            return (Arithmetic { verdict: Verdict::Unpaid, ..arithmetic }, None);
        }
        (arithmetic, Some(batch))
    }

    /// The arithmetic of the next call, which may be the first that is planned.
    pub(super) fn weigh(&self, is_first: bool) -> Arithmetic {
        let (policy, context, settled) = (self.priced(), self.context(), self.settled());
        let above = context - settled;
        let is_cold = self.reports.watch.is_cold(newest_ms(&self.account), self.policy.fixed_ttl());
        let carried = self.carried + policy.carry(above);
        // Nearly all that stays, for something old is always among what goes.
        let rewrite = policy.prices.rewrite(settled);
        let is_refused = self.reports.calibration.room().is_some_and(|room| context > room);
        let (threshold, budget) = self.acts_above;
        let is_over = is_refused
            || images::is_over(&self.account, &self.limits)
            || context > budget.max(self.limits.budget());
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
        } else if context > threshold.max(self.limits.threshold()) {
            Verdict::OverThreshold
        } else if images::are_many(&self.account, &self.limits) {
            Verdict::ManyImages
        } else if carried > rewrite && above > 0.0 {
            Verdict::Carried
        } else {
            Verdict::Wait
        };
        let removable = policy.removable(above);
        Arithmetic {
            verdict,
            is_cold,
            context,
            removable,
            carried,
            rewrite,
            payback_calls: payback_calls(removable, settled, policy.prices),
            frontier: 0,
        }
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
        fold.left = fold.limits.budget() + 1.0;
        fold.wait_for_growth();
        assert!((fold.acts_above.1 - 100_000.0).abs() < 1e-9);
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
        fold.play(&list(&[RawRole::User]), lessons, &[], &mut |_| {});
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
        fold.rewrite(&rewritten, &rewrite);
        fold.play(&rewritten, lessons, &[], &mut |request| {
            lived += usize::from(request.is_lived);
        });
        assert_eq!(lived, 1);
    }
}
