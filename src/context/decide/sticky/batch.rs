//! Moves the frontier by one batch of edits. Layer 4 acts where that is not enough, and the thinking that is bound to both
//! goes.
//!
//! A ladder leads down from each message: thinking goes, a result is cut by line, then only its marker line stays, and last
//! the call goes with its results. One pass from the oldest message to the newest takes every step that loses less than the
//! price for each token it saves. A step loses the expected later uses of what nothing else in the context shows. Where a
//! limit demands more, passes at higher prices follow until it is met.

use super::{Batch, Sticky};
use crate::context::decide::held::Held;
use crate::context::decide::line_cuts;
use crate::context::decide::verdict::Verdict;
use crate::context::decide::weights::{
    FULL_SHARE, LOW_WATER, OWN_CALL, PRICE_STEP, PRICE_STEPS, WORDS_WATER,
};
use crate::context::facts::traits::lines::Layout;
use crate::context::facts::transcript::{Body, Message};
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::shrink::{Goals, OLDER_SHARE};
use crate::context::request::layers::{Keeping, Overflow, images, shrink, thinking, tool_results, window};
use crate::context::request::plan::{KeptLines, Layer, Reason};
use crate::context::request::validity::unbound;
use crate::tokens::estimate::MESSAGE_FRAME_TOKENS;

impl Sticky {
    /// Edits until what is left is worth its tokens, and fits.
    pub(super) fn act(&mut self, verdict: Verdict) {
        let goal = self.goal();
        self.account.take_changed();
        if verdict == Verdict::ManyImages {
            images::omit_old(&mut self.account, &self.limits);
            self.settle();
            return;
        }
        let newest = self.newest();
        if self.is_reported() {
            self.drop_unsent(newest.messages);
            self.strip_closed_turns();
        } else {
            self.apply_layers(newest.messages);
        }
        images::omit_old(&mut self.account, &self.limits);
        images::fit(&mut self.account, &self.limits);
        if self.is_reported() {
            self.take_least_useful(newest, &goal);
        }
        if self.context() > goal.budget && self.limits.overflow == Overflow::Shrink {
            let estimate = self.estimate();
            let live: Vec<usize> = self.account.live().collect();
            self.show_anew(&live, |account| shrink::shrink(account, &estimate, goal.shrunk));
        }
        self.settle();
    }

    /// Takes out the thinking that is bound to what changed, and waits for growth.
    fn settle(&mut self) {
        if let Some(changed) = self.account.take_changed() {
            self.strip_unbound(changed);
        }
        (self.carried, self.left) = (0.0, self.context());
        self.wait_for_growth();
    }

    /// Strips the thinking that is bound to what stands before it, where that is sent otherwise from `changed` on.
    pub(super) fn strip_unbound(&mut self, changed: usize) {
        self.strip_bound(&unbound(&self.account, changed));
    }

    /// Strips thinking that is bound to what stood before it.
    pub(super) fn strip_bound(&mut self, thinkers: &[usize]) {
        for &index in thinkers {
            self.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
        }
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

    /// Tries a batch out and takes it back.
    pub(super) fn tried_out(&mut self, verdict: Verdict) -> Batch {
        let before = (self.carried, self.left, self.acts_above);
        self.account.begin_trial();
        self.act(verdict);
        let (plan, floor, tried) = (self.account.plan(), self.floor(), self.account.tried());
        let rewritten = tried.first().map_or(0, |&first| self.account.size_since(first).cl100k);
        let (left, acts_above) = (self.left, self.acts_above);
        let mut edits = Vec::new();
        self.show_anew(&tried, |account| edits = account.end_trial());
        self.account.take_changed();
        (self.carried, self.left, self.acts_above) = before;
        Batch { edits, plan, floor, rewritten, left, acts_above }
    }

    fn at(&self, index: usize) -> Option<(&Row, &Held)> {
        self.account.row(index).zip(self.held.get(index))
    }

    /// A failed answer is never sent, so leaving it out changes nothing on the wire.
    fn drop_unsent(&mut self, tail: usize) {
        let is_unsent = |row: &Row| {
            row.message.assistant().is_some() && !row.message.is_sent && !row.message.is_protected
        };
        let live = self.account.live_before(tail);
        for index in live.filter(|&index| self.account.row(index).is_some_and(is_unsent)).collect::<Vec<_>>()
        {
            self.set(index, Form::Gone, Layer::Window, Reason::NeverSent);
        }
    }

    /// Some models bind a thinking signature to all that precedes it, so when old messages change, the thinking after
    /// them goes too. Something old always changes, so all of it in closed turns does.
    fn strip_closed_turns(&mut self) {
        let end = self.account.last_user().unwrap_or(0);
        for index in self.thinking() {
            if index < end {
                self.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
            }
        }
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
        let keeps = self.limits.keeping == Keeping::Layers;
        let scale = self.estimate().scale;
        let states =
            if keeps { States::in_account(&self.account, &self.limits, scale) } else { States::default() };
        for index in tool_results::old(&self.account, &self.limits).to_vec() {
            if self.is_shortenable(index) && !states.keeps(index) {
                self.set(index, Form::Edited, Layer::ToolResults, Reason::OldToolResult);
            }
        }
        for index in self.thinking() {
            self.set(index, Form::Edited, Layer::Thinking, Reason::OldThinking);
        }
        for start in self.account.live_before(tail).collect::<Vec<_>>() {
            if self.context() > self.limits.threshold() && window::is_droppable(&self.account, start) {
                self.drop_group(start, Reason::OverThreshold);
            }
        }
    }

    /// Takes the steps that cost less than a token is worth. At most so many tokens stay as the goal says, whatever that
    /// loses, and the newest stay.
    fn take_least_useful(&mut self, newest: Newest, goal: &Goal) {
        let price = self.policy.price();
        if !goal.is_exact {
            self.pass(newest, price, f64::NEG_INFINITY, goal);
        }
        let raised = (0..PRICE_STEPS).map(|step| price * PRICE_STEP.powi(step));
        for price in raised.chain([f64::INFINITY]) {
            if self.context() <= goal.ladder {
                return;
            }
            self.pass(newest, price, goal.ladder, goal);
        }
    }

    /// Goes down the ladder of each group, the oldest first, as long as a step loses at most `price` for each provider token
    /// and more than `most` tokens are left.
    fn pass(&mut self, newest: Newest, price: f64, most: f64, goal: &Goal) {
        let estimate = self.estimate();
        let price = price * estimate.scale;
        // A limit outranks what is kept.
        let states = if price.is_finite() {
            States::in_account(&self.account, &self.limits, estimate.scale)
        } else {
            States::default()
        };
        let thinking = self.thinking();
        let opens = |&index: &usize| self.account.row(index).is_some_and(|row| row.group == index);
        for start in
            self.account.live_before(newest.messages.max(newest.results)).filter(opens).collect::<Vec<_>>()
        {
            // The host's own head and tail are shown once before they go, unless a limit demands more.
            let must_show =
                most.is_infinite() && self.account.group(start).any(|index| self.shows_ends(index));
            for index in self.account.group(start).collect::<Vec<_>>() {
                if estimate.tokens(self.account.sent()) <= most {
                    return;
                }
                let may_be_cut = index < newest.results && self.is_shortenable(index);
                if !states.keeps(index) && (may_be_cut || thinking.binary_search(&index).is_ok()) {
                    self.take_step(index, price, goal);
                }
            }
            let saved = self.account.group(start).filter_map(|index| self.account.row(index));
            let saved: f64 = saved.map(|row| row.tokens() as f64 + MESSAGE_FRAME_TOKENS).sum();
            if estimate.tokens(self.account.sent()) > most
                && (1..newest.messages).contains(&start)
                && !must_show
                && !states.keeps_group(start)
                && self.may_drop(start)
                && self.loss_of_group(start, states.older.contains(&start)) <= price * saved
                && !self.undershoots(saved, goal)
            {
                self.drop_group(start, self.group_reason(start));
            }
        }
    }

    /// Returns `true` of a result that is whole and of which the host named the least to show.
    fn shows_ends(&self, index: usize) -> bool {
        self.account.row(index).filter(|row| row.form() == Form::Whole).is_some_and(|row| {
            let sizes = row.message.traits.layout.as_ref().map(Layout::sizes);
            sizes.is_some_and(|sizes| sizes.least_head + sizes.least_tail > 0)
        })
    }

    fn is_shortenable(&self, index: usize) -> bool {
        let result = self.account.message(index).and_then(|message| message.tool_result());
        result.is_some_and(|result| result.shortened.is_some()) && !self.account.is_recalled_now(index)
    }

    /// Takes a step down if it loses at most `price` for each token that it saves.
    fn take_step(&mut self, index: usize, price: f64, goal: &Goal) {
        let Some((row, held)) = self.at(index) else { return };
        let Some(rest) = self.rest(row, held, price) else { return };
        let Some(saved) = row.tokens().checked_sub(rest.tokens).filter(|&saved| saved > 0) else { return };
        let loss = self.loss_between(held.shown(row), &rest.shows);
        if loss > price * saved as f64 || self.undershoots(saved as f64, goal) {
            return;
        }
        let (layer, reason) = match row.message.assistant() {
            Some(_) => (Layer::Thinking, Reason::OldThinking),
            None => (Layer::ToolResults, self.why(held)),
        };
        self.show_anew(&[index], |account| match rest.lines {
            Some(lines) => account.keep_lines(index, lines, layer, reason),
            None => account.set(index, Form::Edited, layer, reason),
        });
    }

    /// Returns `true` if no more may go than must, and a step that saves so many cl100k tokens would leave room unused.
    fn undershoots(&self, saved: f64, goal: &Goal) -> bool {
        goal.is_exact && self.context() - self.estimate().scale * saved < FULL_SHARE * goal.ladder
    }

    /// The rest of a message one rung down: the lines that are worth their tokens, else its edited form.
    fn rest(&self, row: &Row, held: &Held, price: f64) -> Option<Rest> {
        match (&row.message.traits.layout, row.form()) {
            (Some(_), Form::Whole | Form::Cut(_) | Form::Lines(_)) => {
                let lines = line_cuts::choose(row, held, &self.index, price)?;
                Some(Rest {
                    tokens: lines.tokens as usize,
                    shows: lines.numbers.to_vec(),
                    lines: Some(lines),
                })
            }
            (None, Form::Whole | Form::Cut(_)) => {
                let shows = held.kept.as_deref()?.to_vec();
                Some(Rest { tokens: row.tokens_as(Form::Edited), shows, lines: None })
            }
            _ => None,
        }
    }

    /// The loss if a message that shows `all` goes on to show only `kept`.
    fn loss_between(&self, all: &[u32], kept: &[u32]) -> f64 {
        let mut kept = kept.to_vec();
        kept.sort_unstable();
        let gone = all.iter().filter(|number| kept.binary_search(number).is_err());
        gone.map(|&number| self.index.loss(number, 1)).sum()
    }

    /// The loss with a group: what it shows, and that the agent sees what it did, if nothing newer has replaced that.
    fn loss_of_group(&self, start: usize, is_replaced: bool) -> f64 {
        let members = self.account.group(start).filter_map(|index| self.at(index));
        let mut shown: Vec<u32> = members.flat_map(|(row, held)| held.shown(row)).copied().collect();
        shown.sort_unstable();
        let calls = self.account.message(start).map_or(0, |message| message.traits.targets.len());
        let own = if is_replaced { 0.0 } else { OWN_CALL * calls as f64 };
        self.index.loss_of_all(&shown) + own
    }

    /// True if a batch may drop the group that opens at `start`.
    ///
    /// An app's words in the open turn stay: pi sends them as the user's words, and where those end the steps begin
    /// that Gemini 3 wants signed. Without it, calls of another model would be among them.
    fn may_drop(&self, start: usize) -> bool {
        let is_of_kind = self.account.message(start).is_some_and(|message| match message.body {
            Body::Assistant(_) => true,
            Body::Custom | Body::Other => self.account.last_user().is_some_and(|last| start < last),
            _ => false,
        });
        is_of_kind
            && window::is_droppable(&self.account, start)
            && !self.account.group(start).any(|index| {
                let result = self.account.message(index).and_then(|message| message.tool_result());
                result.is_some_and(|result| result.is_excluded)
            })
    }

    /// A group goes by the rule its results share, else as the least useful.
    fn group_reason(&self, start: usize) -> Reason {
        let results = self.account.group(start).skip(1).filter_map(|index| self.held.get(index));
        let mut reasons: Vec<Reason> = results.map(|held| self.why(held)).collect();
        reasons.dedup();
        if let [reason] = reasons[..] { reason } else { Reason::LeastUseful }
    }

    /// The rule by which a result goes.
    fn why(&self, held: &Held) -> Reason {
        let is_used = self.index.is_used_since(held.call, &held.numbers);
        if is_used { Reason::LeastUseful } else { Reason::NeverUsed }
    }

    fn drop_group(&mut self, start: usize, reason: Reason) {
        let group: Vec<usize> = self.account.group(start).collect();
        self.show_anew(&group, |account| account.drop_group(start, Layer::Window, reason));
    }

    fn set(&mut self, index: usize, form: Form, layer: Layer, reason: Reason) {
        self.show_anew(&[index], |account| account.set(index, form, layer, reason));
    }

    /// Changes how some messages are sent, and keeps the index of what the context shows in step.
    pub(super) fn show_anew(&mut self, changed: &[usize], change: impl FnOnce(&mut Account)) {
        let Self { account, held, index, .. } = self;
        for (row, held) in changed.iter().filter_map(|&at| account.row(at).zip(held.get(at))) {
            index.hide(held.shown(row));
        }
        change(account);
        for (row, held) in changed.iter().filter_map(|&at| account.row(at).zip(held.get(at))) {
            index.show(held.shown(row));
        }
    }
}

/// Positions from which on a batch spares what is new.
#[derive(Clone, Copy, Debug)]
struct Newest {
    /// No message is dropped.
    messages: usize,
    /// No result is cut.
    results: usize,
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

/// The rest of a message after a step down.
struct Rest {
    tokens: usize,
    /// The numbers of what it shows.
    shows: Vec<u32>,
    /// The lines, where it is cut by line.
    lines: Option<KeptLines>,
}
