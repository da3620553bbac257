//! Moves the frontier by one batch of edits: of what may go, the least useful for its tokens goes first. Layer 4 acts where that
//! is not enough, and the thinking that is bound to both goes.
//!
//! A ladder leads down from each message: thinking goes, a result is cut by line, then only its marker line stays, and last
//! the call goes with its results. Useful means expected later uses of what nothing else in the context shows, so that the
//! choice is one of coverage: each thing that goes makes what shows the same dearer. Prices only rise within a batch, so a
//! stale one is looked at again when its turn comes and put back if it is no longer the least.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Sticky;
use crate::context::account::{Account, Form, Row};
use crate::context::layers::{Overflow, images, shrink, thinking, tool_results, window};
use crate::context::plan::{KeptLines, Layer, Reason};
use crate::context::schedule::held::Held;
use crate::context::schedule::line_cuts;
use crate::context::schedule::weights::{OWN_CALL, ROOM_SHARE, SHRUNK_SHARE};
use crate::context::transcript::Body;
use crate::context::validity::unbound;
use crate::tokens::estimate::MESSAGE_FRAME_TOKENS;

impl Sticky {
    /// Edits until what is left is worth its tokens, and fits.
    pub(super) fn act(&mut self) {
        // Past a limit a batch must gain room for many calls where each costs a rewrite, or the next one is due at once.
        let must_gain = self.context() > self.limit() && self.priced().prices.rewrite(1.0) > 0.0;
        let most = self.limit() * if must_gain { ROOM_SHARE } else { 1.0 };
        self.account.take_changed();
        let tail = window::tail_start(&self.account, &self.limits);
        self.drop_unsent(tail);
        self.strip_closed_turns();
        images::omit_old(&mut self.account, &self.limits);
        images::fit(&mut self.account, &self.limits);
        self.take_least_useful(tail, most);
        self.drop_users_if_nothing_else_helps(tail);
        if self.context() > self.limits.budget() && self.limits.overflow == Overflow::Shrink {
            let (estimate, budget) = (self.estimate(), self.shrunk_budget());
            let live: Vec<usize> = self.account.live().collect();
            self.show_anew(&live, |account| shrink::shrink(account, &estimate, budget));
        }
        if let Some(changed) = self.account.take_changed() {
            for index in unbound(&self.account, changed) {
                self.set(index, Form::Edited, Layer::Thinking, Reason::ThinkingBound);
            }
        }
        (self.carried, self.refused, self.left) = (0.0, 0.0, self.context());
    }

    /// The size that layer 4 shrinks to.
    pub(super) fn shrunk_budget(&self) -> f64 {
        SHRUNK_SHARE.min(self.reports.calibration.caution()) * self.limits.budget()
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

    /// At most so many tokens stay, whatever that loses; nothing from `tail` on is dropped.
    fn take_least_useful(&mut self, tail: usize, most: f64) {
        let mut queue = self.candidates(tail);
        while let Some(candidate) = queue.pop() {
            let Some(current) = self.candidate(candidate.removal) else { continue };
            if current.price > candidate.price && queue.peek().is_some_and(|next| next.price < current.price)
            {
                queue.push(current);
                continue;
            }
            if current.price > self.policy.price() && self.context() <= most {
                return;
            }
            queue.extend(self.make(candidate.removal));
        }
    }

    fn candidates(&self, tail: usize) -> BinaryHeap<Candidate> {
        let end = tool_results::old(&self.account, &self.limits).last().map_or(0, |newest| newest + 1);
        let is_shortenable = |&index: &usize| {
            let result = self.account.message(index).and_then(|message| message.tool_result());
            result.is_some_and(|result| result.shortened.is_some()) && !self.account.is_recalled_now(index)
        };
        let has_lines = |&index: &usize| {
            self.account.message(index).is_some_and(|message| message.traits.layout.is_some())
        };
        let results = self.account.live_before(end).filter(is_shortenable);
        let (by_line, whole): (Vec<usize>, Vec<usize>) = results.partition(has_lines);
        let of = |rung| move |index| Removal { rung, index };
        let edits = whole.into_iter().chain(self.thinking()).map(of(Rung::Edit));
        let cuts = by_line.iter().copied().map(of(Rung::Lines));
        let markers = by_line.iter().copied().map(of(Rung::Marker));
        let groups = self.account.live_before(tail).filter(|&index| index > 0).map(of(Rung::Group));
        let all = edits.chain(cuts).chain(markers).chain(groups);
        all.filter_map(|removal| self.candidate(removal)).collect()
    }

    /// The loss of a removal for each token it saves; `None` if it is not to be made at all.
    fn candidate(&self, removal: Removal) -> Option<Candidate> {
        let (loss, saved) = if removal.rung == Rung::Group {
            self.weigh_group(removal.index)?
        } else {
            let (row, held) = self.at(removal.index)?;
            let rest = self.rest(removal.rung, row, held)?;
            let saved = row.tokens().checked_sub(rest.tokens).filter(|&saved| saved > 0)?;
            (self.loss_between(held.shown(row), rest.shows), saved as f64)
        };
        let price = loss / (saved * self.estimate().scale).max(1.0);
        Some(Candidate { price, removal })
    }

    /// The rest that a rung leaves of a message; `None` where it takes nothing.
    fn rest(&self, rung: Rung, row: &Row, held: &Held) -> Option<Rest> {
        let (form, shows) = match rung {
            Rung::Edit if row.form() == Form::Whole => (Form::Edited, held.kept.as_deref()?),
            Rung::Lines | Rung::Marker if matches!(row.form(), Form::Whole | Form::Lines(_)) => {
                let lines = if rung == Rung::Marker {
                    line_cuts::marker_alone(row)?
                } else {
                    line_cuts::choose(row, held, &self.shown, self.policy.price() * self.estimate().scale)?
                };
                let (tokens, shows) = (lines.tokens as usize, lines.numbers.to_vec());
                return Some(Rest { form: Form::Lines(lines.tokens), lines: Some(lines), tokens, shows });
            }
            _ => return None,
        };
        Some(Rest { form, lines: None, tokens: row.tokens_as(form), shows: shows.to_vec() })
    }

    /// The loss if a message that shows `all` goes on to show only `kept`.
    fn loss_between(&self, all: &[u32], mut kept: Vec<u32>) -> f64 {
        kept.sort_unstable();
        let gone = all.iter().filter(|number| kept.binary_search(number).is_err());
        gone.map(|&number| self.shown.loss(number, 1)).sum()
    }

    fn weigh_group(&self, start: usize) -> Option<(f64, f64)> {
        if !self.may_drop(start) {
            return None;
        }
        let mut shown: Vec<u32> = Vec::new();
        let mut saved = 0.0;
        for (row, held) in self.account.group(start).filter_map(|index| self.at(index)) {
            shown.extend_from_slice(held.shown(row));
            saved += row.tokens() as f64 + MESSAGE_FRAME_TOKENS;
        }
        shown.sort_unstable();
        // That the agent sees what it did.
        let calls = self.account.message(start).map_or(0, |message| message.traits.targets.len());
        let own = OWN_CALL * calls as f64;
        Some((self.shown.loss_of_all(&shown) + own, saved))
    }

    /// True if a batch may drop the group that opens at `start`.
    ///
    /// An app's words in the open turn stay: pi sends them as the user's words, and where those end the steps begin
    /// that Gemini 3 wants signed. Without it, calls of another model would be among them.
    fn may_drop(&self, start: usize) -> bool {
        let is_of_kind = self.account.message(start).is_some_and(|message| match message.body {
            Body::Assistant(_) => true,
            Body::Other => self.account.last_user().is_some_and(|last| start < last),
            _ => false,
        });
        is_of_kind
            && window::is_droppable(&self.account, start)
            && !self.account.group(start).any(|index| {
                let result = self.account.message(index).and_then(|message| message.tool_result());
                result.is_some_and(|result| result.is_excluded)
            })
    }

    /// Takes a step, and gives back the one that can be taken after it.
    fn make(&mut self, Removal { rung, index }: Removal) -> Option<Candidate> {
        if rung == Rung::Group {
            self.drop_group(index, self.group_reason(index));
            return None;
        }
        let (row, held) = self.at(index)?;
        let rest = self.rest(rung, row, held)?;
        let (layer, reason) = match rung {
            Rung::Edit if row.message.assistant().is_some() => (Layer::Thinking, Reason::OldThinking),
            _ => (Layer::ToolResults, held.why()),
        };
        self.show_anew(&[index], |account| match rest.lines {
            Some(lines) => account.keep_lines(index, lines, layer, reason),
            None => account.set(index, rest.form, layer, reason),
        });
        if rung == Rung::Lines { self.candidate(Removal { rung: Rung::Marker, index }) } else { None }
    }

    /// A group goes by the rule its results share, else as the least useful.
    fn group_reason(&self, start: usize) -> Reason {
        let results = || self.account.group(start).skip(1).filter_map(|index| self.held.get(index));
        let first = results().next().map_or(Reason::LeastUseful, Held::why);
        if results().all(|held| held.why() == first) { first } else { Reason::LeastUseful }
    }

    fn drop_group(&mut self, start: usize, reason: Reason) {
        let group: Vec<usize> = self.account.group(start).collect();
        self.show_anew(&group, |account| account.drop_group(start, Layer::Window, reason));
    }

    /// The user's own text goes only when all else did not help.
    fn drop_users_if_nothing_else_helps(&mut self, tail: usize) {
        if self.context() <= self.limits.threshold() {
            return;
        }
        let enough = SHRUNK_SHARE * self.limits.threshold();
        for index in self.account.live_before(tail).collect::<Vec<_>>() {
            if self.context() <= enough {
                return;
            }
            if index > 0 && window::is_droppable(&self.account, index) {
                self.drop_group(index, Reason::OverThreshold);
            }
        }
    }

    fn set(&mut self, index: usize, form: Form, layer: Layer, reason: Reason) {
        self.show_anew(&[index], |account| account.set(index, form, layer, reason));
    }

    /// Changes how some messages are sent, and keeps the index of what the context shows in step.
    pub(super) fn show_anew(&mut self, changed: &[usize], change: impl FnOnce(&mut Account)) {
        let Self { account, held, shown, .. } = self;
        for (row, held) in changed.iter().filter_map(|&at| account.row(at).zip(held.get(at))) {
            shown.hide(held.shown(row));
        }
        change(account);
        for (row, held) in changed.iter().filter_map(|&at| account.row(at).zip(held.get(at))) {
            shown.show(held.shown(row));
        }
    }
}

/// The rungs of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rung {
    /// Strip thinking, or shorten a tool result that no line can be cut from.
    Edit,
    /// Keep only those lines of a tool result that are worth their tokens.
    Lines,
    /// Keep nothing of a tool result but its marker line: what the agent did stays in view.
    Marker,
    /// Drop the group that opens there.
    Group,
}

/// Something a batch can do: a step down from the message at `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Removal {
    rung: Rung,
    index: usize,
}

/// The rest of a message after a step down.
struct Rest {
    form: Form,
    /// The lines, where it is cut by line.
    lines: Option<KeptLines>,
    tokens: usize,
    /// The numbers of what it shows.
    shows: Vec<u32>,
}

/// A removal with what it loses per token; the greatest candidate is the cheapest.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    price: f64,
    removal: Removal,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other.price.total_cmp(&self.price).then_with(|| other.removal.cmp(&self.removal))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
