//! Moves the frontier by one batch of edits: the ladder, then layer 4 where that is not enough. The thinking that is bound to
//! both goes.

use super::ladder::{Ladder, Newest};
use crate::context::decide::economy::Prices;
use crate::context::decide::fold::Fold;
use crate::context::decide::index::View;
use crate::context::decide::verdict::Verdict;
use crate::context::facts::transcript::Message;
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::Goals;
use crate::context::request::layers::{Overflow, images, shrink, thinking, tool_results, window};
use crate::context::request::plan::{Layer, Reason};
use crate::context::request::validity::{strip_bound, strip_unbound};
use crate::context::weights::{
    FULL_SHARE, GROWTH_SHARE, LEAST_CONTEXT, LIMIT_TIMES, LOW_WATER, OLDER_SHARE, OWN_CALL, QUARTERS,
    WORDS_WATER,
};
use crate::tokens::estimate::Estimate;

impl Fold {
    /// Edits until what is left is worth its tokens, and fits.
    pub(super) fn act(&mut self, verdict: Verdict) {
        self.account.take_changed();
        images::omit_old(&mut self.account, &self.limits);
        if verdict != Verdict::ManyImages {
            let goal = self.goal();
            let newest = self.newest();
            if self.is_reported() {
                self.strip_closed_turns();
                images::fit(&mut self.account, &self.limits);
                self.take_least_useful(newest, &goal);
            } else {
                self.apply_layers(newest.messages);
                images::fit(&mut self.account, &self.limits);
            }
            if self.context() > goal.budget && self.limits.overflow == Overflow::Shrink {
                let estimate = self.estimate();
                shrink::shrink(&mut self.account, &estimate, goal.shrunk);
            }
        }
        strip_unbound(&mut self.account);
    }

    /// The sizes that a batch goes down to.
    fn goal(&self) -> Goal {
        let budget = self.limits.budget();
        if let Some(room) = self.reports.calibration.room() {
            // A default reserve gives way: the next request goes to the endpoint's own limit, nearly.
            let room = if self.limits.reserve_tokens.is_some() { room.min(budget) } else { room };
            return Goal {
                ladders: vec![room],
                budget: room,
                shrunk: Goals::least(room),
                is_short: self.is_short(),
                is_exact: true,
            };
        }
        let (estimate, limit) = (self.estimate(), self.limit());
        let room = (budget - estimate.base).max(0.0);
        let (staying, largest) = self.staying();
        // What is older need not leave for what stays to have all the room: it shares what a batch wins, or the room where what
        // stays is cut, too.
        let staying = estimate.base + estimate.scale * staying as f64;
        let shared = if staying > limit { room } else { limit - staying };
        let least = staying + OLDER_SHARE * shared;
        // Past a limit a batch must gain room for many calls where each costs a rewrite, or the next one is due at once.
        let must_gain = self.context() > limit && self.prices().rewrite(1.0) > 0.0;
        let (mut ladders, low) = if must_gain {
            let most = least.max((1.0 - GROWTH_SHARE) * limit);
            let ladders = QUARTERS.map(|quarter| (staying + quarter * shared).min(most));
            (ladders.to_vec(), estimate.base + LOW_WATER * self.limit_room())
        } else {
            (vec![limit.max(least)], limit)
        };
        ladders.dedup();
        let is_alone = estimate.base + estimate.scale * largest as f64 > low;
        let full = estimate.base + FULL_SHARE * room;
        let (others, words) = if is_alone { (full, full) } else { (low, WORDS_WATER * budget) };
        let shrunk = Goals { most: self.limits.most_words(), others, words };
        Goal { ladders, budget, shrunk, is_short: must_gain && self.is_short(), is_exact: false }
    }

    /// cl100k tokens of what the ladder does not take, people's words and the last group, and of the largest of these.
    fn staying(&self) -> (usize, usize) {
        let last = self.account.last_group();
        let of_group = |start| {
            self.account.group(start).filter_map(|index| self.account.row(index)).map(Row::tokens).sum()
        };
        let is_users = |&index: &usize| self.account.message(index).is_some_and(Message::is_user);
        let users = self.account.live_before(last).filter(is_users);
        let sizes: Vec<usize> = users.chain([last]).map(of_group).collect();
        (sizes.iter().sum(), sizes.iter().copied().max().unwrap_or(0))
    }

    /// What a batch spares for being new: as many messages and results as the host says. Where a limit bites, worth alone tells
    /// what stays of what stands before the last group.
    fn newest(&self) -> Newest {
        if self.is_reported() && self.context() > self.limit() {
            let last = self.account.last_group();
            return Newest { messages: last, results: last };
        }
        let results = tool_results::old_before(&self.account, &self.limits);
        Newest { messages: window::tail_start(&self.account, &self.limits), results }
    }

    /// Some models bind a thinking signature to all that precedes it, so when old messages change, the thinking after
    /// them goes too. Something old always changes, so all of it in closed turns does.
    fn strip_closed_turns(&mut self) {
        let end = self.account.last_user().unwrap_or(0);
        let closed: Vec<usize> = self.thinking().into_iter().filter(|&index| index < end).collect();
        strip_bound(&mut self.account, &closed);
    }

    /// Messages that layer 2 lets lose their thinking and that still have it.
    fn thinking(&self) -> Vec<usize> {
        let Self { account, limits, .. } = self;
        let (end, step) = (thinking::old_before(account, limits), thinking::step_under_way(account));
        let still_has_it = |&index: &usize| {
            account.row(index).is_some_and(|row| row.form() == Form::Whole && row.message.is_sent)
                && thinking::is_strippable(account, index, step)
        };
        account.live_before(end).filter(still_has_it).collect()
    }

    /// Layers 1 to 3 as they are documented: nothing is known of a bill.
    fn apply_layers(&mut self, tail: usize) {
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
        for start in self.account.live_before(tail).collect::<Vec<_>>() {
            if self.context() > self.limits.threshold() && window::is_droppable(&self.account, start) {
                self.account.drop_group(start, Layer::Window, Reason::OverThreshold);
            }
        }
    }

    /// Makes the batch that costs least for the room it wins. Each way to make it is worked out, and taken back.
    fn take_least_useful(&mut self, newest: Newest, goal: &Goal) {
        self.fill_index();
        let (estimate, ways, thinking) = (self.estimate(), self.ways(newest, goal), self.thinking());
        let states = States::in_account(&self.account, &self.limits, estimate.scale);
        let (price, cost) = (self.policy.price(), self.cost(goal));
        // Where room is short nothing stays longer than the room takes to be filled anew, a call is worth less than its room, and
        // only what must go goes.
        let (ahead, own_call) =
            if goal.is_short { (self.turnover(), 0.0) } else { (f64::INFINITY, OWN_CALL) };
        let Self { account, held, index, .. } = self;
        let view = View::of(index, account, held, ahead);
        let take_steps = |account: &mut Account, Way { from, most }: Way| {
            // Where no more may go than must, each step leaves this much at least.
            let least = if goal.is_exact { FULL_SHARE * most } else { 0.0 };
            let (view, thinking, states) = (view.clone(), &thinking, &states);
            let mut ladder = Ladder {
                account,
                held,
                view,
                estimate,
                newest,
                thinking,
                states,
                least,
                own_call,
                from,
                lost: 0.0,
            };
            if !goal.is_exact && !goal.is_short {
                ladder.pass(price, f64::NEG_INFINITY);
            }
            ladder.go_down_to(most, price);
            ladder.lost
        };
        let mark = account.mark();
        let costs = ways.iter().map(|&way| {
            let lost = take_steps(account, way);
            let cost = cost.of(account, lost, way.most);
            account.go_back(mark);
            (cost, way)
        });
        let best = match ways[..] {
            [only] => Some(only),
            _ => costs.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, way)| way),
        };
        if let Some(way) = best {
            take_steps(account, way);
        }
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

    /// The ways to make a batch: at a limit it may start at the front or behind a quarter of what is sent. The later it starts, the
    /// less is rewritten.
    fn ways(&self, newest: Newest, goal: &Goal) -> Vec<Way> {
        let starts = if goal.ladders.len() > 1 { self.starts(newest) } else { vec![0] };
        let of_start = |from| goal.ladders.iter().map(move |&most| Way { from, most });
        starts.into_iter().flat_map(of_start).collect()
    }

    /// Positions that a batch may start at.
    fn starts(&self, newest: Newest) -> Vec<usize> {
        let (mut starts, mut passed) = (vec![0], 0);
        let all = self.account.sent().cl100k as f64;
        let rows = self.account.live_before(newest.messages);
        for (index, row) in rows.filter_map(|index| Some((index, self.account.row(index)?))) {
            let due = QUARTERS.get(starts.len() - 1).is_some_and(|quarter| passed as f64 >= quarter * all);
            if due && row.group == index {
                starts.push(index);
            }
            passed += row.tokens();
        }
        starts
    }

    /// What a batch of the request as it is costs.
    fn cost(&self, goal: &Goal) -> Cost {
        let (prices, economy) = (self.prices(), self.policy.economy);
        let lost_use = if goal.is_short { LIMIT_TIMES * economy } else { economy };
        Cost { prices, lost_use, estimate: self.estimate(), context: self.context() }
    }

    /// Returns `true` if a quarter of the room does not hold what an agent lives by.
    fn is_short(&self) -> bool {
        let [quarter, ..] = QUARTERS;
        quarter * self.limit_room() < LEAST_CONTEXT
    }

    /// Calls whose messages fill the room of a request.
    fn turnover(&self) -> f64 {
        let growth = self.estimate().scale * self.account.raw().cl100k as f64 / f64::from(self.calls.max(1));
        self.limit_room() / growth.max(1.0)
    }

    /// Provider tokens below the limit for messages.
    fn limit_room(&self) -> f64 {
        (self.limit() - self.estimate().base).max(0.0)
    }
}

/// Provider tokens that the batch on trial writes to the cache again.
pub(super) fn rewritten_tokens(account: &Account, estimate: &Estimate, prices: Prices) -> f64 {
    if prices.holds_whole_requests() {
        estimate.tokens(account.sent()) - estimate.base
    } else {
        estimate.scale * account.rewritten().cl100k as f64
    }
}

/// A way to make a batch.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The first position that it edits.
    from: usize,
    /// It takes steps that lose more than a token is worth only as long as more provider tokens than this are left.
    most: f64,
}

/// What the cost of a batch depends on.
#[derive(Clone, Copy, Debug)]
struct Cost {
    prices: Prices,
    /// Input tokens that a lost use costs.
    lost_use: f64,
    estimate: Estimate,
    /// Provider tokens before the batch.
    context: f64,
}

impl Cost {
    /// Cost of the batch that was made, for each token of room that it wins, in input tokens: for what is rewritten and for the
    /// uses that are lost. Infinite where more than `most` tokens are left.
    fn of(&self, account: &Account, lost: f64, most: f64) -> f64 {
        let Self { prices, lost_use, estimate, context } = self;
        let left = estimate.tokens(account.sent());
        if left > most {
            return f64::INFINITY;
        }
        let won = (context - left).max(1.0);
        let rewritten = rewritten_tokens(account, estimate, *prices);
        (prices.rewrite(rewritten) + lost_use * lost) / won
    }
}

/// Sizes in provider tokens that a batch goes down to.
struct Goal {
    /// Most that the ladder leaves, whatever that loses: one of these, ascending.
    ladders: Vec<f64>,
    /// Most that may be sent.
    budget: f64,
    /// Sizes that layer 4 goes down to where the ladder leaves more than that.
    shrunk: Goals,
    /// True if a limit demands the batch and leaves little room.
    is_short: bool,
    /// True if no more may go than must.
    is_exact: bool,
}
