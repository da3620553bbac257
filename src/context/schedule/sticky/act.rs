//! Moves the frontier: one batch, layer 4 where that is not enough, and the thinking that is bound to both.

use super::Sticky;
use crate::context::account::Form;
use crate::context::layers::{Overflow, shrink, window};
use crate::context::plan::{Layer, Reason};
use crate::context::schedule::batch::{EditBatch, show_anew};
use crate::context::schedule::verdict::Verdict;
use crate::context::schedule::weights::SHRUNK_SHARE;
use crate::context::validity::unbound;

impl Sticky {
    /// One batch, and layer 4 where that is not enough.
    pub(super) fn act(&mut self, verdict: Verdict) {
        self.account.take_changed();
        let high = self.high_water();
        // Past the high water a batch must gain room for many calls, or the next one is due at once.
        let is_full = matches!(verdict, Verdict::HighWater | Verdict::OverWindow);
        let batch = EditBatch {
            estimate: self.estimate(),
            tail: window::tail_start(&self.account, &self.limits),
            must: if is_full { f64::midpoint(self.low_water().min(high), high) } else { high },
            account: &mut self.account,
            held: &self.held,
            shown: &mut self.shown,
            policy: &self.policy,
            limits: &self.limits,
        };
        let took_all = batch.run();
        let is_over = self.context() > self.limits.budget() && self.limits.overflow == Overflow::Shrink;
        if is_over {
            self.shrink();
        }
        self.strip_unbound();
        self.carried = 0.0;
        self.refused = 0.0;
        self.left = self.context();
        self.spent = if took_all || is_over { self.left } else { 0.0 };
    }

    /// Takes out the thinking that is bound to what is sent otherwise now.
    fn strip_unbound(&mut self) {
        let Some(changed) = self.account.take_changed() else { return };
        let gone = unbound(&self.account, changed);
        show_anew(&mut self.account, &self.held, &mut self.shown, &gone, |account| {
            for &index in &gone {
                account.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
            }
        });
    }

    /// The size that layer 4 shrinks to.
    pub(super) fn shrunk_budget(&self) -> f64 {
        SHRUNK_SHARE.min(self.reports.calibration.caution()) * self.limits.budget()
    }

    fn shrink(&mut self) {
        let estimate = self.estimate();
        let budget = self.shrunk_budget();
        let live: Vec<usize> = self.account.live().collect();
        show_anew(&mut self.account, &self.held, &mut self.shown, &live, |account| {
            shrink::shrink(account, &estimate, budget);
        });
    }
}
