//! The ladder of edits for each message: thinking goes, a result is cut by line, then to its marker line, and at last the
//! call goes with its results.
//! A pass from the oldest message to the newest takes every step that loses less than the price per saved token. A step
//! loses the expected uses of the pieces that no other visible message shows.

use crate::context::decide::line_cuts;
use crate::context::decide::view::View;
use crate::context::facts::traits::lines::Layout;
use crate::context::facts::transcript::Body;
use crate::context::request::account::{Account, Form, Row};
use crate::context::request::layers::keep::States;
use crate::context::request::layers::{tool_results, window};
use crate::context::request::plan::{Layer, Reason};
use crate::context::weights::PRICE_STEP;
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS};

/// The first positions that a batch does not edit.
#[derive(Clone, Debug)]
pub(super) struct Spared {
    /// No message is dropped from here on.
    pub(super) messages: usize,
    /// No result is cut or dropped from here on.
    pub(super) results: usize,
    /// No message with thinking is dropped from here on.
    pub(super) thinking: usize,
    /// No message that shows an image is dropped from here on.
    pub(super) images: usize,
    /// Large inputs, which only layer 4 cuts.
    pub(super) inputs: Vec<usize>,
}

/// A batch in progress.
pub(super) struct Ladder<'a> {
    pub(super) account: &'a mut Account,
    pub(super) view: View<'a>,
    pub(super) estimate: Estimate,
    pub(super) spared: &'a Spared,
    /// Messages that may lose their thinking, ascending.
    pub(super) thinking: &'a [usize],
    /// States that stay whole unless a limit demands more.
    pub(super) states: &'a States,
    /// Least provider tokens that a step may leave.
    pub(super) floor: f64,
    /// Expected uses of one of the agent's own calls.
    pub(super) own_call: f64,
    /// First position that it edits.
    pub(super) start: usize,
    /// Uses that the steps so far have lost.
    pub(super) lost: f64,
}

impl Ladder<'_> {
    /// Takes steps at rising prices until at most `target` provider tokens are left, or no step remains.
    pub(super) fn go_down_to(&mut self, target: f64, price: f64) {
        let raised = std::iter::successors(Some(price), |price| Some(price * PRICE_STEP));
        for price in raised.take_while(|price| *price < 1.0).chain([f64::INFINITY]) {
            if self.tokens() <= target {
                return;
            }
            self.pass(price, Some(target));
        }
    }

    /// Takes each step that loses at most `price` per saved provider token, the oldest group first. Stops at the size
    /// `target`.
    pub(super) fn pass(&mut self, price: f64, target: Option<f64>) {
        let price = price * self.estimate.scale;
        let starts = self.account.live_before(self.spared.messages.max(self.spared.results));
        let opens = |&index: &usize| {
            index >= self.start && self.account.row(index).is_some_and(|row| row.group == index)
        };
        for start in starts.filter(opens).collect::<Vec<_>>() {
            let group: Vec<usize> = self.account.group(start).collect();
            // The first cut keeps the head and tail that the host set, unless a limit demands more.
            let may_go = target.is_some() || !group.iter().any(|&index| self.shows_ends(index));
            for &index in &group {
                if self.is_at(target) {
                    return;
                }
                if self.may_be_cut(index, price) {
                    self.step_down(index, price);
                }
            }
            if may_go && !self.is_at(target) && self.may_leave(start, price) {
                self.leave(start, &group, price);
            }
        }
    }

    fn is_at(&self, target: Option<f64>) -> bool {
        target.is_some_and(|target| self.tokens() <= target)
    }

    /// Provider tokens of what is sent.
    fn tokens(&self) -> f64 {
        self.estimate.tokens(self.account.sent())
    }

    /// Returns `true` for a whole result with a head or tail that the host set.
    fn shows_ends(&self, index: usize) -> bool {
        self.account.row(index).filter(|row| *row.form() == Form::Whole).is_some_and(|row| {
            let layout = row.message.traits.layout.as_ref();
            layout.is_some_and(|Layout { sizes, .. }| sizes.least_head + sizes.least_tail > 0)
        })
    }

    /// Returns `true` for an old result and for old thinking. Kept states may be cut only at an infinite price.
    fn may_be_cut(&self, index: usize, price: f64) -> bool {
        let is_old = index < self.spared.results && tool_results::is_shortenable(self.account, index);
        (is_old || self.thinking.binary_search(&index).is_ok())
            && (price.is_infinite() || !self.states.keeps(index))
    }

    /// Takes a message one rung down, to the lines worth their tokens or to its edited form, if that loses at most `price`
    /// per saved token.
    fn step_down(&mut self, index: usize, price: f64) {
        let Some((row, pieces)) = self.account.row(index).zip(self.view.index.message(index)) else {
            return;
        };
        let form = match row.form() {
            Form::Whole | Form::Cut(_) if row.message.traits.layout.is_none() => Form::Edited,
            Form::Whole | Form::Cut(_) | Form::Lines(_) => {
                let Some(lines) = line_cuts::choose(row, pieces, &self.view, price) else { return };
                Form::Lines(lines.into())
            }
            Form::Edited | Form::Gone => return,
        };
        let Some(saved) = row.tokens().checked_sub(row.tokens_as(&form)).filter(|&saved| saved > 0) else {
            return;
        };
        let mut left = pieces.shown_as(row, &form).into_owned();
        left.sort_unstable();
        let before = pieces.shown(row);
        let gone = before.iter().copied().filter(|id| left.binary_search(id).is_err()).collect();
        let loss = self.view.loss_of_all(gone);
        if loss > price * saved as f64 || self.undershoots(saved as f64) {
            return;
        }
        self.lost += loss;
        self.view.hide(&before);
        self.view.show(&left);
        let (layer, reason) = match row.message.assistant() {
            Some(_) => (Layer::Thinking, Reason::OldThinking),
            None => (Layer::ToolResults, self.reason(&[index])),
        };
        self.account.set(index, form, layer, reason);
    }

    /// Returns `true` if saving `saved` cl100k tokens would leave less than the floor.
    fn undershoots(&self, saved: f64) -> bool {
        self.tokens() - self.estimate.scale * saved < self.floor
    }

    /// Returns `true` if a batch may drop the group that opens at `start`, or cut it where it may not leave alone.
    /// Custom messages of the open turn stay. pi sends them as user messages, and Gemini 3 requires signed calls after the
    /// last user message. Without the custom message, that would include unsigned calls of another model.
    fn may_leave(&self, start: usize, price: f64) -> bool {
        let is_of_kind = self.account.message(start).is_some_and(|message| match message.body {
            Body::Assistant(_) => true,
            Body::Custom | Body::Other => {
                !self.spared.inputs.contains(&start)
                    && self.account.last_user().is_some_and(|last| start < last)
            }
            _ => false,
        });
        (1..self.spared.messages).contains(&start)
            && is_of_kind
            && (price.is_infinite() || !self.states.keeps_group(start))
            && (self.account.stub(start).is_some()
                || (!self.account.is_bound(start) && window::is_droppable(self.account, start)))
            && !self.account.group(start).any(|index| self.is_spared(index))
    }

    /// Returns `true` for an excluded result and for recent results, thinking and images.
    fn is_spared(&self, index: usize) -> bool {
        let Some(row) = self.account.row(index) else { return false };
        let is_recent = match &row.message.body {
            Body::ToolResult(result) => result.is_excluded || index >= self.spared.results,
            Body::Assistant(assistant) => assistant.thinking.is_some() && index >= self.spared.thinking,
            _ => false,
        };
        is_recent || (row.images_as(row.form()).count > 0 && index >= self.spared.images)
    }

    /// Drops a group, or cuts an answer that the order of turns keeps, if that loses at most `price` per saved token. Lost are the
    /// pieces it shows, and its calls unless a newer state replaces them.
    fn leave(&mut self, start: usize, group: &[usize], price: f64) {
        let stub = self.account.stub(start);
        let rows =
            || group.iter().filter_map(|&index| self.account.row(index).zip(self.view.index.message(index)));
        let of_row = |row: &Row| match &stub {
            Some(stub) => row.tokens().saturating_sub(row.tokens_as(stub)) as f64,
            None => row.tokens() as f64 + MESSAGE_FRAME_TOKENS,
        };
        let saved: f64 = rows().map(|(row, _)| of_row(row)).sum();
        let shown: Vec<u32> = rows().flat_map(|(row, pieces)| pieces.shown(row).into_owned()).collect();
        let calls = self.account.message(start).map_or(0, |message| message.traits.targets.len());
        let own = if self.states.older.contains(&start) { 0.0 } else { self.own_call * calls as f64 };
        let loss = self.view.loss_of_all(shown.clone()) + own;
        if saved <= 0.0 || loss > price * saved || self.undershoots(saved) {
            return;
        }
        self.lost += loss;
        let reason = self.reason(group.get(1..).unwrap_or_default());
        self.view.hide(&shown);
        match stub {
            Some(stub) => self.account.set(start, stub, Layer::Window, reason),
            None => self.account.drop_group(start, Layer::Window, reason),
        }
    }

    /// The reason to remove these results: no later answer used a name in them, or they are the least useful.
    fn reason(&self, results: &[usize]) -> Reason {
        let mut results = results.iter().filter_map(|&index| self.view.index.message(index)).peekable();
        let is_unused = results.peek().is_some()
            && !results.any(|pieces| self.view.index.is_used_since(pieces.call, &pieces.whole));
        if is_unused { Reason::NeverUsed } else { Reason::LeastUseful }
    }
}
