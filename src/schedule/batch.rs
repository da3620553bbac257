//! One batch of edits: which of what may go goes, the least useful for its tokens first.
//!
//! The held messages and the ledger flow in and are edited in place; the context's new size flows out. Useful means
//! expected later uses of identifiers that nothing else in the context shows, so that the choice is one of coverage:
//! each thing that goes makes what shows the same dearer. Prices only rise within a batch, so a stale one is looked
//! at again when its turn comes and put back if it is no longer the least.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::economy::Policy;
use super::held::{Form, Held};
use super::ledger::Ledger;
use super::line_cuts::{LineCut, choose};
use super::lines::Lines;
use crate::layers::thinking::{may_lose_thinking, step_under_way};
use crate::layers::{Limits, ThinkingScope};
use crate::plan::Reason;
use crate::tokens::estimate::Estimate;
use crate::transcript::Body;

/// Tokens a provider counts around each message, in cl100k: role and delimiters.
const MESSAGE_OVERHEAD_TOKENS: f64 = 4.0;
/// Expected uses each edit must be worth, so that what saves next to nothing is left alone.
const EDIT_WORTH: f64 = 0.005;
/// A line must be worth this share of the price at the low water to stay, for each of its tokens.
const LINE_PRICE_SHARE: f64 = 1.2;
/// A cut that keeps more of a result than this is not worth an edit.
const MOST_KEPT: f64 = 0.8;
/// No batch goes below this share of the low water: what is left then is the latest work.
const FLOOR_SHARE: f64 = 0.3;

/// Where a batch may cut, and how deep.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// What the conversation opens with, unless that is a reply itself: without it a reply could come first.
    pub opening: Option<usize>,
    /// The first user message.
    pub first_user: Option<usize>,
    /// The last user message: what follows is the open turn.
    pub last_user: Option<usize>,
    /// Nothing from here on is dropped.
    pub tail: usize,
    /// No tool result from here on is summarised.
    pub full_results: usize,
    /// Tokens the context must come down to whatever that loses.
    pub must: f64,
}

/// What one batch works on.
pub struct Batch<'a> {
    /// The messages before the call.
    pub held: &'a mut [Held],
    /// Their identifiers.
    pub ledger: &'a mut Ledger,
    /// Their lines.
    pub lines: &'a mut Lines,
    /// cl100k tokens as sent.
    pub sent: usize,
    /// From those to the provider's.
    pub estimate: Estimate,
    /// Prices and waters.
    pub policy: &'a Policy,
    /// The layers' limits.
    pub limits: &'a Limits,
    /// Where it may cut.
    pub scope: Scope,
}

impl Batch<'_> {
    /// Edits until what is left is worth its tokens; returns cl100k tokens as sent.
    #[must_use]
    pub fn run(mut self) -> usize {
        self.drop_unsent();
        self.strip_closed_turns();
        self.take_least_useful();
        self.drop_users_if_nothing_else_helps();
        self.sent
    }

    fn context(&self) -> f64 {
        self.estimate.tokens(self.sent)
    }

    /// A failed answer is never sent, so leaving it out changes nothing on the wire.
    fn drop_unsent(&mut self) {
        for index in 0..self.scope.tail {
            let is_unsent = self.held.get(index).is_some_and(|held| {
                held.form != Form::Gone && held.message.assistant().is_some() && !held.message.is_sent
            });
            if is_unsent {
                self.set(index, Form::Gone, Reason::NeverSent);
            }
        }
    }

    /// Some models bind a thinking signature to all that precedes it, so when old messages change, the thinking after
    /// them goes too. Something old always changes, so all of it in closed turns does.
    fn strip_closed_turns(&mut self) {
        for index in self.thinking(self.scope.last_user.unwrap_or(0)) {
            self.set(index, Form::Edited, Reason::ThinkingBound);
        }
    }

    /// Messages before `end` that layer 2 lets lose their thinking and that still have it.
    fn thinking(&self, end: usize) -> Vec<usize> {
        let newest_first = || self.held.iter().enumerate().rev();
        let step = step_under_way(newest_first().map(|(index, held)| (index, &*held.message)));
        let mut kept = 0;
        let strippable = newest_first().filter(|(index, held)| {
            let Some(assistant) = held.message.assistant().filter(|assistant| assistant.thinking.is_some())
            else {
                return false;
            };
            if kept < self.limits.keep_recent_thinking {
                kept += usize::from(held.message.is_sent);
                return false;
            }
            let is_closed = *index < end && Some(*index) != step;
            is_closed && held.form == Form::Whole && held.message.is_sent && may_lose_thinking(assistant)
        });
        strippable.map(|(index, _)| index).collect()
    }

    fn take_least_useful(&mut self) {
        let window = self.limits.context_window;
        let floor = FLOOR_SHARE * self.policy.waters.low * window;
        let mut queue = self.candidates();
        while self.context() > floor
            && let Some(candidate) = queue.pop()
        {
            let Some(current) = self.weigh(candidate.cut) else { continue };
            if current.price > candidate.price && queue.peek().is_some_and(|next| next.price < current.price)
            {
                queue.push(current);
                continue;
            }
            if current.price > self.policy.price(self.context(), window) && self.context() <= self.scope.must
            {
                break;
            }
            self.make(candidate.cut, &mut queue);
        }
    }

    fn candidates(&self) -> BinaryHeap<Candidate> {
        let open_thinking = match self.limits.thinking_scope {
            ThinkingScope::All => self.thinking(self.held.len()),
            ThinkingScope::ClosedTurns => Vec::new(),
        };
        let results = (0..self.scope.full_results.min(self.held.len())).filter(|&index| {
            self.held
                .get(index)
                .and_then(|held| held.message.tool_result())
                .is_some_and(|r| r.shortened.is_some())
        });
        let results: Vec<usize> = results.collect();
        let edits = results.iter().copied().chain(open_thinking).map(Cut::Edit);
        let edits = edits.chain(results.iter().copied().map(Cut::Lines));
        let groups = (1..self.scope.tail).map(Cut::Group);
        edits.chain(groups).filter_map(|cut| self.weigh(cut)).collect()
    }

    /// What a cut would lose for each token it saves; `None` if it is not to be made at all.
    fn weigh(&self, cut: Cut) -> Option<Candidate> {
        let (loss, saved) = match cut {
            Cut::Edit(index) => {
                let held = self.held.get(index).filter(|held| held.form < Form::Edited)?;
                let saved = held.tokens().checked_sub(held.edited_tokens()).filter(|saved| *saved > 0)?;
                let loss = self.loss_between(held, held.kept.as_deref()?, held.kept_lines.as_deref());
                (held.superseded(loss), saved as f64)
            }
            Cut::Lines(index) => {
                let held = self.held.get(index).filter(|held| held.form < Form::Edited)?;
                let cut = self.line_cut(held)?;
                let loss = self.loss_between(held, &cut.numbers, Some(&cut.lines));
                (held.superseded(loss), held.tokens().saturating_sub(cut.tokens) as f64)
            }
            Cut::Group(start) => self.weigh_group(start)?,
        };
        let price = (loss + EDIT_WORTH) / (saved * self.estimate.scale).max(1.0);
        Some(Candidate { price, cut })
    }

    /// The cut by line that is due, unless it saves too little or is no larger than the summary.
    fn line_cut(&self, held: &Held) -> Option<LineCut> {
        let window = self.limits.context_window;
        let price = LINE_PRICE_SHARE * self.policy.price(self.policy.waters.low * window, window);
        let cut = choose(held, self.ledger, self.lines, price * self.estimate.scale)?;
        let is_gain =
            (cut.tokens as f64) < MOST_KEPT * held.tokens() as f64 && cut.tokens > held.edited_tokens();
        is_gain.then_some(cut)
    }

    /// What is lost if `held` goes on to show only these.
    fn loss_between(&self, held: &Held, numbers: &[u32], lines: Option<&[u32]>) -> f64 {
        let stay = |shown: &[u32], kept: &[u32], loss: &dyn Fn(u32) -> f64| -> f64 {
            let mut kept = kept.to_vec();
            kept.sort_unstable();
            shown
                .iter()
                .filter(|number| kept.binary_search(number).is_err())
                .map(|&number| loss(number))
                .sum()
        };
        let names = stay(held.shown(), numbers, &|number| self.ledger.loss(number, 1));
        names + lines.map_or(0.0, |kept| stay(held.shown_lines(), kept, &|number| self.lines.loss(number, 1)))
    }

    fn weigh_group(&self, start: usize) -> Option<(f64, f64)> {
        let members = self.members(start)?;
        let mut shown: Vec<u32> = Vec::new();
        let mut lines: Vec<u32> = Vec::new();
        let mut saved = 0.0;
        for held in &members {
            shown.extend_from_slice(held.shown());
            lines.extend_from_slice(held.shown_lines());
            saved += held.tokens() as f64 + MESSAGE_OVERHEAD_TOKENS;
        }
        shown.sort_unstable();
        lines.sort_unstable();
        Some((self.ledger.loss_of_all(&shown) + self.lines.loss_of_all(&lines), saved))
    }

    /// The messages of the group that opens at `start`, if a batch may drop it.
    ///
    /// What an app says in the open turn stays: pi sends it as the user's words, and where those end the steps begin
    /// that Gemini 3 wants signed. Without it, calls of another model would be among them.
    fn members(&self, start: usize) -> Option<Vec<&Held>> {
        let opens = self.held.get(start)?;
        let is_droppable = match opens.message.body {
            Body::Assistant(_) => true,
            Body::Other => self.scope.last_user.is_some_and(|last| start < last),
            _ => false,
        };
        let may_go = is_droppable
            && opens.form != Form::Gone
            && opens.group == start
            && Some(start) != self.scope.opening;
        let members: Vec<&Held> = self.group(start).filter_map(|index| self.held.get(index)).collect();
        let is_excluded = |held: &&Held| held.message.tool_result().is_some_and(|result| result.is_excluded);
        (may_go && !members.iter().any(is_excluded)).then_some(members)
    }

    /// Indices of a group: results follow their call before the next assistant message.
    fn group(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        let rest = self.held.iter().enumerate().skip(start + 1);
        let results = rest
            .take_while(|(_, held)| held.message.assistant().is_none())
            .filter(move |(_, held)| held.group == start)
            .map(|(index, _)| index);
        std::iter::once(start).chain(results)
    }

    fn make(&mut self, cut: Cut, queue: &mut BinaryHeap<Candidate>) {
        match cut {
            Cut::Edit(index) => {
                let Some(held) = self.held.get(index) else { return };
                let group = held.group;
                let is_thinking = held.message.assistant().is_some();
                let reason = if is_thinking { Reason::OldThinking } else { held.why() };
                self.set(index, Form::Edited, reason);
                // The rest of the group saves less now, but may lose nothing more: it gets a new price.
                if group < self.scope.tail {
                    queue.extend(self.weigh(Cut::Group(group)));
                }
            }
            Cut::Lines(index) => {
                let Some(held) = self.held.get(index) else { return };
                let (group, reason) = (held.group, held.why());
                let Some(cut) = self.line_cut(held) else { return };
                self.cut_lines(index, cut, reason);
                queue.extend(self.weigh(Cut::Edit(index)));
                if group < self.scope.tail {
                    queue.extend(self.weigh(Cut::Group(group)));
                }
            }
            Cut::Group(start) => {
                let reason = self.group_reason(start);
                self.drop_group(start, reason);
            }
        }
    }

    /// A group goes by the rule its results share, else as the least useful.
    fn group_reason(&self, start: usize) -> Reason {
        let results = || self.group(start).skip(1).filter_map(|index| self.held.get(index));
        let first = results().next().map_or(Reason::LeastUseful, Held::why);
        if results().all(|held| held.why() == first) { first } else { Reason::LeastUseful }
    }

    fn drop_group(&mut self, start: usize, reason: Reason) {
        for index in self.group(start).collect::<Vec<_>>() {
            self.set(index, Form::Gone, reason);
        }
    }

    /// The user's own text goes only when all else did not help.
    fn drop_users_if_nothing_else_helps(&mut self) {
        let threshold = self.limits.threshold();
        for index in 1..self.scope.tail {
            if self.context() <= threshold {
                return;
            }
            let Scope { opening, first_user, last_user, .. } = self.scope;
            let is_free = ![opening, first_user, last_user].contains(&Some(index));
            let goes = self.held.get(index).is_some_and(|held| {
                let is_late_summary = matches!(held.message.body, Body::Summary)
                    && self.scope.first_user.is_some_and(|first| index > first);
                let is_group = matches!(held.message.body, Body::Assistant(_) | Body::User | Body::Other);
                held.form != Form::Gone && held.group == index && (is_group || is_late_summary)
            });
            if is_free && goes {
                self.drop_group(index, Reason::OverThreshold);
            }
        }
    }

    fn set(&mut self, index: usize, form: Form, reason: Reason) {
        self.change(index, reason, |held| {
            let is_less = held.form < form;
            if is_less {
                held.form = form;
            }
            is_less
        });
    }

    fn cut_lines(&mut self, index: usize, cut: LineCut, reason: Reason) {
        self.change(index, reason, |held| {
            held.form = Form::Lines;
            held.line_cut = Some(Arc::new(cut));
            true
        });
    }

    fn change(&mut self, index: usize, reason: Reason, edit: impl FnOnce(&mut Held) -> bool) {
        let Some(held) = self.held.get_mut(index) else { return };
        let before = held.tokens();
        self.ledger.hide(held.shown());
        self.lines.hide(held.shown_lines());
        if edit(held) {
            held.reason = reason;
        }
        self.ledger.show(held.shown());
        self.lines.show(held.shown_lines());
        self.sent = (self.sent + held.tokens()).saturating_sub(before);
    }
}

/// Something a batch can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    /// Keep only those lines of a tool result that are worth their tokens.
    Lines(usize),
    /// Summarise a tool result or strip thinking.
    Edit(usize),
    /// Drop the group that opens here.
    Group(usize),
}

/// A cut with what it loses per token; the greatest candidate is the cheapest.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    price: f64,
    cut: Cut,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other.price.total_cmp(&self.price).then_with(|| other.cut.cmp(&self.cut))
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
