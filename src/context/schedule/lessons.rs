//! What the calls of a hook teach for all its conversations: how each model counts, and what was sent in which call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::calibration::Sent;
use crate::context::transcript::{Message, Source};
use crate::tokens::estimate::Estimate;

/// Models that are remembered, the latest.
const MODELS: usize = 16;
/// Answered calls that are remembered, the latest: a list that was compacted or cut holds few older ones.
const CALLS: usize = 4096;
/// Calls without an answer that are remembered, the latest.
const OPEN_CALLS: usize = 64;
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
    open: VecDeque<OpenCall>,
    made: u64,
}

/// A call that was not answered yet.
#[derive(Debug)]
struct OpenCall {
    number: u64,
    /// The fingerprint of the last message sent, and when that was made.
    last: u128,
    time_ms: Option<f64>,
    sent: Sent,
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

    /// Remembers a call that is made now, and ends with this message. Returns its number.
    pub fn begin(&mut self, last: &Message, sent: Sent) -> u64 {
        self.made += 1;
        let (number, time_ms) = (self.made, last.timestamp_ms);
        self.open.push_back(OpenCall { number, last: last.fingerprint, time_ms, sent });
        self.open.drain(..self.open.len().saturating_sub(OPEN_CALLS));
        number
    }

    /// Forgets the call of this number.
    pub fn end(&mut self, number: u64) {
        self.open.retain(|call| call.number != number);
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

    /// What was sent in the call of an answer that reports its prompt or a refusal, and that stands behind `before` in a list met
    /// for the first time: in the one noted with it, else in the open call that ended with the message before it, else in the only
    /// open one, if its last message went.
    pub fn settle(&mut self, answer: &Message, before: &[Arc<Message>]) -> Option<Sent> {
        let is_report = answer.reported_tokens().is_some()
            || answer.assistant().is_some_and(|of| of.usage.refused.is_some());
        if !is_report {
            return None;
        }
        if let Some(noted) = self.calls.get(&answer.fingerprint) {
            return Some(*noted);
        }
        let is_older = |call: &OpenCall| call.time_ms.is_none_or(|time| answer.timestamp_ms >= Some(time));
        let ends_there =
            |call: &OpenCall| before.last().is_some_and(|of| of.fingerprint == call.last) && is_older(call);
        let went = |call: &OpenCall| before.iter().all(|of| of.fingerprint != call.last);
        let only =
            || self.open.iter().position(|call| call.time_ms.is_some() && is_older(call) && went(call));
        let is_one = self.open.iter().filter(|call| is_older(call)).count() == 1;
        let at = self.open.iter().rposition(ends_there).or_else(|| only().filter(|_| is_one))?;
        let sent = self.open.remove(at)?.sent;
        self.note(answer, sent);
        Some(sent)
    }
}
