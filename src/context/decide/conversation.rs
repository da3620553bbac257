//! One conversation across its calls: the facts of its messages, and the fold that knows what was sent and reported.
//!
//! A host adds to its list, or rewrites it; either is a splice. What is known of calls outlives a rewrite, a change of the
//! window and one of prices: a report is of what was really sent.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::calibration::Sent;
use super::fold::{Fold, Terms};
use super::{Decision, Lessons, Mode};
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::Account;
use crate::fault;
use crate::tokens::estimate::Estimate;

/// A conversation between two calls.
#[derive(Clone, Debug)]
pub struct Conversation {
    mode: Mode,
    transcript: Transcript,
    fold: Option<Fold>,
    /// True if a call was made by what the fold decided.
    has_lived: bool,
    /// Position of the first message that may not be the one the fold took in there.
    changed: usize,
    /// The latest calls, the last one last. A host may go back to a list whose call was answered later.
    calls: Vec<Call>,
    /// The calls of another conversation that this one goes on from, and where the answer to its last one stands.
    follows: Option<(Vec<Call>, usize)>,
    /// The estimate that its reports, or those of that one, taught.
    learned: Option<Estimate>,
}

/// Calls of a conversation that are remembered, the latest.
const CALLS: usize = 8;

/// A call that was planned.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The identity of the last message of its list.
    last: Option<u128>,
    sent: Sent,
}

/// The calls that answers of a list may have come to.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    latest: Vec<Call>,
    /// Where the answer to the last one stands in another list.
    answer: Option<usize>,
}

impl Calls {
    /// The call whose list ended with the message before `at`.
    fn before(&self, list: &Transcript, at: usize) -> Option<usize> {
        let before = at.checked_sub(1).and_then(|at| list.get(at)).map(|message| message.identity);
        self.latest.iter().rposition(|call| call.last == before)
    }

    /// What was sent in the call that the message at `at` answers, `Some(None)` where nobody knows; `None` if no call is known.
    pub fn sent(&self, list: &Transcript, at: usize) -> Option<Option<Sent>> {
        let call = self.before(list, at).and_then(|place| self.latest.get(place));
        let followed = || (self.answer == Some(at)).then(|| self.latest.last());
        call.map(Some).or_else(followed).map(|call| call.map(|call| call.sent))
    }
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
        Self {
            mode,
            transcript,
            fold: None,
            has_lived: false,
            changed: usize::MAX,
            calls: Vec::new(),
            follows: None,
            learned: None,
        }
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

    /// Puts the first `inserted` of `newer` where `removed` messages stood from `at` on, and the others at the end.
    pub fn splice(&mut self, at: usize, removed: usize, inserted: usize, mut newer: Vec<Arc<Message>>) {
        let added = newer.split_off(inserted.min(newer.len()));
        self.changed = self.changed.min(at);
        self.transcript.splice(at..at.saturating_add(removed), newer.into_iter(), added.into_iter());
    }

    /// Decides about the call that would follow its messages, by the lessons of its hook too. A panic loses what the fold had learned, and nothing else.
    pub fn decide(&mut self, terms: &Terms, lessons: &mut Lessons) -> Decision {
        let Self { mode, transcript, has_lived, .. } = self;
        let mut fold = self.fold.take();
        *has_lived &= fold.is_some();
        let changed = std::mem::replace(&mut self.changed, usize::MAX);
        let calls = match self.follows.take() {
            Some((latest, answer)) => Calls { latest, answer: Some(answer) },
            None => Calls { latest: self.calls.clone(), answer: None },
        };
        let mut unbound = 0..0;
        if let Some(before) = &mut fold {
            let account = &*before.schedule().parts().0;
            if let Some(mut rewrite) = Rewrite::of(account, transcript, changed) {
                // Of a list that was met as it stands and sent so, nothing is known that it does not tell.
                let is_known = *has_lived || rewrite.answer.is_some() || before.schedule().has_edits();
                if is_known {
                    unbound = rewrite.unbound();
                    let call = rewrite.answer.and_then(|at| calls.before(transcript, at));
                    // The answer is to an earlier call than the last.
                    if call.is_some_and(|call| call + 1 < calls.latest.len()) {
                        rewrite.answer = None;
                    }
                    before.schedule().rewrite(transcript, &rewrite);
                } else {
                    fold = None;
                }
            }
        }
        let mut fold = fold.unwrap_or_else(|| Fold::new(*mode, terms));
        let schedule = fold.schedule();
        let calibration = &mut schedule.parts().1.calibration;
        calibration.set_overhead(terms.overhead_tokens);
        let newest = transcript.messages().iter().rev().find_map(|message| message.assistant());
        calibration.set_known(terms.known_window);
        calibration.stand_in(match mode {
            Mode::Sticky => lessons.estimate(newest.map(|of| &of.source)),
            // What every call recomputes does not hang on other conversations.
            Mode::EveryCall => self.learned,
        });
        // The answers that came in are to calls made under the terms of then: they are taken in before the new ones hold.
        schedule.play(transcript, lessons, &calls, &mut |request| *has_lived |= request.is_lived);
        schedule.unbind(unbound);
        fault::step();
        schedule.set_terms(transcript, terms.policy, &terms.limits);
        let (mut plan, floor, arithmetic) = schedule.plan();
        plan.moves = plan.moves_in(transcript);
        let calibration = &schedule.parts().1.calibration;
        if let Some((source, estimate, reports)) = calibration.line_of_last() {
            lessons.learn(source, estimate, reports);
            self.learned = Some(estimate);
        }
        let last = transcript.messages().last().map(|message| message.identity);
        self.calls.push(Call { last, sent: Sent { raw: plan.before, edited: plan.after } });
        self.calls.drain(..self.calls.len().saturating_sub(CALLS));
        let (estimate, is_refused) = (calibration.estimate(), calibration.room().is_some());
        let learned = calibration.learned();
        let limits = schedule.limits().clone();
        fault::step();
        self.fold = Some(fold);
        Decision { plan, floor, estimate, arithmetic, is_refused, learned, limits }
    }

    /// Forgets all but the facts of its messages: they are those of another conversation now. If the last call was answered, the
    /// message at `answer` is that.
    pub fn start_over(&mut self, answer: usize) {
        self.follows = Some((self.calls.clone(), answer));
        (self.fold, self.has_lived) = (None, false);
    }

    /// Goes on from another conversation. The message at `answer`, if it is one, came to a call of that.
    pub fn follow(&mut self, other: &Self, answer: usize) {
        self.follows = Some((other.calls.clone(), answer));
        self.learned = other.learned;
    }

    /// The same where the other one counts by another encoding: nothing of that can be compared.
    pub fn follow_other_counts(&mut self, answer: usize) {
        self.follows = Some((Vec::new(), answer));
    }

    /// Says that what was planned last is not sent.
    pub fn withdraw(&mut self) {
        self.calls.pop();
        if let Some(fold) = &mut self.fold {
            fold.schedule().withdraw();
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
        let (mut old, mut new) = (changed.min(len), changed.min(len));
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
        let left: HashSet<u128> = account.rows().since(old).map(|(_, row)| row.message.identity).collect();
        let answers = |from: usize| {
            let messages = list.messages().iter().enumerate().skip(from);
            messages.filter(|(_, message)| message.assistant().is_some())
        };
        let known = answers(new).rfind(|(_, answer)| left.contains(&answer.identity));
        let known = known.map_or(new, |(index, _)| index + 1);
        let newest_known = known.checked_sub(1).and_then(|index| list.get(index));
        let newest_old = last_answer.and_then(|index| account.message(index));
        let is_kept = newest_old.zip(newest_known).is_some_and(|(old, new)| old.identity == new.identity);
        let answer = if is_tail || is_kept { answers(known).next().map(|(index, _)| index) } else { None };
        Some(Self { kept, kept_end: old, known, answer, is_tail, changed })
    }
}
