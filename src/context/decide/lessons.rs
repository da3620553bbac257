//! What the calls of a hook teach for all its conversations: how each model counts, and what was sent in which call.

use std::collections::{HashMap, VecDeque};

use super::calibration::Sent;
use crate::context::facts::transcript::{Message, Source};
use crate::tokens::estimate::Estimate;

/// Models that are remembered, the latest.
const MODELS: usize = 16;
/// Answered calls that are remembered, the latest: a list that was compacted or cut holds few older ones.
const CALLS: usize = 4096;
/// Reports of a conversation from which on its estimate is the hook's: a line through fewer hangs on its prior.
const TELLING_REPORTS: usize = 3;

/// The lessons of one hook, in the tokens of one encoding.
#[derive(Debug, Default)]
pub struct Lessons {
    /// The one that answered last is the last.
    models: Vec<(Source, Estimate)>,
    /// What was sent in the call of an answer, by its fingerprint.
    calls: HashMap<u128, Sent>,
    oldest_first: VecDeque<u128>,
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

    /// Remembers what was sent in the call that this message answers.
    pub fn note(&mut self, answer: &Message, sent: Sent) {
        if self.calls.insert(answer.fingerprint, sent).is_none() {
            self.oldest_first.push_back(answer.fingerprint);
        }
        while self.oldest_first.len() > CALLS {
            let oldest = self.oldest_first.pop_front();
            oldest.map(|oldest| self.calls.remove(&oldest));
        }
    }

    /// What was sent in the call that this message answers.
    #[must_use]
    pub fn sent(&self, answer: &Message) -> Option<Sent> {
        self.calls.get(&answer.fingerprint).copied()
    }
}
