//! Decides whether the next call makes a batch, by its cost and savings.

use super::batch::rewritten_tokens;
use crate::context::decide::economy::Prices;
use crate::context::decide::fold::Fold;
use crate::context::decide::reports::newest_ms;
use crate::context::decide::verdict::{Arithmetic, Verdict, payback_calls};
use crate::context::request::layers::images;
use crate::context::request::validity::{holds_turn, strip_unbound};
use crate::context::weights::{ECONOMY_PER_TIMES, GROWTH_SHARE, LEAST_CONTEXT, LEAST_SHARE};
use crate::tokens::estimate::Size;

/// The state of the ski-rental rule.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::context::decide) struct SkiRental {
    /// Cost so far of sending what a batch would remove, in input tokens.
    pub(in crate::context::decide) carried: f64,
    /// The size that the last batch left, or would have left if it was undone.
    pub(in crate::context::decide) left: Size,
    /// True if that batch was made, false if it was undone.
    pub(in crate::context::decide) is_made: bool,
}

impl Fold {
    /// Decides about the next call and tries a batch for it. `is_first` marks the first planned call.
    pub(in crate::context::decide) fn decide_sticky(&mut self, is_first: bool) -> Arithmetic {
        // A change of model, or a rewritten list, may need messages and images that were removed long ago.
        self.account.restore_sides();
        strip_unbound(&mut self.account);
        self.account.begin_trial();
        if self.is_wider {
            self.restore_user_text();
        }
        let weighed = self.weigh(is_first);
        let decided = if weighed.verdict.moves() { self.try_batch(weighed) } else { weighed };
        self.rental.carried = match decided.verdict {
            // After a restart it is unknown which call was planned first.
            Verdict::Unreported => weighed.carried,
            verdict if verdict.moves() => 0.0,
            _ => decided.carried,
        };
        decided
    }

    /// Makes a batch. Undoes it if it was meant to save money and does not.
    fn try_batch(&mut self, weighed: Arithmetic) -> Arithmetic {
        self.make_batch(weighed.verdict);
        let prices = self.prices();
        let rewritten = rewritten_tokens(&self.account, &self.estimate(), prices);
        let left = self.context();
        // A replay after a restart must give the same.
        if weighed.verdict != Verdict::Unreported {
            self.rental.left = self.account.sent();
        }
        let removed = weighed.context - left;
        let share = if weighed.removable > 0.0 { removed / weighed.removable } else { 0.0 };
        let worked_out = Arithmetic {
            removable: removed,
            carried: share * weighed.carried,
            rewrite: prices.rewrite(rewritten),
            payback_calls: payback_calls(removed, rewritten, prices),
            ..weighed
        };
        let least_times = self.least_times(weighed.verdict, weighed.context);
        self.rental.is_made = worked_out.carried >= least_times * worked_out.rewrite;
        if self.rental.is_made {
            return worked_out;
        }
        self.take_back();
        Arithmetic { verdict: Verdict::Unpaid, ..worked_out }
    }

    /// The multiple of the rewrite cost that carrying must have cost before such a batch, in a request of `context` tokens.
    fn least_times(&self, verdict: Verdict, context: f64) -> f64 {
        match verdict {
            Verdict::Carried => self.policy.economy / ECONOMY_PER_TIMES,
            // The host's own limit is obeyed at any cost.
            Verdict::OverThreshold if context <= self.limits.host_limit() => 1.0,
            _ => 0.0,
        }
    }

    /// Returns `true` if the last call failed and no message followed: it is sent again unchanged, unless it was refused for
    /// its length.
    fn is_retry(&self) -> bool {
        let last = self.account.rows().last();
        let is_failed = last.is_some_and(|row| row.message.assistant().is_some() && !row.message.is_sent);
        is_failed && self.reports.calibration.room.is_none()
    }

    /// Tokens of the lower of threshold and budget.
    pub(in crate::context::decide) fn limit(&self) -> f64 {
        self.limits.threshold().min(self.limits.budget())
    }

    /// Prices of the cache: the host's, else the learned ones.
    pub(super) fn prices(&self) -> Prices {
        self.policy.prices.unwrap_or_else(|| self.reports.watch.prices())
    }

    /// Provider tokens below which the layers apply at each call while no usage was reported.
    pub(in crate::context::decide) fn least_context(&self) -> f64 {
        LEAST_CONTEXT.min(LEAST_SHARE * self.limits.context_window)
    }

    /// Provider tokens that the last batch left or would have left; 0 before any.
    fn left(&self) -> f64 {
        if self.rental.left == Size::default() { 0.0 } else { self.estimate().tokens(self.rental.left) }
    }

    /// Provider tokens that the next batch is expected to leave: as the last one did, at least `least_context`. It rewrites
    /// nearly all of them, since it always edits something old.
    fn expected_left(&self) -> f64 {
        self.left().max(self.least_context())
    }

    /// Size above which the host's own limit demands a batch. The context must have grown by `GROWTH_SHARE` since the last one: of
    /// the limit, or, if that batch stayed above the limit, of the budget or of twice what it left, whichever is less.
    fn host_limit_due(&self) -> f64 {
        let limit = self.limits.host_limit();
        let left = if self.rental.is_made { self.left() } else { 0.0 };
        due(limit, left, self.limits.budget().min(2.0 * left))
    }

    /// Size above which the threshold demands a batch: at least `GROWTH_SHARE` above the size that the last batch left.
    fn threshold_due(&self) -> f64 {
        due(self.limits.threshold(), self.left(), self.limits.budget())
    }

    /// Size above which the budget demands a batch. If the last batch stayed above the budget, the context must have grown
    /// by `GROWTH_SHARE`, but not past the window: such a request fails.
    fn budget_due(&self) -> f64 {
        let (budget, window, left) = (self.limits.budget(), self.limits.context_window, self.left());
        let due = if left > budget { left + GROWTH_SHARE * budget } else { budget };
        if left < window { due.min(window) } else { due }
    }

    /// The arithmetic of the next call.
    fn weigh(&self, is_first: bool) -> Arithmetic {
        let (prices, context) = (self.prices(), self.context());
        let left = self.expected_left();
        let (removable, rewrite) = ((context - left).max(0.0), prices.rewrite(left));
        // A failed call cost nothing, so its repetition counts for it.
        let is_retry = self.is_retry();
        let carried = self.rental.carried + if is_retry { 0.0 } else { prices.read * removable };
        let pays = |verdict| carried >= self.least_times(verdict, context) * rewrite;
        let is_cold = self.reports.watch.is_cold(newest_ms(&self.account), self.policy.ttl_seconds);
        let is_refused = self.reports.calibration.room.is_some_and(|room| context > room);
        let has_too_many_images = images::is_over(&self.account, &self.limits);
        let is_over = is_refused || context > self.budget_due();
        let verdict = if is_retry && !has_too_many_images {
            Verdict::Wait
        } else if !is_over && !has_too_many_images && holds_turn(&self.account) {
            Verdict::TurnOpen
        } else if (is_first || context < self.least_context()) && !self.reports.is_reported {
            Verdict::Unreported
        } else if is_cold && removable > 0.0 {
            Verdict::Cold
        } else if is_over {
            Verdict::OverWindow
        } else if context > self.host_limit_due()
            || (context > self.threshold_due() && pays(Verdict::OverThreshold))
        {
            Verdict::OverThreshold
        } else if has_too_many_images || images::are_many(&self.account, &self.limits) {
            Verdict::ManyImages
        } else if removable > 0.0 && pays(Verdict::Carried) {
            Verdict::Carried
        } else {
            Verdict::Wait
        };
        let payback_calls = payback_calls(removable, left, prices);
        Arithmetic { verdict, is_cold, context, removable, carried, rewrite, payback_calls }
    }
}

/// Size above which a limit demands a batch after one that left `left`: at least `left` and `GROWTH_SHARE` of the limit, or of
/// `above` if `left` is above the limit.
fn due(limit: f64, left: f64, above: f64) -> f64 {
    let whole = if left > limit { above } else { limit };
    limit.max(left + GROWTH_SHARE * whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::decide::{Mode, Terms};
    use crate::context::request::layers::Limits;

    #[test]
    fn a_batch_that_leaves_more_than_the_budget_waits_no_further_than_the_window() {
        let limits = Limits { context_window: 100_000.0, ..Limits::default() };
        let mut fold = Fold::new(Mode::Sticky, &Terms { limits, ..Terms::default() });
        let of_budget = fold.limits.budget() / fold.estimate().scale;
        fold.rental.left = Size { cl100k: of_budget as usize + 1, ..Size::default() };
        assert!((fold.budget_due() - 100_000.0).abs() < 1e-9);
    }
}
