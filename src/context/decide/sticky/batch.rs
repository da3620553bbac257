//! Makes one batch of edits: by the ladder, then by layer 4 if that is not enough. Strips thinking bound to edited messages.

use std::sync::Arc;

use super::ladder::{Ladder, Spared};
use crate::context::decide::economy::Prices;
use crate::context::decide::fold::Fold;
use crate::context::decide::verdict::Verdict;
use crate::context::decide::view::View;
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::{Goals, large_inputs};
use crate::context::request::layers::{Overflow, images, shrink, thinking, tool_results, window};
use crate::context::request::plan::{Layer, Reason};
use crate::context::request::validity::{strip_bound, strip_unbound};
use crate::context::weights::{
    FULL_SHARE, GROWTH_SHARE, LEAST_CONTEXT, LIMIT_TIMES, LOW_WATER, OLDER_SHARE, OWN_CALL, QUARTERS,
    WORDS_WATER,
};
use crate::tokens::estimate::Estimate;

impl Fold {
    /// Edits until the rest is worth its tokens and fits.
    pub(super) fn make_batch(&mut self, verdict: Verdict) {
        self.account.take_changed();
        images::omit_old(&mut self.account, &self.limits);
        images::fit(&mut self.account, &self.limits);
        if verdict != Verdict::ManyImages {
            self.restore_user_text();
            let targets = self.targets();
            let spared = self.spared();
            if self.reports.is_reported {
                self.strip_closed_turns();
                self.go_down_ladder(&spared, &targets);
            } else {
                self.apply_layers(spared.messages, verdict);
            }
            if self.context() > targets.budget && self.limits.overflow == Overflow::Shrink {
                let estimate = self.estimate();
                shrink::shrink(&mut self.account, &estimate, targets.layer4);
            }
        }
        strip_unbound(&mut self.account);
    }

    /// The target sizes of a batch.
    fn targets(&self) -> Targets {
        let budget = self.limits.budget();
        if let Some(room) = self.reports.calibration.room_within(&self.limits) {
            return Targets {
                ladder: vec![room],
                budget: room,
                layer4: Goals::least(room),
                is_short: self.is_short(),
                is_exact: true,
            };
        }
        let (estimate, limit) = (self.estimate(), self.limit());
        let (fixed, largest) = self.fixed();
        let fixed = estimate.base + estimate.scale * fixed as f64;
        // Room for messages that the ladder edits: the limit less the fixed ones. If those exceed the limit, the room is the limit
        // less prompt and tools.
        let room = if fixed > limit { (limit - estimate.base).max(0.0) } else { limit - fixed };
        let least = fixed + OLDER_SHARE * room;
        // Above a limit, a batch must make room for several calls if it costs a rewrite.
        let must_gain = self.context() > limit && self.prices().rewrite(1.0) > 0.0;
        let (mut ladder, low) = if must_gain {
            let largest_target = least.max((1.0 - GROWTH_SHARE) * limit);
            let targets = QUARTERS.map(|quarter| (fixed + quarter * room).min(largest_target));
            (targets.to_vec(), self.low_water())
        } else {
            (vec![limit.max(least)], limit)
        };
        ladder.dedup();
        let is_alone = estimate.base + estimate.scale * largest as f64 > low;
        let full = estimate.base + FULL_SHARE * (budget - estimate.base).max(0.0);
        let (others, words) = if is_alone { (full, full) } else { (low, WORDS_WATER * budget) };
        let most = self.limits.most_words();
        // Cut to the low water beside much user text, a new result would say nothing, and the model would ask for it again.
        let half_free = f64::midpoint(estimate.base + estimate.scale * self.words() as f64, most);
        let newest = full.max(others).max(half_free.min(FULL_SHARE * most));
        let layer4 = Goals { most, others, words, newest };
        Targets { ladder, budget, layer4, is_short: must_gain && self.is_short(), is_exact: false }
    }

    /// cl100k tokens of the groups that the ladder does not drop: user text, answers that the order of turns keeps, large inputs,
    /// and all from the last exchange on. Returns the sum and the largest.
    fn fixed(&self) -> (usize, usize) {
        let Self { account, .. } = self;
        let last = self.last_exchange();
        let inputs = self.large_inputs();
        let is_fixed = |&index: &usize| {
            let opens = account.row(index).filter(|row| row.group == index);
            let stays = || inputs.contains(&index) || account.is_bound(index);
            opens.is_some_and(|row| index >= last || row.message.is_user() || stays())
        };
        let of_group = |start: usize| {
            let stub = account.stub(start).filter(|_| start < last);
            let left =
                |row: &Row| stub.as_ref().map_or(row.tokens(), |stub| row.tokens_as(stub).min(row.tokens()));
            account.group(start).filter_map(|index| account.row(index)).map(left).sum()
        };
        let sizes: Vec<usize> = account.live().filter(is_fixed).map(of_group).collect();
        (sizes.iter().sum(), sizes.iter().copied().max().unwrap_or(0))
    }

    /// cl100k tokens of user text and system messages before the last group.
    fn words(&self) -> usize {
        let before = self.account.live_before(self.account.last_group());
        let rows = before.filter_map(|index| self.account.row(index));
        rows.filter(|row| row.message.is_user() || row.message.is_system()).map(Row::tokens).sum()
    }

    /// Restores the user text that layer 4 removed, if all of it fits beside the other fixed groups now: one large message must
    /// not cost the task for good.
    pub(super) fn restore_user_text(&mut self) {
        // If the sides must alternate, the answer to a dropped message would have to come back, too.
        let may_return = !self.account.alternates();
        let is_short = |row: &Row| match row.form() {
            Form::Cut(_) => true,
            Form::Gone => may_return && row.sent.layer == Layer::Shrink,
            _ => false,
        };
        let rows = self.account.rows().iter().enumerate();
        let short = rows.filter(|(_, row)| row.message.is_user() && is_short(row));
        let short: Vec<usize> = short.map(|(index, _)| index).collect();
        if short.is_empty() || self.reports.calibration.room.is_some() {
            return;
        }
        let mark = self.account.mark();
        for &index in &short {
            self.account.send_whole(index);
        }
        let estimate = self.estimate();
        if estimate.base + estimate.scale * self.fixed().0 as f64 > self.limit() {
            self.account.go_back(mark);
        }
    }

    /// The first positions that a batch does not edit, by the host's options. Above a limit it spares only the last group.
    fn spared(&self) -> Spared {
        let Self { account, limits, .. } = self;
        let inputs = self.large_inputs();
        if self.reports.is_reported && self.context() > self.limit() {
            let last = self.last_exchange();
            return Spared { messages: last, results: last, thinking: last, images: last, inputs };
        }
        Spared {
            messages: window::tail_start(account, limits),
            results: tool_results::old_before(account, limits),
            thinking: thinking::old_before(account, limits),
            // The older ones are omitted already.
            images: 0,
            inputs,
        }
    }

    /// Index at which the last exchange opens. If it takes more than half of the room, its answer does not belong to it.
    fn last_exchange(&self) -> usize {
        self.account.last_exchange(LOW_WATER * self.limit_room() / self.estimate().scale)
    }

    fn large_inputs(&self) -> Vec<usize> {
        large_inputs(&self.account, self.limit_room() / self.estimate().scale)
    }

    /// Strips the thinking of closed turns. Some models bind it to its prefix, and a batch always changes an old message.
    fn strip_closed_turns(&mut self) {
        let end = self.account.last_user().unwrap_or(0);
        let closed: Vec<usize> = self.thinking().into_iter().filter(|&index| index < end).collect();
        strip_bound(&mut self.account, &closed);
    }

    /// Messages that still have thinking and that layer 2 may strip.
    fn thinking(&self) -> Vec<usize> {
        let Self { account, limits, .. } = self;
        let (end, step) = (thinking::old_before(account, limits), thinking::step_under_way(account));
        let still_has_it = |&index: &usize| {
            account.row(index).is_some_and(|row| *row.form() == Form::Whole && row.message.is_sent)
                && thinking::is_strippable(account, index, step)
        };
        account.live_before(end).filter(still_has_it).collect()
    }

    /// Applies layers 1 to 3 as documented, while no usage was reported. If a limit demands the batch, the window slides on
    /// to the low water, so that the next messages do not reach the limit at once.
    fn apply_layers(&mut self, tail: usize, verdict: Verdict) {
        let scale = self.estimate().scale;
        let states = States::asked_for(&self.account, &self.limits, scale);
        for index in tool_results::old(&self.account, &self.limits).to_vec() {
            if !states.keeps(index) {
                tool_results::shorten(&mut self.account, index);
            }
        }
        for index in self.thinking() {
            thinking::strip(&mut self.account, index);
        }
        let low = match verdict {
            Verdict::Unreported => self.limits.threshold(),
            _ => self.low_water(),
        };
        for start in self.account.live_before(tail).collect::<Vec<_>>() {
            if self.context() > low && window::is_droppable(&self.account, start) {
                self.account.drop_group(start, Layer::Window, Reason::OverThreshold);
            }
        }
    }

    /// Makes the batch that costs least per token of room. It tries each start with each target and undoes it.
    fn go_down_ladder(&mut self, spared: &Spared, targets: &Targets) {
        Arc::make_mut(&mut self.index).catch_up(&self.account);
        let (estimate, attempts, thinking) =
            (self.estimate(), self.attempts(spared, targets), self.thinking());
        let states = States::in_account(&self.account, &self.limits, estimate.scale);
        let (prices, economy, context) = (self.prices(), self.policy.economy, self.context());
        // Expected later uses that a token must be worth to stay, and input tokens that a lost use costs.
        let (price, lost_use) =
            (1.0 / economy, if targets.is_short { LIMIT_TIMES * economy } else { economy });
        // If room is short, uses count only until new messages fill the room, calls have no worth of their own, and the batch
        // removes no more than it must.
        let (ahead, own_call) =
            if targets.is_short { (self.turnover(), 0.0) } else { (f64::INFINITY, OWN_CALL) };
        let Self { account, index, .. } = self;
        let view = View::of(index, account, ahead);
        let take_steps = |account: &mut Account, Attempt { start, target }: Attempt| {
            // If the batch may remove only what it must, each step leaves at least this.
            let floor = if targets.is_exact { FULL_SHARE * target } else { 0.0 };
            let (view, thinking, states) = (view.clone(), &thinking, &states);
            let mut ladder = Ladder {
                account,
                view,
                estimate,
                spared,
                thinking,
                states,
                floor,
                own_call,
                start,
                lost: 0.0,
            };
            if !targets.is_exact && !targets.is_short {
                ladder.pass(price, None);
            }
            ladder.go_down_to(target, price);
            ladder.lost
        };
        let mark = account.mark();
        // Cost of an attempt per token of room: the rewrite and the lost uses. Infinite if it leaves more than its target.
        let costs = attempts.iter().map(|&attempt| {
            let lost = lost_use * take_steps(account, attempt);
            let left = estimate.tokens(account.sent());
            let rewrite = prices.rewrite(rewritten_tokens(account, &estimate, prices));
            account.go_back(mark);
            let is_enough = left <= attempt.target;
            let cost = if is_enough { (rewrite + lost) / (context - left).max(1.0) } else { f64::INFINITY };
            (cost, attempt)
        });
        let cheapest = match attempts[..] {
            [only] => Some(only),
            _ => costs.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, attempt)| attempt),
        };
        if let Some(attempt) = cheapest {
            take_steps(account, attempt);
        }
    }

    /// The batches to try. At a limit a batch may start at the front or after each quarter of the request: a later start
    /// rewrites less.
    fn attempts(&self, spared: &Spared, targets: &Targets) -> Vec<Attempt> {
        let starts = if targets.ladder.len() > 1 { self.starts(spared) } else { vec![0] };
        let at = |start| targets.ladder.iter().map(move |&target| Attempt { start, target });
        starts.into_iter().flat_map(at).collect()
    }

    /// Positions at which a batch may start.
    fn starts(&self, spared: &Spared) -> Vec<usize> {
        let (mut starts, mut passed) = (vec![0], 0);
        let all = self.account.sent().cl100k as f64;
        let rows = self.account.live_before(spared.messages);
        for (index, row) in rows.filter_map(|index| Some((index, self.account.row(index)?))) {
            let due = QUARTERS.get(starts.len() - 1).is_some_and(|quarter| passed as f64 >= quarter * all);
            if due && row.group == index {
                starts.push(index);
            }
            passed += row.tokens();
        }
        starts
    }

    /// Returns `true` if a quarter of the room is less than [`LEAST_CONTEXT`].
    fn is_short(&self) -> bool {
        let [quarter, ..] = QUARTERS;
        quarter * self.limit_room() < LEAST_CONTEXT
    }

    /// Number of calls whose messages fill the room of a request.
    fn turnover(&self) -> f64 {
        let growth =
            self.estimate().scale * self.account.raw().cl100k as f64 / f64::from(self.index.calls.max(1));
        self.limit_room() / growth.max(1.0)
    }

    /// Provider tokens that a batch at a limit leaves.
    fn low_water(&self) -> f64 {
        self.estimate().base + LOW_WATER * self.limit_room()
    }

    /// Provider tokens below the limit for messages.
    fn limit_room(&self) -> f64 {
        (self.limit() - self.estimate().base).max(0.0)
    }
}

/// Provider tokens that the tried batch writes to the cache again.
pub(super) fn rewritten_tokens(account: &Account, estimate: &Estimate, prices: Prices) -> f64 {
    // A cache that charges for writing serves only whole earlier requests: a change in the middle rewrites all messages.
    if prices.write > 1.0 {
        estimate.tokens(account.sent()) - estimate.base
    } else {
        estimate.scale * account.rewritten().cl100k as f64
    }
}

/// A batch to try.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// The first position that it edits.
    start: usize,
    /// Most provider tokens that it leaves. To reach that, steps may lose more than their tokens are worth.
    target: f64,
}

/// Target sizes of a batch, in provider tokens.
struct Targets {
    /// Targets to try for the ladder, ascending.
    ladder: Vec<f64>,
    /// Most that may be sent.
    budget: f64,
    /// Targets for layer 4, if the ladder leaves more than the budget.
    layer4: Goals,
    /// True if a limit demands the batch and leaves little room.
    is_short: bool,
    /// True if only what is needed may go.
    is_exact: bool,
}
