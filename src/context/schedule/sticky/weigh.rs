//! Decides if the frontier moves at the next call, by what that costs and saves.

use super::{Step, Sticky};
use crate::context::layers::{Overflow, images};
use crate::context::schedule::economy::scale_of;
use crate::context::schedule::reports::newest_ms;
use crate::context::schedule::verdict::{Arithmetic, Verdict, payback_calls};
use crate::context::schedule::weights::MIN_GROWTH;
use crate::context::validity::holds_turn;

impl Sticky {
    /// True if the last call failed and nothing was said since: it is sent again as it was, unless it was refused for its
    /// length.
    fn is_retry(&self) -> bool {
        let last = self.account.rows().last();
        let is_failed = last.is_some_and(|row| row.message.assistant().is_some() && !row.message.is_sent);
        is_failed && !self.reports.calibration.is_refused()
    }

    pub(super) fn context(&self) -> f64 {
        self.estimate().tokens(self.account.sent())
    }

    /// Tokens above which the frontier moves whatever that costs: never more than may be sent at all.
    pub(super) fn high_water(&self) -> f64 {
        self.policy
            .high_water(scale_of(self.limits.context_window))
            .min(self.limits.threshold())
            .min(self.limits.budget())
    }

    pub(super) fn low_water(&self) -> f64 {
        self.policy.low_water(scale_of(self.limits.context_window))
    }

    /// Provider tokens the last batch left, or the low water if that is more.
    fn settled(&self) -> f64 {
        self.left.max(self.low_water())
    }

    /// The decision of the next call. The batch is worked out on a copy: one that moves because carrying has cost enough is not
    /// made if it cannot pay for itself.
    pub(super) fn next_step(&self) -> Step {
        let weighed = self.weigh();
        if !weighed.verdict.moves() {
            return (weighed, None);
        }
        let mut moved = Box::new(self.clone());
        moved.act(weighed.verdict);
        let estimate = self.estimate();
        let removed = self.context() - estimate.tokens(moved.account.sent());
        let rewritten = estimate.scale * moved.account.size_after_change(&self.account).cl100k as f64;
        let payback_calls = payback_calls(removed, rewritten, self.policy.prices);
        let arithmetic = Arithmetic { payback_calls, ..weighed };
        if weighed.verdict == Verdict::Carried && payback_calls > weighed.expected_calls {
            return (Arithmetic { verdict: Verdict::Unpaid, ..arithmetic }, None);
        }
        (arithmetic, Some(moved))
    }

    /// The arithmetic of the next call.
    fn weigh(&self) -> Arithmetic {
        let scale = scale_of(self.limits.context_window);
        let (context, settled) = (self.context(), self.settled());
        let above = context - settled;
        let is_cold = self.reports.watch.is_cold(newest_ms(&self.account), self.policy.fixed_ttl());
        let carried = self.carried + self.policy.carry(above);
        let rewrite = self.policy.rewrite(settled);
        let high_water = self.high_water();
        let has_grown = context > self.spent + MIN_GROWTH * scale;
        let must_fit = self.limits.overflow == Overflow::Shrink && context > self.limits.budget();
        let verdict = if self.is_retry() {
            Verdict::Wait
        } else if context <= self.limits.budget()
            && !images::is_over(&self.account, &self.limits)
            && holds_turn(&self.account)
        {
            Verdict::TurnOpen
        } else if has_grown && is_cold && context > self.policy.cold_mark(settled, scale) {
            Verdict::Cold
        } else if context > high_water && has_grown {
            Verdict::HighWater
        } else if (must_fit && context > self.spent) || images::is_over(&self.account, &self.limits) {
            Verdict::OverWindow
        } else if has_grown && carried > rewrite.max(self.refused) && above > 0.0 {
            Verdict::Carried
        } else {
            Verdict::Wait
        };
        let removable = self.policy.removable(above);
        Arithmetic {
            verdict,
            is_cold,
            context,
            removable,
            carried,
            rewrite,
            payback_calls: payback_calls(removable, settled, self.policy.prices),
            expected_calls: self.rhythm.expected_calls(),
            high_water,
            frontier: 0,
        }
    }
}
