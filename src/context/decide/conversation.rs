//! One conversation across its calls: the facts of its messages, and the fold that knows what was sent and reported.
//!
//! A host adds to its list, or rewrites it. What is known of calls outlives a rewrite, a change of the
//! window and one of prices: a report is of what was really sent.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::calibration::Sent;
use super::fold::{Fold, Terms};
use super::lessons::Call;
use super::{Decision, Lessons, Mode};
use crate::context::facts::traits::ByHash;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::Account;
use crate::context::request::validity::strip_within;
use crate::fault;

/// A conversation between two calls.
#[derive(Clone, Debug)]
pub struct Conversation {
    mode: Mode,
    transcript: Transcript,
    /// Shared with a fork until either of them is planned: a copy of it is made on a worker.
    fold: Option<Arc<Fold>>,
    /// True if a call was made by what the fold decided.
    has_lived: bool,
    /// Position of the first message that may not be the one the fold took in there.
    changed: usize,
    /// The call that was planned last.
    last_call: Option<Call>,
}

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

impl Conversation {
    /// One without messages.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self::of(mode, Transcript::default())
    }

    /// One that is met with this transcript.
    #[must_use]
    pub fn of(mode: Mode, transcript: Transcript) -> Self {
        Self { mode, transcript, fold: None, has_lived: false, changed: usize::MAX, last_call: None }
    }

    /// Its messages.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Says when the host kept the provider's cache warm, and when it gave it up, in ms.
    pub fn set_cache_times(&mut self, warmed: Vec<f64>, lost: Vec<f64>) {
        self.transcript.set_cache_times(warmed, lost);
    }

    /// Goes on with a list of which the first `kept` messages are those that it has; `rest` follows them.
    pub fn go_on(&mut self, kept: usize, rest: Vec<Arc<Message>>) {
        self.changed = self.changed.min(kept);
        self.transcript.go_on(kept, rest);
    }

    /// Decides about the call that would follow its messages, by the lessons of its hook too. A panic loses what the fold had
    /// learned, and nothing else.
    pub fn decide(&mut self, terms: &Terms, lessons: &mut Lessons) -> Decision {
        let before = self.fold.take();
        let Self { mode, transcript, has_lived, last_call, .. } = self;
        *has_lived &= before.is_some();
        let changed = std::mem::replace(&mut self.changed, usize::MAX);
        let rewrite = before.as_ref().and_then(|before| Rewrite::of(before.account(), transcript, changed));
        let (mut fold, unbound) = match (before, rewrite) {
            // Of a list that was met as it stands and sent so, nothing is known that it does not tell.
            (Some(before), Some(mut rewrite))
                if *has_lived || rewrite.answer.is_some() || before.has_frozen() =>
            {
                let unbound = rewrite.unbound();
                // A host may go back to a list whose call was answered later.
                let is_to_last = |&at: &usize| {
                    let call = lessons.call_before(transcript, at);
                    call.is_none_or(|call| last_call.as_ref() == Some(call))
                };
                rewrite.answer = rewrite.answer.filter(is_to_last);
                (before.continued(transcript, &rewrite), unbound)
            }
            (Some(before), None) => (Arc::unwrap_or_clone(before), 0..0),
            _ => (Fold::new(*mode, terms), 0..0),
        };
        let schedule = fold.schedule();
        let calibration = &mut schedule.parts().1.calibration;
        calibration.set_overhead(terms.overhead_tokens);
        let newest = transcript.messages().iter().rev().find_map(|message| message.assistant());
        let newest = newest.map(|of| &of.source);
        calibration.set_known(lessons.window(newest, terms.limits.context_window));
        calibration.stand_in(match mode {
            Mode::Sticky => lessons.estimate(newest),
            // What every call recomputes does not hang on other conversations.
            Mode::EveryCall => None,
        });
        // The answers that came in are to calls made under the terms of then: they are taken in before the new ones hold.
        schedule.play(transcript, lessons, &mut |request| *has_lived |= request.is_lived);
        // What stands before these messages is not what their thinking was made behind.
        strip_within(schedule.parts().0, unbound);
        fault::step();
        schedule.set_terms(transcript, terms.policy, &terms.limits);
        let (mut plan, floor, arithmetic) = schedule.plan();
        plan.moves = plan.moves_in(transcript);
        let calibration = &schedule.parts().1.calibration;
        if let Some((source, estimate, reports)) = calibration.line_of_last() {
            lessons.learn(source, estimate, reports);
        }
        let (estimate, is_refused) = (calibration.estimate(), calibration.room().is_some());
        let learned = calibration.learned();
        let is_news =
            newest.is_some_and(|source| lessons.keep_window(source, terms.limits.context_window, learned));
        let limits = schedule.limits().clone();
        let call = Call {
            last: transcript.messages().last().map(|message| message.identity),
            sent: Sent { raw: plan.before, edited: plan.after },
            estimated: estimate.tokens(plan.after),
        };
        lessons.called(call);
        *last_call = Some(call);
        fault::step();
        self.fold = Some(Arc::new(fold));
        Decision { plan, floor, estimate, arithmetic, is_refused, learned, is_news, limits }
    }

    /// Says that the call which was planned last is not made.
    pub fn withdraw(&mut self, lessons: &mut Lessons) {
        if let Some(call) = self.last_call.take() {
            lessons.withdraw(call);
        }
        if let Some(fold) = &mut self.fold {
            Arc::make_mut(fold).schedule().withdraw();
        }
    }
}

impl Rewrite {
    /// Messages of the list whose thinking was made behind others than stand before it now.
    fn unbound(&self) -> Range<usize> {
        let end = self.answer.map_or(self.known, |answer| answer + 1);
        self.changed.map_or(0..0, |changed| changed..end)
    }

    /// Compares `list` with the messages of `account`, from `changed` on; `None` if it only adds to them.
    fn of(account: &Account, list: &Transcript, changed: usize) -> Option<Self> {
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
        let mut left = HashSet::with_capacity_and_hasher(len - old, ByHash::default());
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
