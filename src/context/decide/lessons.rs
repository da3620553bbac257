//! Lessons that the conversations of a hook share: how each model counts, and what was sent in which call.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::calibration::{LearnedWindow, Sent};
use crate::context::facts::transcript::{Message, Source, Transcript};
use crate::tokens::estimate::{Estimate, Size};

/// Models that are remembered, the latest.
const MODELS: usize = 16;
/// Answered calls that are remembered, the latest: a list that was compacted or cut holds few older ones.
const ANSWERS: usize = 4096;
/// Calls that are remembered, the latest: more than a hook has under way.
const CALLS: usize = 512;
/// Reports of a conversation from which on its estimate is the hook's: a line through fewer hangs on its prior.
const TELLING_REPORTS: usize = 3;

/// A call that was planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The identity of the last message of its list.
    pub last: Option<u128>,
    /// What it sent.
    pub sent: Sent,
    /// The estimate of its prompt, in provider tokens.
    pub estimated: f64,
}

/// The lessons of one hook, in the tokens of one encoding.
#[derive(Debug, Default)]
pub struct Lessons {
    /// The one that answered last is the last.
    models: Vec<(Source, Estimate)>,
    /// The windows that refusals taught, by model and by the window that the host says: a host that says another one than before
    /// knows more than an old refusal.
    windows: Vec<(Source, f64, LearnedWindow)>,
    /// What was sent in the call of an answer, by its fingerprint.
    answers: FxHashMap<u128, Sent>,
    oldest_first: VecDeque<u128>,
    /// The latest calls, the last one last.
    calls: VecDeque<Call>,
}

impl Lessons {
    /// The estimate of a model, or before it is known of the one that answered last.
    #[must_use]
    pub fn estimate(&self, source: Option<&Source>) -> Option<Estimate> {
        let is_of = |(known, _): &&(Source, Estimate)| source.is_none_or(|source| known == source);
        self.models.iter().rev().find(is_of).map(|(_, estimate)| *estimate)
    }

    /// Learns how a model counts, by an estimate that rests on so many reports.
    pub fn learn(&mut self, source: &Source, estimate: Estimate, reports: usize) {
        let found = self.models.iter().position(|(known, _)| known == source);
        let known = found.map(|at| self.models.remove(at).1);
        let estimate = known.filter(|_| reports < TELLING_REPORTS).unwrap_or(estimate);
        self.models.push((source.clone(), estimate));
        self.models.drain(..self.models.len().saturating_sub(MODELS));
    }

    /// The window of a model, or before it is known of the one that answered last.
    #[must_use]
    pub fn window(&self, source: Option<&Source>, told: f64) -> Option<LearnedWindow> {
        let source = source.or_else(|| self.models.last().map(|(source, _)| source))?;
        let mut windows = self.windows.iter();
        windows.find(|(of, at, _)| of == source && at.total_cmp(&told).is_eq()).map(|(.., window)| *window)
    }

    /// Keeps the window of a model that refusals taught, until more is accepted. Returns `true` if it is news.
    pub fn keep_window(&mut self, source: &Source, told: f64, learned: Option<LearnedWindow>) -> bool {
        let known = self.window(Some(source), told);
        self.windows.retain(|(of, at, _)| of != source || at.total_cmp(&told).is_ne());
        self.windows.extend(learned.map(|window| (source.clone(), told, window)));
        learned.is_some() && learned != known
    }

    /// Remembers a call.
    pub fn called(&mut self, call: Call) {
        self.calls.push_back(call);
        self.calls.drain(..self.calls.len().saturating_sub(CALLS));
    }

    /// Forgets a call that was not made.
    pub fn withdraw(&mut self, call: Call) {
        if let Some(at) = self.calls.iter().rposition(|known| *known == call) {
            self.calls.remove(at);
        }
    }

    /// The call that the message at `at` of `list` answers: its list ended with the message before.
    #[must_use]
    pub fn call_before(&self, list: &Transcript, at: usize) -> Option<&Call> {
        self.call_among(list, at, |_| true)
    }

    /// The same of the calls that `may_be` it. Of several the report tells which: its estimate is the nearest. Without a report it
    /// is the latest.
    fn call_among(&self, list: &Transcript, at: usize, may_be: impl Fn(&Call) -> bool) -> Option<&Call> {
        let before = at.checked_sub(1).and_then(|at| list.get(at)).map(|message| message.identity);
        let reported = list.get(at).and_then(Message::reported_tokens);
        let off = |call: &&Call| reported.map_or(0.0, |tokens| (call.estimated - tokens).abs());
        let calls = self.calls.iter().rev().filter(|call| call.last == before && may_be(call));
        calls.min_by(|one, other| off(one).total_cmp(&off(other)))
    }

    /// Remembers what was sent in the call that this message answers.
    pub fn answered(&mut self, answer: &Message, sent: Sent) {
        if self.answers.insert(answer.fingerprint, sent).is_none() {
            self.oldest_first.push_back(answer.fingerprint);
        }
        while self.oldest_first.len() > ANSWERS {
            let oldest = self.oldest_first.pop_front();
            oldest.map(|oldest| self.answers.remove(&oldest));
        }
    }

    /// What was sent in the call that the message at `at` answers, behind messages of the size `raw`; `None` if no such call is
    /// known.
    #[must_use]
    pub fn sent_before(&self, list: &Transcript, at: usize, raw: Size) -> Option<Sent> {
        let known = self.answers.get(&list.get(at)?.fingerprint).copied();
        // Branches may send one list in several forms. A call counts last whose list its host edited since.
        let exact = || self.call_among(list, at, |call| call.sent.raw == raw);
        known.or_else(|| exact().or_else(|| self.call_before(list, at)).map(|call| call.sent))
    }
}
