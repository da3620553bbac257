//! Compares a rewritten list with the one before, and continues the fold on it.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::every_call::Layers;
use super::fold::{Fold, Pending};
use super::lessons::Lessons;
use super::sticky::SkiRental;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::{Account, Row};
use crate::context::request::layers::thinking;
use crate::context::request::layers::window::tail_start;
use crate::context::request::validity::{strip_among, strip_unbound, strip_within};
use crate::context::weights::GROWTH_SHARE;

/// A rewritten list, compared with the messages of a fold.
#[derive(Debug)]
pub(super) struct Rewrite {
    /// The shared prefix: the position in the old list of each new message. `None` for a renewed system message and for another
    /// version of the newest user message.
    pub shared: Vec<Option<usize>>,
    /// End of the shared prefix in the old list.
    pub shared_old_end: usize,
    /// Position in the new list before which all answers are known.
    pub known_end: usize,
    /// Position in the new list of the answer to the last planned call.
    pub answer: Option<usize>,
    /// True if the shared prefix holds every old answer: then only the tail of one request changed.
    pub is_tail: bool,
    /// Messages of the new list whose bound thinking no longer matches its prefix.
    pub stale_thinking: Range<usize>,
    /// True if the lists share only system messages: then they are two conversations.
    pub is_unrelated: bool,
}

impl Rewrite {
    /// Compares `list` with the messages of a fold from `unchecked` on. Returns `None` if it only adds to them.
    pub(super) fn of(fold: &Fold, list: &Transcript, unchecked: usize) -> Option<Self> {
        let account = &fold.account;
        let len = account.rows().len();
        if unchecked >= len {
            return None;
        }
        let (mut old, mut is_renewed, mut first_changed) = (unchecked, false, None);
        let mut shared: Vec<Option<usize>> = (0..old).map(Some).collect();
        while let (Some(was), Some(is)) = (account.message(old), list.get(shared.len())) {
            if was.is_same(is) {
                shared.push(Some(old));
                old += 1;
                continue;
            }
            let new = shared.len();
            let is_newest_user = || account.last_user() == Some(old) && list.last_user() == Some(new);
            let (goes, comes) = if is_newest_user() {
                first_changed = first_changed.or(Some(new));
                (true, true)
            } else {
                (was.is_system(), is.is_system())
            };
            if !goes && !comes {
                break;
            }
            is_renewed = true;
            shared.extend(comes.then_some(None));
            old += usize::from(goes);
        }
        let new = shared.len();
        if old == len && !is_renewed {
            return None;
        }
        let last_answer = account.last_answer();
        // Messages that only a withdrawn call had were never sent.
        let unanswered = fold.pending.as_ref().map(|call| call.at);
        let sent_end = unanswered.or(last_answer.map(|last| last + 1)).unwrap_or(0);
        let first_changed = first_changed.or((old < sent_end).then_some(new));
        let is_tail = last_answer.is_none_or(|last| last < old);
        let left: FxHashSet<u128> = account.rows().iter().skip(old).map(|row| row.message.identity).collect();
        let is_left = |message: &Message| left.contains(&message.identity);
        let answers = |from: usize| {
            let messages = list.messages().iter().enumerate().skip(from);
            messages.filter(|(_, message)| message.assistant().is_some())
        };
        let newest_known = answers(new).rfind(|(_, answer)| is_left(answer));
        let known_end = newest_known.map_or(new, |(index, _)| index + 1);
        let newest_known = known_end.checked_sub(1).and_then(|index| list.get(index));
        let newest_old = last_answer.and_then(|index| account.message(index));
        let is_kept = newest_old.zip(newest_known).is_some_and(|(old, new)| old.identity == new.identity);
        // A compaction may keep the answer to the last call and, of the messages before it, none or only the last.
        let is_all_new = || !list.messages().iter().any(|message| is_left(message));
        let last_old = account.rows().last().map(|row| row.message.identity);
        let last_kept = list.messages().iter().rposition(|message| Some(message.identity) == last_old);
        let is_answered = is_tail || is_kept || last_kept.is_some() || (old == 0 && is_all_new());
        let asked_end = last_kept.map_or(known_end, |index| known_end.max(index + 1));
        let answer = answers(asked_end).next().filter(|_| is_answered).map(|(index, _)| index);
        let is_system = |was: &usize| account.message(*was).is_some_and(Message::is_system);
        let is_unrelated = shared.iter().flatten().all(is_system);
        let stale_end = answer.map_or(known_end, |answer| answer + 1);
        let stale_thinking = first_changed.map_or(0..0, |changed| changed..stale_end);
        Some(Self { shared, shared_old_end: old, known_end, answer, is_tail, stale_thinking, is_unrelated })
    }
}

impl Fold {
    /// Returns `true` if the fold holds more than the messages show, such as edits.
    pub(super) fn outlives_rewrites(&self) -> bool {
        self.has_answer || (self.layers.is_none() && self.account.sent() != self.account.raw())
    }

    /// The fold of a rewritten list. Under the sticky schedule the shared prefix is sent as before; nothing is decided yet
    /// about the rest.
    pub(super) fn after_rewrite(
        &self,
        transcript: &Transcript,
        mut rewrite: Rewrite,
        lessons: &Lessons,
    ) -> Self {
        // A host may return to a list whose call was answered later.
        rewrite.answer = rewrite.answer.filter(|&at| lessons.is_answer_to(self.last_call(), transcript, at));
        let mut reports = self.reports.clone();
        reports.after_rewrite(rewrite.is_tail);
        let is_sticky = self.layers.is_none();
        // If only the tail of one request changed, the cuts of the last batch stay.
        let newest_results = if rewrite.is_tail { 0 } else { self.limits.keep_recent_tool_results };
        let mut anew = Self {
            layers: self.layers.as_ref().map(|_| Layers::default()),
            policy: self.policy,
            host_limits: self.host_limits.clone(),
            limits: self.limits.clone(),
            reports,
            has_answer: self.has_answer,
            rental: self.rental_after(&rewrite),
            has_planned: self.has_planned && !rewrite.is_unrelated,
            restored_results: is_sticky.then_some(newest_results),
            stale_thinking: rewrite.stale_thinking.clone(),
            ..Self::default()
        };
        for (index, message) in transcript.messages().iter().enumerate().take(rewrite.known_end) {
            // Thinking is bound to what its own call sent.
            if let Some(layers) = anew.layers.as_mut().filter(|_| message.assistant().is_some()) {
                layers.settle(&mut anew.account, &anew.limits, &anew.reports.calibration);
                anew.account.end_trial();
            }
            anew.enter(index, message, transcript);
        }
        if is_sticky {
            anew.freeze(&self.account, transcript, &rewrite);
        }
        if anew.account.sent().cl100k < anew.rental.left.cl100k {
            anew.rental.left = anew.account.sent();
        }
        // The last planned call was sent. It counts when its answer comes.
        let pending = self.pending.clone().zip(rewrite.answer);
        anew.pending = pending.map(|(call, at)| Pending { at, before: anew.rental, ..call });
        anew
    }

    /// The ski rental of a rewritten list.
    fn rental_after(&self, rewrite: &Rewrite) -> SkiRental {
        // A new conversation has carried nothing yet.
        if rewrite.is_unrelated {
            return SkiRental::default();
        }
        // A side question does not count as carrying.
        let is_aside = rewrite.is_tail && rewrite.answer.is_none();
        let aside = self.pending.as_ref().filter(|call| is_aside && !call.moves);
        aside.map_or(self.rental, |call| call.before)
    }

    /// Sends the groups within the shared prefix as `before` does. Strips bound thinking from the first split group on.
    fn freeze(&mut self, before: &Account, transcript: &Transcript, rewrite: &Rewrite) {
        let Rewrite { shared, shared_old_end, .. } = rewrite;
        let is_edited = |row: &Row| row.sent.is_edited();
        let edited = shared.iter().enumerate().filter_map(|(index, was)| {
            let was = (*was)?;
            before.row(was).is_some_and(is_edited).then_some((index, was))
        });
        let (pairs, cut): (Vec<_>, Vec<_>) = edited.partition(|&(index, was)| {
            transcript.group_end(index) <= shared.len() && before.group_end(was) <= *shared_old_end
        });
        self.account.send_as(before, &pairs);
        if let Some(&(changed, _)) = cut.first() {
            let end = self.account.rows().len();
            strip_within(&mut self.account, changed..end);
        }
        self.account.take_oldest_touched();
        self.account.take_changed();
    }

    /// Index from which a rewritten list is sent whole again. It is 0 for a list so small that the schedule leaves it alone.
    /// Otherwise the newest messages that fit are sent whole.
    fn newest_that_fit(&self) -> usize {
        let (estimate, rows) = (self.estimate(), self.account.rows());
        if estimate.tokens(self.account.raw()) <= self.least_context() {
            return 0;
        }
        let tail = tail_start(&self.account, &self.limits);
        let (mut from, mut context) = (rows.len(), self.context());
        for (index, row) in rows.iter().enumerate().skip(tail).rev() {
            context += estimate.scale * row.message.tokens.saturating_sub(row.tokens()) as f64;
            if context > (1.0 - GROWTH_SHARE) * self.limit() {
                break;
            }
            from = index;
        }
        from
    }

    /// Restores the messages that the end of a rewritten list needs whole. Stripped bound thinking never comes back.
    pub(super) fn restore(&mut self, newest_results: usize) {
        let step = thinking::step_under_way(&self.account);
        let tail = if newest_results > 0 { self.newest_that_fit() } else { self.account.rows().len() };
        let needed = self.account.needed_whole(newest_results, tail, step);
        for &index in &needed {
            self.account.send_whole(index);
        }
        strip_among(&mut self.account, &needed);
        strip_unbound(&mut self.account);
    }
}
