//! Lessons that the conversations of a hook share: how each model counts, and what was sent in which call.

use std::collections::{HashMap, VecDeque};

use super::calibration::{LearnedWindow, Sent};
use crate::context::facts::traits::ByHash;
use crate::context::facts::transcript::{Message, Source};
use crate::tokens::estimate::Estimate;

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
    answers: HashMap<u128, Sent, ByHash>,
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

    /// The calls, oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.calls.iter()
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

    /// What was sent in the call that this message answers.
    #[must_use]
    pub fn sent(&self, answer: &Message) -> Option<Sent> {
        self.answers.get(&answer.fingerprint).copied()
    }
}
