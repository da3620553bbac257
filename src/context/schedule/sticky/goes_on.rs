//! Lets the fold go on where something changes under it: the list, by its host, or the limits and prices.

use super::{Next, Sticky};
use crate::context::account::Account;
use crate::context::layers::Limits;
use crate::context::schedule::batch::show_anew;
use crate::context::schedule::economy::{Policy, scale_of};
use crate::context::schedule::reports::answer_to_last;
use crate::context::schedule::verdict::{Arithmetic, Verdict};
use crate::context::transcript::Transcript;

impl Sticky {
    /// Sets what the host says of its model now. What is frozen stays as it is: only what is decided next goes by it.
    pub fn set_terms(&mut self, policy: Policy, limits: &Limits) {
        if self.asked != policy {
            let learned = self.policy.prices;
            (self.asked, self.policy) = (policy, policy);
            if policy.learns_prices {
                self.policy.prices = learned;
            } else if policy.learns_ttl {
                self.policy.prices.ttl_seconds = learned.ttl_seconds;
            }
        }
        if self.limits != *limits {
            let low = policy.low_water(scale_of(limits.context_window));
            // Under a wider window no batch has settled anything yet; under a narrower one the next need not wait for growth.
            let is_wider = limits.context_window > self.limits.context_window;
            self.settled = if is_wider { self.settled.max(low) } else { self.settled.min(low) };
            (self.spent, self.refused) = (0.0, 0.0);
            self.limits = limits.clone();
        }
    }

    /// Goes on with a list that its host rewrote from `at` on. What stands before that is sent as it was; from there on
    /// nothing is decided yet. The calls answered before `known` were taken in already.
    pub fn rewrite(&mut self, transcript: &Transcript, at: usize, known: usize) {
        let lived = self.next.take().filter(|next| next.at == self.held.len());
        let lived = lived.zip(answer_to_last(&self.account, transcript, known));
        let rhythm = self.rhythm;
        if let Some((of, _)) = &lived {
            self.take_decided(of.arithmetic);
        }
        let mut next = Self { policy: self.policy, ..Self::new(self.asked, self.limits.clone()) };
        (next.reports, next.rhythm) = (std::mem::take(&mut self.reports), rhythm);
        next.reports.goes_on(known);
        for (index, message) in transcript.messages().iter().enumerate().take(known) {
            if message.assistant().is_some() {
                next.shown.tick();
            }
            next.enter(index, message, transcript);
        }
        next.freeze(&self.account, at);
        next.next = lived.map(|(of, at)| Next {
            at,
            arithmetic: Arithmetic { verdict: Verdict::Wait, ..of.arithmetic },
            ..of
        });
        *self = next;
    }

    /// Sends the messages before `end` as `before` does.
    fn freeze(&mut self, before: &Account, end: usize) {
        let frozen: Vec<usize> = self.account.same_as(before, end).collect();
        let Self { account, held, shown, .. } = self;
        show_anew(account, held, shown, &frozen, |account| account.send_as(before, &frozen));
        self.account.take_oldest_touched();
        self.account.take_changed();
    }
}
