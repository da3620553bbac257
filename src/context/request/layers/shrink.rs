//! Layer 4, never over the window: removes the least harmful content first, until the request fits.
//! 1. It cuts tool results to the largest head and tail that fit: the older ones, down to a share of the room, then those of the
//!    last group and large new inputs of apps and shells, then closing answers that may not be dropped alone.
//! 2. It drops other groups, oldest first, but no user message, the last group, the newest message, or what is new to the model.
//! 3. It omits old images.
//! 4. It cuts user text, the longest first, and drops it only if that is not enough.
//!
//! The last exchange, the question with the answer before it, stays whole where it fits.

use super::images;
use super::window::is_removable;
use crate::context::facts::cuts::MIN_CUT_TOKENS;
use crate::context::facts::transcript::Message;
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::plan::{Layer, Reason};
use crate::context::weights::OLDER_SHARE;
use crate::tokens::estimate::{Estimate, Size};

/// Smallest size, in cl100k tokens, that user text is cut to before old messages are dropped: a shorter one says too little.
const LEAST_WORDS: u32 = 10 * MIN_CUT_TOKENS;

/// Target sizes of a request, in provider tokens.
#[derive(Clone, Copy, Debug)]
pub struct Goals {
    /// Above this size user text is cut.
    pub most: f64,
    /// Target when results are cut and groups dropped.
    pub others: f64,
    /// Target when user text is cut.
    pub words: f64,
    /// Target when results are cut that the model has not seen.
    pub newest: f64,
}

impl Goals {
    /// Goals that free no more than needed.
    pub const fn least(budget: f64) -> Self {
        Self { most: budget, others: budget, words: budget, newest: budget }
    }
}

/// Positions of the large texts that an app or the user's shell wrote since the last answer, in a request that has room for
/// `room` cl100k tokens. Like new results they are cut, not dropped.
pub fn large_inputs(account: &Account, room: f64) -> Vec<usize> {
    let is_large = |message: &Message| {
        message.tokens as f64 > OLDER_SHARE * room && !message.is_user() && !message.is_tool_result()
    };
    let new = account.seen_end()..account.rows().len();
    new.filter(|&index| account.message(index).is_some_and(is_large)).collect()
}

/// Edits until `account` fits, or only the irreducible rest is left.
pub fn shrink(account: &mut Account, estimate: &Estimate, goals: Goals) {
    let budget = goals.others;
    let most = (goals.others.max(goals.words) - estimate.base) / estimate.scale;
    let (exchange, seen) = (account.last_exchange(most), account.seen_end());
    let mut room = Room { account, estimate, budget, exchange };
    let last = room.account.last_group();
    let tokens = (budget - estimate.base) / estimate.scale;
    let (inputs, share) = (large_inputs(room.account, tokens), OLDER_SHARE * tokens);
    let is_newest = |account: &Account, index| account.row(index).is_some_and(|row| row.group >= last);
    let is_result = |account: &Account, index| account.message(index).is_some_and(Message::is_tool_result);
    let is_users = |account: &Account, index| account.message(index).is_some_and(Message::is_user);
    let older = room.cuttable(|account, index| is_result(account, index) && !is_newest(account, index));
    let newest = room.cuttable(|account, index| {
        (is_result(account, index) && is_newest(account, index)) || inputs.contains(&index)
    });
    // If the sides must alternate, dropping a closing answer also drops the user message that it answers.
    let may_go = |account: &Account, start| {
        let stays = |&index: &usize| is_users(account, index) || inputs.contains(&index);
        is_seen(account, start, seen) && !account.leaving(start).iter().any(stays)
    };
    let cut: usize = older.iter().chain(&newest).map(|&index| room.gain(index, MIN_CUT_TOKENS)).sum();
    // If cuts are not enough, but dropping groups is, groups are dropped first.
    if !room.fits(cut) && room.fits(cut + room.droppable(may_go)) {
        room.drop_groups(may_go);
    }
    room.cut(&older, (share / older.len().max(1) as f64) as u32);
    room.budget = goals.newest;
    room.cut(&newest, MIN_CUT_TOKENS);
    room.budget = budget;
    room.cut(&older, MIN_CUT_TOKENS);
    let bound = room.cuttable(|account, index| index < last && account.stub(index).is_some());
    room.cut(&bound, MIN_CUT_TOKENS);
    // If user text must be cut anyway, other groups are dropped only if they free much.
    let rest = room.droppable(may_go);
    if room.fits_in(goals.most, rest) || rest as f64 > share {
        room.drop_groups(may_go);
    }
    room.budget = goals.most;
    if room.fits(0) {
        return;
    }
    let budget = goals.others;
    images::omit_answered(room.account, |account| estimate.tokens(account.sent()) <= budget);
    if room.fits(0) {
        return;
    }
    room.cut_words(goals, seen, may_go);
}

/// Returns `true` if the model has seen all that is dropped with the group that opens at `start`.
fn is_seen(account: &Account, start: usize, seen: usize) -> bool {
    account.leaving(start).iter().all(|&index| index < seen)
}

struct Room<'a> {
    account: &'a mut Account,
    estimate: &'a Estimate,
    budget: f64,
    /// The answer that the question may be about.
    exchange: usize,
}

impl Room<'_> {
    /// Cuts the words of people and apps. The last exchange stays whole if it fits beside prompt and tools: earlier messages, and
    /// what the model has `seen`, are dropped first.
    fn cut_words(&mut self, goals: Goals, seen: usize, may_go: impl Fn(&Account, usize) -> bool) {
        let said = self.cuttable(|account, index| {
            account.message(index).is_some_and(|of| !of.is_tool_result() && of.assistant().is_none())
        });
        let Estimate { base, scale, .. } = *self.estimate;
        let (exchange, question) = (self.exchange, self.account.last_user());
        let alone = base + scale * self.account.tokens_from(exchange) as f64;
        let most = goals.others.max(goals.words);
        let stays = alone <= most;
        self.budget = if alone > goals.words { most } else { goals.words };
        let is_newest = |index| if stays { index >= exchange } else { Some(index) == question };
        let (newest, older): (Vec<usize>, Vec<usize>) = said.iter().partition(|&&index| is_newest(index));
        self.cut(&older, LEAST_WORDS);
        if !stays {
            // The question must be cut anyway, and small messages before it take little room.
            self.cut(&newest, ((goals.others - base) / scale / 2.0) as u32);
        }
        self.drop_groups(may_go);
        self.drop_groups(|account, start| !stays || is_seen(account, start, seen));
        self.cut(&older, MIN_CUT_TOKENS);
        self.budget = if stays { goals.most.max(most) } else { most };
        self.exchange = usize::MAX;
        self.drop_groups(|_, _| true);
        self.cut(&said, MIN_CUT_TOKENS);
    }

    fn fits(&self, saved: usize) -> bool {
        self.fits_in(self.budget, saved)
    }

    fn fits_in(&self, budget: f64, saved: usize) -> bool {
        let sent = self.account.sent();
        let cl100k = sent.cl100k.saturating_sub(saved);
        self.estimate.tokens(Size { cl100k, ..sent }) <= budget
    }

    /// Messages that are sent and whose texts may be cut.
    fn cuttable(&self, is_of_kind: impl Fn(&Account, usize) -> bool) -> Vec<usize> {
        let can_be_cut = |&index: &usize| {
            self.account.message(index).is_some_and(|message| message.is_sent && !message.cuts.is_empty())
        };
        self.account.live().filter(can_be_cut).filter(|&index| is_of_kind(self.account, index)).collect()
    }

    /// Cuts the longest texts of these messages to one common size: the largest at which the request fits, at least `least`.
    fn cut(&mut self, indices: &[usize], least: u32) {
        if self.fits(0) {
            return;
        }
        let longest = indices.iter().filter_map(|&index| Some(self.account.message(index)?.cuts.longest()));
        let (mut fitting, mut too_large) = (least.max(MIN_CUT_TOKENS), longest.max().unwrap_or(0));
        while fitting + 1 < too_large {
            let middle = fitting + (too_large - fitting) / 2;
            let saved = indices.iter().map(|&index| self.gain(index, middle)).sum();
            if self.fits(saved) { fitting = middle } else { too_large = middle }
        }
        for &index in indices {
            if self.gain(index, fitting) > 0 {
                self.account.set(index, Form::Cut(fitting), Layer::Shrink, Reason::OverWindow);
            }
        }
    }

    /// Tokens that cutting this message saves over its current form.
    fn gain(&self, index: usize, most: u32) -> usize {
        self.account.row(index).map_or(0, |row| row.tokens().saturating_sub(row.tokens_as(&Form::Cut(most))))
    }

    /// The groups that may be dropped, oldest first.
    fn removable(&self, may_go: impl Fn(&Account, usize) -> bool) -> Vec<usize> {
        let account = &*self.account;
        let kept = [account.last_group(), account.newest_group(), self.exchange];
        let is_going = |start: &usize| !kept.contains(start) && is_removable(account, *start);
        account.live().filter(is_going).filter(|&start| may_go(account, start)).collect()
    }

    /// cl100k tokens of the groups that may be dropped.
    fn droppable(&self, may_go: impl Fn(&Account, usize) -> bool) -> usize {
        let members = self.removable(may_go).into_iter().flat_map(|start| self.account.leaving(start));
        members.filter_map(|index| self.account.row(index)).map(Row::tokens).sum()
    }

    fn drop_groups(&mut self, may_go: impl Fn(&Account, usize) -> bool) {
        for start in self.removable(may_go) {
            if self.fits(0) {
                return;
            }
            // An earlier drop may have removed a neighbour that this one needs.
            if is_removable(self.account, start) {
                self.account.drop_group(start, Layer::Shrink, Reason::OverWindow);
            }
        }
    }
}
