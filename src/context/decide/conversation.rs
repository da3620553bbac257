//! One conversation across its calls: the facts of its messages, and the fold over requests and reports.
//! A host adds to its list or rewrites it. Knowledge of calls outlives a rewrite and a change of window or prices: a report
//! is about the request really sent.

use std::mem::replace;
use std::sync::Arc;

use super::calibration::Known;
use super::fold::Fold;
use super::rewrite::Rewrite;
use super::{Decision, Lessons, Mode, Terms};
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::layers::keep::Kept;
use crate::fault;

/// A conversation between two calls.
#[derive(Clone, Debug)]
pub struct Conversation {
    mode: Mode,
    transcript: Transcript,
    /// Shared with a fork until one of them is planned. A worker then copies it.
    fold: Option<Arc<Fold>>,
    /// The fold of an unanswered call, if the host has since sent a side question that appends to its list.
    unanswered: Option<Arc<Fold>>,
    /// Index of the first message that may differ from the fold's.
    changed: usize,
    /// The fold before the last call, and `changed` then: withdrawing the call restores them. If the host only added messages,
    /// the sticky schedule undoes its edits instead of copying perhaps a hundred thousand rows.
    before: Option<(Arc<Fold>, usize)>,
}

impl Conversation {
    /// A conversation without messages.
    pub fn new(mode: Mode) -> Self {
        let transcript = Transcript::default();
        Self { mode, transcript, fold: None, unanswered: None, changed: usize::MAX, before: None }
    }

    /// Its messages.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The tool results that the last plan keeps whole as the newest states.
    pub fn kept_states(&self) -> Vec<Kept> {
        self.fold.as_ref().map(|fold| fold.kept_states()).unwrap_or_default()
    }

    /// Replaces the messages after the first `kept` with `rest`.
    pub fn go_on(&mut self, kept: usize, rest: Vec<Arc<Message>>) {
        self.changed = self.changed.min(kept);
        self.transcript.go_on(kept, rest);
    }

    /// The fold of the known part of the list.
    fn current_fold(&mut self, terms: &Terms, lessons: &Lessons) -> Fold {
        let changed = replace(&mut self.changed, usize::MAX);
        self.before = None;
        let new = || Fold::new(self.mode, terms);
        let unanswered = self.unanswered.take();
        let Some(before) = self.fold.take() else { return new() };
        let is_answered_since = |fold: &Fold| {
            let mut since = self.transcript.messages().iter().skip(fold.account.rows().len());
            since.any(|message| message.assistant().is_some())
        };
        if let Some(unanswered) = unanswered.filter(|unanswered| unanswered.account.rows().len() <= changed) {
            if unanswered.is_answered(&self.transcript, lessons) {
                return Arc::unwrap_or_clone(unanswered);
            }
            self.unanswered = Some(unanswered).filter(|unanswered| !is_answered_since(unanswered));
        }
        match Rewrite::of(&before, &self.transcript, changed) {
            None => {
                let is_aside = before.account.rows().len() < self.transcript.messages().len()
                    && !is_answered_since(&before);
                if is_aside && before.last_call().is_some() {
                    self.unanswered = Some(before.clone());
                }
                if self.mode == Mode::EveryCall {
                    self.before = Some((before.clone(), changed));
                }
                Arc::unwrap_or_clone(before)
            }
            Some(rewrite) => {
                let outlives = rewrite.answer.is_some() || before.outlives_rewrites();
                let fold =
                    if outlives { before.after_rewrite(&self.transcript, rewrite, lessons) } else { new() };
                self.before = Some((before, changed));
                fold
            }
        }
    }

    /// Plans the next call, with the lessons of its hook. A panic loses only what the fold had learned.
    pub fn decide(&mut self, terms: &Terms, lessons: &mut Lessons) -> Decision {
        let mut fold = self.current_fold(terms, lessons);
        let transcript = &self.transcript;
        let newest = transcript.messages().iter().rev().find_map(|message| message.assistant());
        let newest = newest.map(|of| &of.source);
        let stated_window = terms.limits.context_window;
        // Under `everyCall` only reports of this conversation make the estimate.
        let estimate = lessons.estimate(newest).filter(|_| self.mode == Mode::Sticky);
        let (overhead_tokens, window) = (terms.overhead_tokens, lessons.window(newest, stated_window));
        fold.reports.calibration.known =
            Known { overhead_tokens, is_claude: terms.is_claude, estimate, window, stated_window };
        fold.reports.watch.warmed_ms.clone_from(&terms.warmed_ms);
        fold.reports.watch.lost_ms.clone_from(&terms.lost_ms);
        if stated_window.total_cmp(&fold.host_limits.context_window).is_ne() {
            fold.reports.calibration.forget_windows();
        }
        // New answers are replayed under the old terms, under which their calls were made.
        fold.play(transcript, lessons);
        fault::step();
        fold.set_terms(transcript, terms);
        let (mut plan, floor, arithmetic) = fold.plan();
        plan.moves = plan.moves_in(transcript);
        let calibration = &fold.reports.calibration;
        let estimate = calibration.estimate();
        let is_over = calibration.room.is_some() || estimate.tokens(plan.after) > fold.limits.budget();
        // If the newest answer failed and is from another model than the last report, the lesson would mix two models.
        let lesson = calibration.lesson().filter(|lesson| Some(lesson.source) == newest);
        let newly_learned = lesson.and_then(|lesson| lessons.learn(lesson, stated_window));
        let limits = fold.limits.clone();
        if let Some(call) = fold.last_call() {
            lessons.called(*call);
        }
        fault::step();
        self.fold = Some(Arc::new(fold));
        Decision { plan, floor, estimate, arithmetic, is_over, newly_learned, limits }
    }

    /// Withdraws the last planned call: the host does not make it.
    pub fn withdraw(&mut self, lessons: &mut Lessons) {
        let Some(fold) = self.fold.as_mut().map(Arc::make_mut) else { return };
        if let Some(call) = fold.last_call() {
            lessons.withdraw(*call);
        }
        fold.withdraw();
        if let Some((before, changed)) = self.before.take() {
            (self.fold, self.changed) = (Some(before), self.changed.min(changed));
        }
    }
}
