//! A list that its host rewrote: what it shares with the list before, and what goes on of that.

use std::collections::HashSet;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use super::every_call::Layers;
use super::fold::{Fold, Pending};
use super::lessons::Lessons;
use super::sticky::SkiRental;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::{Account, Row};
use crate::context::request::layers::thinking;
use crate::context::request::validity::{strip_among, strip_unbound, strip_within};

/// A rewritten list beside the messages that a fold took in.
#[derive(Debug)]
pub struct Rewrite {
    /// The old position of each message of the shared beginning, by its new one; `None` for a renewed system message and for
    /// another version of the newest user message.
    pub kept: Vec<Option<usize>>,
    /// The end of the shared beginning in the old list.
    pub kept_end: usize,
    /// Answers before this position were taken in already.
    pub known: usize,
    /// The answer to the call that was planned last, if it is in the new list.
    pub answer: Option<usize>,
    /// True if every old answer is in the shared beginning: then only the tail of one request changed.
    pub is_tail: bool,
    /// The first message, system ones apart, that is another one than in the old list.
    pub changed: Option<usize>,
    /// True if the lists share no message but system ones at their beginnings: then they are two conversations.
    pub is_new: bool,
}

impl Rewrite {
    /// Messages of the list whose thinking was made behind others than stand before it now.
    fn unbound(&self) -> Range<usize> {
        let end = self.answer.map_or(self.known, |answer| answer + 1);
        self.changed.map_or(0..0, |changed| changed..end)
    }

    /// Compares `list` with the messages of `account`, from `changed` on; `None` if it only adds to them.
    pub(super) fn of(account: &Account, list: &Transcript, changed: usize) -> Option<Self> {
        let len = account.len();
        if changed >= len {
            return None;
        }
        let (mut old, mut new) = (changed, changed);
        let mut kept: Vec<Option<usize>> = (0..new).map(Some).collect();
        let (mut is_renewed, mut changed) = (false, None);
        while let (Some(was), Some(is)) = (account.message(old), list.get(new)) {
            let is_newest_user = || account.last_user() == Some(old) && list.last_user() == Some(new);
            if was.is_same(is) {
                kept.push(Some(old));
                (old, new) = (old + 1, new + 1);
                continue;
            }
            let (goes, comes) = if is_newest_user() {
                changed = changed.or(Some(new));
                (true, true)
            } else {
                (was.is_system(), is.is_system())
            };
            if !goes && !comes {
                break;
            }
            is_renewed = true;
            kept.extend(comes.then_some(None));
            (old, new) = (old + usize::from(goes), new + usize::from(comes));
        }
        if old == len && !is_renewed {
            return None;
        }
        let changed = changed.or((old < len).then_some(new));
        let last_answer = account.last_answer();
        let is_tail = last_answer.is_none_or(|last| last < old);
        let mut left = HashSet::with_capacity_and_hasher(len - old, FxBuildHasher);
        left.extend(account.rows().since(old).map(|(_, row)| row.message.identity));
        let is_left = |message: &Message| left.contains(&message.identity);
        let answers = |from: usize| {
            let messages = list.messages().iter().enumerate().skip(from);
            messages.filter(|(_, message)| message.assistant().is_some())
        };
        let known = answers(new).rfind(|(_, answer)| is_left(answer));
        let known = known.map_or(new, |(index, _)| index + 1);
        let newest_known = known.checked_sub(1).and_then(|index| list.get(index));
        let newest_old = last_answer.and_then(|index| account.message(index));
        let is_kept = newest_old.zip(newest_known).is_some_and(|(old, new)| old.identity == new.identity);
        // A compaction may leave no message that was sent, but the answer to the last call.
        let is_all_new = || !list.messages().iter().any(|message| is_left(message));
        let answer =
            if is_tail || is_kept || (old == 0 && is_all_new()) { answers(known).next() } else { None };
        let answer = answer.map(|(index, _)| index);
        let is_system = |was: &usize| account.message(*was).is_some_and(Message::is_system);
        let is_new = kept.iter().flatten().all(is_system);
        Some(Self { kept, kept_end: old, known, answer, is_tail, changed, is_new })
    }
}

impl Fold {
    /// True if it holds more than the messages tell: a list that was met as it stands and sent so tells all.
    pub(super) fn outlives_rewrites(&self) -> bool {
        self.has_lived || (self.layers.is_none() && self.account.sent() != self.account.raw())
    }

    /// The fold of a list that its host rewrote. Under the sticky schedule what both lists begin with is sent as it was; from there
    /// on nothing is decided yet.
    pub(super) fn continued(&self, transcript: &Transcript, mut rewrite: Rewrite, lessons: &Lessons) -> Self {
        let unbound = rewrite.unbound();
        // A host may go back to a list whose call was answered later.
        rewrite.answer = rewrite.answer.filter(|&at| lessons.is_answer_to(self.last_call(), transcript, at));
        let mut reports = self.reports.clone();
        reports.goes_on(&rewrite);
        let is_sticky = self.layers.is_none();
        // Where only the tail of one request changed, what a batch cut for its room stays cut.
        let newest_results = if rewrite.is_tail { 0 } else { self.limits.keep_recent_tool_results };
        let mut anew = Self {
            layers: self.layers.as_ref().map(|_| Layers::default()),
            policy: self.policy,
            set: self.set.clone(),
            limits: self.limits.clone(),
            reports,
            has_lived: self.has_lived,
            rental: self.rental_after(&rewrite),
            has_planned: self.has_planned && !rewrite.is_new,
            was_reported: self.is_reported(),
            restored_results: is_sticky.then_some(newest_results),
            unbound,
            ..Self::default()
        };
        for (index, message) in transcript.messages().iter().enumerate().take(rewrite.known) {
            anew.enter(index, message, transcript);
        }
        if is_sticky {
            anew.freeze(&self.account, transcript, &rewrite);
        }
        anew.rental = SkiRental { left: anew.rental.left.min(anew.context()), ..anew.rental };
        // What was planned last was sent. The call counts when its answer comes.
        let lived = self.pending.clone().zip(rewrite.answer);
        anew.pending = lived.map(|(call, at)| Pending { at, before: anew.rental, ..call });
        anew
    }

    /// What a rewritten list owes.
    fn rental_after(&self, rewrite: &Rewrite) -> SkiRental {
        // A new conversation owes nothing to what was carried before.
        if rewrite.is_new {
            return SkiRental::default();
        }
        // Nor does a list to a question that was asked aside.
        let is_aside = rewrite.is_tail && rewrite.answer.is_none();
        let aside = self.pending.as_ref().filter(|call| is_aside && !call.moves);
        aside.map_or(self.rental, |call| call.before)
    }

    /// Sends the groups that end in what both lists begin with as `before` does. Of a group that was cut, bound thinking stays out.
    fn freeze(&mut self, before: &Account, transcript: &Transcript, rewrite: &Rewrite) {
        let Rewrite { kept, kept_end, .. } = rewrite;
        let is_edited = |row: &Row| row.sent.is_edited();
        let edited = kept.iter().enumerate().filter_map(|(index, was)| {
            let was = (*was)?;
            before.row(was).is_some_and(is_edited).then_some((index, was))
        });
        let (pairs, cut): (Vec<_>, Vec<_>) = edited.partition(|&(index, was)| {
            transcript.group_end(index) <= kept.len() && before.group_end(was) <= *kept_end
        });
        self.account.send_as(before, &pairs);
        if let Some(&(changed, _)) = cut.first() {
            let end = self.account.len();
            strip_within(&mut self.account, changed..end);
        }
        self.account.take_oldest_touched();
        self.account.take_changed();
    }

    /// Sends whole what the end of a rewritten list may not do without. Bound thinking that was taken out never comes back.
    pub(super) fn restore(&mut self, newest_results: usize) {
        let step = thinking::step_under_way(&self.account);
        let needed = self.account.needed_whole(newest_results, step);
        for &index in &needed {
            self.account.send_whole(index);
        }
        strip_among(&mut self.account, &needed);
        strip_unbound(&mut self.account);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::facts::measure::{Raw, RawRole, outline};
    use crate::context::facts::transcript::Usage;

    #[test]
    fn a_call_whose_list_was_rewritten_before_its_answer_came_is_one_call() {
        let usage = Usage::default();
        let answer = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
        let list = |roles: &[RawRole<'_>]| {
            let of = |role: &RawRole<'_>| Arc::new(outline(&Raw::new(*role, Vec::new())));
            Transcript::new(roles.iter().map(of).collect())
        };
        let mut fold = Fold::default();
        let lessons = &mut Lessons::default();
        fold.play(&list(&[RawRole::User]), lessons);
        fold.plan();
        let rewritten = list(&[RawRole::Summary, answer]);
        let rewrite = Rewrite {
            kept: Vec::new(),
            kept_end: 0,
            known: 1,
            answer: Some(1),
            is_tail: true,
            changed: Some(0),
            is_new: true,
        };
        let mut fold = fold.continued(&rewritten, rewrite, lessons);
        fold.play(&rewritten, lessons);
        assert!(fold.has_lived);
    }
}
