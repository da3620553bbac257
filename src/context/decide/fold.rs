//! The state of a schedule: a fold over the messages of a list.
//! Messages enter one by one, and a call is decided before each answer. A decision depends only on the messages before it,
//! so the same transcript gives the same bytes after a restart. Every assistant message marks a call: even a failed request
//! was sent as decided. The fold holds no clock and no text.

use std::mem::{replace, take};
use std::ops::Range;
use std::sync::Arc;

use super::calibration::SentSizes;
use super::economy::Policy;
use super::every_call::{Layers, fits, shrink_to_fit};
use super::index::CoverageIndex;
use super::lessons::{Call, Lessons};
use super::reports::{AnsweredRequest, Reports};
use super::sticky::SkiRental;
use super::verdict::Arithmetic;
use super::{Mode, Terms};
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::Account;
use crate::context::request::layers::keep::{Kept, States};
use crate::context::request::layers::{Keeping, Limits, Overflow, images};
use crate::context::request::plan::Plan;
use crate::context::request::validity::strip_within;
use crate::tokens::estimate::{Estimate, Size};

/// The call that was planned last. Its edits can be undone until its answer comes.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Number of messages before its answer.
    pub(super) at: usize,
    pub(super) call: Call,
    /// True if a batch is made for it.
    pub(super) moves: bool,
    /// The ski rental before it was planned.
    pub(super) before: SkiRental,
}

/// The fold after some messages.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    /// The layers, recomputed at each call; `None` under [`Mode::Sticky`].
    pub(super) layers: Option<Layers>,
    pub(super) policy: Policy,
    /// The host's limits.
    pub(super) host_limits: Limits,
    /// The limits in force: the host's, narrowed by what refusals taught.
    pub(super) limits: Limits,
    pub(super) account: Account,
    pub(super) reports: Reports,
    pub(super) pending: Option<Pending>,
    /// True if a call planned by this process was answered.
    pub(super) has_answer: bool,
    /// The index as of the last tried batch. Copies of the fold share it until the next batch.
    pub(super) index: Arc<CoverageIndex>,
    pub(super) rental: SkiRental,
    /// True if a call was planned, even before a rewrite.
    pub(super) has_planned: bool,
    /// Number of newest results that the next plan sends whole; `None` unless the list was just rewritten.
    pub(super) restored_results: Option<usize>,
    /// Messages whose bound thinking no longer matches its prefix after a rewrite. The next plan strips it.
    pub(super) stale_thinking: Range<usize>,
    /// True if the host states a larger window than at the last answered call.
    pub(super) is_wider: bool,
}

impl Fold {
    /// The fold before any message.
    pub fn new(mode: Mode, terms: &Terms) -> Self {
        let layers = (mode == Mode::EveryCall).then(Layers::default);
        let policy = terms.policy;
        let reports = Reports::new(policy.calibrate);
        let [host_limits, limits] = [terms.limits.clone(), terms.limits.clone()];
        let mut fold = Self { layers, policy, host_limits, limits, reports, ..Self::default() };
        fold.account.send_to(terms.is_blind);
        fold
    }

    /// The last planned call, until its answer comes.
    pub fn last_call(&self) -> Option<&Call> {
        self.pending.as_ref().map(|pending| &pending.call)
    }

    /// Returns `true` if `list` continues with the answer to the last planned call.
    pub fn is_answered(&self, list: &Transcript, lessons: &Lessons) -> bool {
        let at = self.account.rows().len();
        let answer = list.get(at).and_then(Message::assistant);
        answer.is_some() && lessons.is_answer_to(self.last_call(), list, at)
    }

    /// The states that the ladder keeps, or the layers if the host asked for it.
    pub fn kept_states(&self) -> Vec<Kept> {
        let is_asked = self.limits.keeping == Keeping::Layers || self.reports.is_reported;
        let states = || States::in_account(&self.account, &self.limits, self.estimate().scale);
        is_asked.then(states).unwrap_or_default().kept
    }

    /// Enters the new messages of `transcript`. `lessons` know which answers belong to calls with another list.
    pub fn play(&mut self, transcript: &Transcript, lessons: &mut Lessons) {
        let known = self.account.rows().len();
        for (index, message) in transcript.messages().iter().enumerate().skip(known) {
            if message.assistant().is_some() {
                let raw = self.account.raw();
                let sent = lessons.sent_before(transcript, index, raw);
                // When first seen, a list of the sent size counts as the sent one.
                let other_list = sent.filter(|sent| known > 0 || sent.raw != raw);
                let request = self.settle_request(index, message, other_list, lessons);
                // A late report was not known yet when this call was planned.
                self.reports.catch_up(&mut self.account, transcript);
                self.reports.enter(&self.account, index, message, request);
                self.narrow();
            }
            self.enter(index, message, transcript);
        }
        self.reports.catch_up(&mut self.account, transcript);
    }

    /// Settles the request that `message` answers. Replays the decision if this process did not make it, unless the call had
    /// another list, with the sizes `other_list`.
    fn settle_request(
        &mut self,
        index: usize,
        message: &Message,
        other_list: Option<SentSizes>,
        lessons: &mut Lessons,
    ) -> AnsweredRequest {
        let is_planned_here = self.pending.as_ref().is_some_and(|call| call.at == index);
        if !is_planned_here {
            self.withdraw();
            // A call with another list decided nothing about this one.
            if other_list.is_none() && !self.reports.is_older_than_summary(message.timestamp_ms) {
                self.decide(false);
            }
        }
        let sent = self.pending.take().map_or_else(|| self.sent_sizes(), |pending| pending.call.sent);
        if self.layers.is_some() {
            self.account.end_trial();
        } else {
            self.account.keep_trial();
        }
        let touched = self.account.take_oldest_touched();
        let other_list = other_list.filter(|_| !is_planned_here);
        // If a summary replaced the answered call, which was recent, the latest stated window holds.
        let stated_window = is_planned_here.then_some(self.host_limits.context_window);
        let stated_window = stated_window.or_else(|| lessons.stated_window());
        let planned = SentSizes { raw: self.account.raw(), stated_window, ..sent };
        let (sent, is_ours) = (other_list.unwrap_or(planned), is_planned_here || other_list.is_some());
        if is_ours {
            lessons.answered(message, sent);
        }
        self.has_answer |= is_planned_here;
        self.is_wider = false;
        // The host changed the list after that call.
        self.reports.is_rewritten |= other_list.is_some();
        AnsweredRequest { sent, touched, is_ours }
    }

    /// Enters the next message.
    pub(super) fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript) {
        // No answer came: the next message is in its place.
        if self.pending.as_ref().is_some_and(|call| call.at <= index) {
            self.withdraw();
        }
        self.account.enter(transcript, index);
        self.reports.pass(message);
    }

    /// Sets the host's terms. Under [`Mode::Sticky`] they apply to later decisions only; edited messages stay as they are.
    pub fn set_terms(&mut self, transcript: &Transcript, terms: &Terms) {
        self.withdraw();
        self.policy = terms.policy;
        self.is_wider |= terms.limits.context_window > self.host_limits.context_window;
        self.host_limits = terms.limits.clone();
        if self.narrow() && self.layers.is_some() {
            (self.account, self.layers) = (Account::of(transcript), Some(Layers::default()));
        }
        self.account.send_to(terms.is_blind);
    }

    /// Narrows the host's limits by what refusals taught. Returns `true` if that changes the limits in force.
    fn narrow(&mut self) -> bool {
        let whole = self.host_limits.whole(&self.estimate());
        let before = replace(&mut self.limits, self.reports.calibration.narrow(&whole));
        let is_changed = before != self.limits;
        // Under a narrower window the next batch need not wait for growth.
        if is_changed && self.limits.context_window <= before.context_window {
            self.rental.left = Size::default();
        }
        is_changed
    }

    /// Plans the next call. Returns the plan, the size of the smallest possible request, and the arithmetic.
    pub fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>) {
        self.withdraw();
        strip_within(&mut self.account, take(&mut self.stale_thinking));
        if let Some(newest_results) = self.restored_results.take() {
            self.restore(newest_results);
        }
        let is_first = !replace(&mut self.has_planned, true);
        let decided = self.decide(is_first);
        (self.account.plan(), self.floor(), decided)
    }

    /// Decides about the next call and edits for it. `is_first` marks the first planned call.
    fn decide(&mut self, is_first: bool) -> Option<Arithmetic> {
        let before = self.rental;
        let decided = match &mut self.layers {
            Some(layers) => {
                layers.settle(&mut self.account, &self.limits, &self.reports.calibration);
                None
            }
            None => Some(self.decide_sticky(is_first)),
        };
        let sent = self.sent_sizes();
        let last = self.account.rows().last().map(|row| row.message.identity);
        let call = Call { last, sent, estimated: self.context() };
        let moves = decided.is_some_and(|decided| decided.verdict.moves());
        self.pending = Some(Pending { at: self.account.rows().len(), call, moves, before });
        decided
    }

    /// The sizes of the next request.
    fn sent_sizes(&self) -> SentSizes {
        SentSizes {
            raw: self.account.raw(),
            edited: self.account.sent(),
            image_chars: [self.account.images().chars, images::chars_that_may_go(&self.account)],
            stated_window: Some(self.host_limits.context_window),
        }
    }

    /// The size that layer 4 leaves, or would leave.
    fn floor(&self) -> Size {
        let Self { account, limits, reports, .. } = self;
        // Copying a long account costs more than the rest of the call.
        if limits.overflow == Overflow::Shrink || fits(account, limits, &reports.calibration) {
            return account.sent();
        }
        let mut least = account.clone();
        shrink_to_fit(&mut least, limits, &reports.calibration);
        least.sent()
    }

    /// Forgets the call that was planned last.
    pub fn withdraw(&mut self) {
        if let Some(call) = self.pending.take() {
            self.take_back();
            self.rental = call.before;
        }
    }

    /// Undoes the edits for a call that is not made.
    pub(super) fn take_back(&mut self) {
        self.account.end_trial();
        self.account.take_changed();
    }

    pub(super) fn estimate(&self) -> Estimate {
        self.reports.calibration.estimate()
    }

    /// The estimate of the next prompt, in provider tokens.
    pub(super) fn context(&self) -> f64 {
        self.estimate().tokens(self.account.sent())
    }
}
