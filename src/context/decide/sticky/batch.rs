//! Moves the frontier by one batch of edits: the ladder, then layer 4 where that is not enough. The thinking that is bound to
//! both goes.

use super::Sticky;
use super::ladder::{Ladder, Newest};
use crate::context::decide::index::View;
use crate::context::decide::verdict::Verdict;
use crate::context::facts::transcript::Message;
use crate::context::request::account::{Form, Row};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::Goals;
use crate::context::request::layers::{Overflow, images, shrink, thinking, tool_results, window};
use crate::context::request::plan::{Layer, Reason};
use crate::context::request::validity::{strip_bound, strip_unbound};
use crate::context::weights::{FULL_SHARE, LOW_WATER, OLDER_SHARE, WORDS_WATER};

impl Sticky {
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
            return Goal { ladder: room, budget: room, shrunk: Goals::least(room), is_exact: true };
        }
        // Past a limit a batch must gain room for many calls where each costs a rewrite, or the next one is due at once.
        let must_gain = self.context() > self.limit() && self.priced().prices.rewrite(1.0) > 0.0;
        let (estimate, limit) = (self.estimate(), self.limit());
        let low =
            if must_gain { estimate.base + LOW_WATER * (limit - estimate.base).max(0.0) } else { limit };
        let room = (budget - estimate.base).max(0.0);
        let (staying, largest) = self.staying();
        // Where what stays is too large for the low water, what is older need not leave for it to have all the room: it shares
        // what a batch wins, or the room where what stays is cut, too.
        let staying = estimate.base + estimate.scale * staying as f64;
        let shared = if staying > limit { room } else { limit - staying };
        let ladder = low.max(staying + OLDER_SHARE * shared);
        let is_alone = estimate.base + estimate.scale * largest as f64 > low;
        let full = estimate.base + FULL_SHARE * room;
        let (others, words) = if is_alone { (full, full) } else { (low, WORDS_WATER * budget) };
        let shrunk = Goals { most: self.limits.most_words(), others, words };
        Goal { ladder, budget, shrunk, is_exact: false }
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
        let old = tool_results::old(&self.account, &self.limits);
        let results = old.last().map_or(0, |newest| newest + 1);
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
            if tool_results::is_shortenable(&self.account, index) && !states.keeps(index) {
                self.account.set(index, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
            }
        }
        for index in self.thinking() {
            self.account.set(index, Form::Edited, Layer::Thinking, Reason::OldThinking);
        }
        for start in self.account.live_before(tail).collect::<Vec<_>>() {
            if self.context() > self.limits.threshold() && window::is_droppable(&self.account, start) {
                self.account.drop_group(start, Layer::Window, Reason::OverThreshold);
            }
        }
    }

    /// Takes the steps that cost less than a token is worth; those that cost more only where a limit demands it, and the newest
    /// stay.
    fn take_least_useful(&mut self, newest: Newest, goal: &Goal) {
        let (estimate, thinking) = (self.estimate(), self.thinking());
        let states = States::in_account(&self.account, &self.limits, estimate.scale);
        self.fill_index();
        let view = View::of(&self.index, &self.account, &self.held);
        // Where no more may go than must, each step leaves this much at least.
        let least = if goal.is_exact { FULL_SHARE * goal.ladder } else { 0.0 };
        let Self { account, held, .. } = self;
        let mut ladder = Ladder { account, held, view, estimate, newest, thinking, states, least };
        let price = self.policy.price();
        if !goal.is_exact {
            ladder.pass(price, f64::NEG_INFINITY);
        }
        ladder.go_down_to(goal.ladder, price);
    }
}

/// Sizes in provider tokens that a batch goes down to.
struct Goal {
    /// Most that the ladder leaves, whatever that loses.
    ladder: f64,
    /// Most that may be sent.
    budget: f64,
    /// Sizes that layer 4 goes down to where the ladder leaves more than that.
    shrunk: Goals,
    /// True if no more may go than must.
    is_exact: bool,
}
