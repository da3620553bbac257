//! Lessons that the conversations of a hook share: how each model counts, and what each call sent.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::by_model::ByModel;
use super::calibration::{LearnedWindow, Lesson, SentSizes};
use crate::context::facts::transcript::{Message, Source, Transcript};
use crate::tokens::estimate::{Estimate, Size};

/// Most answered calls kept, the latest: a compacted or cut list has few older ones.
const ANSWERS: usize = 4096;
/// Most calls kept, the latest: more than a hook has pending.
const CALLS: usize = 512;
/// Reports after which a conversation's estimate replaces the hook's. With fewer the prior dominates.
const MIN_REPORTS_TO_SHARE: usize = 3;
/// Most windows kept of a model, the latest.
const WINDOWS: usize = 8;
/// Largest relative difference between the estimates of two similar calls.
const ALIKE: f64 = 0.03;

/// A call that was planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The identity of the last message of its list.
    pub last: Option<u128>,
    /// The sizes it sent.
    pub sent: SentSizes,
    /// The estimate of its prompt, in provider tokens.
    pub estimated: f64,
}

#[derive(Clone, Debug, Default)]
struct Model {
    estimate: Option<Estimate>,
    /// The learned windows, each with the window that the host stated then. A newly stated window overrides an old refusal.
    windows: Vec<(f64, LearnedWindow)>,
}

/// The lessons of one hook, in the tokens of one encoding.
#[derive(Debug, Default)]
pub struct Lessons {
    models: ByModel<Model>,
    /// The sizes sent in the call of an answer, by the answer's fingerprint.
    answers: FxHashMap<u128, SentSizes>,
    oldest_first: VecDeque<u128>,
    /// The latest calls, newest last.
    calls: VecDeque<Call>,
}

impl Lessons {
    /// What is known of a model; without `source`, of the one that answered last.
    fn model(&self, source: Option<&Source>) -> Option<&Model> {
        match source {
            Some(source) => self.models.get(source),
            None => self.models.entries.last().map(|(_, model)| model),
        }
    }

    /// The estimate of a model; without `source`, of the one that answered last.
    pub fn estimate(&self, source: Option<&Source>) -> Option<Estimate> {
        self.model(source)?.estimate
    }

    /// The window learned from refusals while the host stated the window `stated`.
    pub fn window(&self, source: Option<&Source>, stated: f64) -> Option<LearnedWindow> {
        let windows = &self.model(source)?.windows;
        windows.iter().find(|(at, _)| at.total_cmp(&stated).is_eq()).map(|(_, window)| *window)
    }

    /// Learns from a conversation in which the host states the window `stated`. Returns the model's window if it is new.
    pub fn learn(&mut self, lesson: Lesson<'_>, stated: f64) -> Option<LearnedWindow> {
        let Lesson { source, line, window } = lesson;
        let is_news = window != self.window(Some(source), stated);
        self.models.change(source, |model| {
            let telling =
                line.filter(|(_, reports)| model.estimate.is_none() || *reports >= MIN_REPORTS_TO_SHARE);
            model.estimate = telling.map(|(estimate, _)| estimate).or(model.estimate);
            model.windows.retain(|(at, _)| at.total_cmp(&stated).is_ne());
            model.windows.extend(window.map(|window| (stated, window)));
            model.windows.drain(..model.windows.len().saturating_sub(WINDOWS));
        });
        window.filter(|_| is_news)
    }

    /// The window that the host stated at the latest call, in tokens.
    pub fn stated_window(&self) -> Option<f64> {
        self.calls.back()?.sent.stated_window
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

    /// The call that the message at `at` of `list` answers: one that passes `may_be` and whose list ended with the message
    /// before. Several are told apart by the estimate nearest to the report, without one by time: the latest.
    fn call_among(&self, list: &Transcript, at: usize, may_be: impl Fn(&Call) -> bool) -> Option<&Call> {
        let before = at.checked_sub(1).and_then(|at| list.get(at)).map(|message| message.identity);
        let reported = list.get(at).and_then(Message::reported_tokens);
        let off = |call: &&Call| reported.map_or(0.0, |tokens| (call.estimated - tokens).abs());
        let calls = self.calls.iter().rev().filter(|call| call.last == before && may_be(call));
        calls.min_by(|one, other| off(one).total_cmp(&off(other)))
    }

    /// Returns `false` if the report of the message at `at` fits another known call better than `call`.
    pub fn is_answer_to(&self, call: Option<&Call>, list: &Transcript, at: usize) -> bool {
        let is_like = |other: &Call| {
            let is_near = |call: &Call| (call.estimated - other.estimated).abs() <= ALIKE * other.estimated;
            call.is_some_and(|call| call.last == other.last && is_near(call))
        };
        self.call_among(list, at, |_| true).is_none_or(is_like)
    }

    /// Remembers the sizes sent in the call that `answer` answers.
    pub fn answered(&mut self, answer: &Message, sent: SentSizes) {
        if self.answers.insert(answer.fingerprint, sent).is_none() {
            self.oldest_first.push_back(answer.fingerprint);
        }
        if self.oldest_first.len() > ANSWERS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }

    /// The sizes sent in the call that the message at `at` answers; `None` if it is unknown. `raw` is the size of the
    /// messages before it.
    pub fn sent_before(&self, list: &Transcript, at: usize, raw: Size) -> Option<SentSizes> {
        let known = self.answers.get(&list.get(at)?.fingerprint).copied();
        // Branches may send one list in several forms, so a call of exactly this size wins. The host may have edited the
        // list since, so any other call comes second.
        let exact = || self.call_among(list, at, |call| call.sent.raw == raw);
        known.or_else(|| exact().or_else(|| self.call_among(list, at, |_| true)).map(|call| call.sent))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::facts::measure::{Raw, RawRole, outline};
    use crate::context::facts::transcript::Usage;

    #[test]
    fn of_two_calls_that_are_alike_either_may_be_answered() {
        let message = |role| Arc::new(outline(&Raw::new(role, Vec::new())));
        let usage = Usage { input: Some(1010.0), ..Usage::default() };
        let answer = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
        let transcript = Transcript::new(vec![message(RawRole::User), message(answer)]);
        let mut lessons = Lessons::default();
        let last = transcript.get(0).map(|message| message.identity);
        let calls =
            [2000.0, 1000.0, 1010.0].map(|estimated| Call { last, sent: SentSizes::default(), estimated });
        for call in calls {
            lessons.called(call);
        }
        let may_answer = calls.map(|call| lessons.is_answer_to(Some(&call), &transcript, 1));
        assert_eq!(may_answer, [false, true, true]);
    }

    #[test]
    fn a_window_holds_while_the_host_says_another_one() {
        let (source, mut lessons) = (Source::default(), Lessons::default());
        let window = Some(LearnedWindow { tokens: 128_000.0, output: 0.0 });
        let mut learn =
            |window, stated| lessons.learn(Lesson { source: &source, line: None, window }, stated);
        assert_eq!([learn(window, 2e5), learn(None, 4e5), learn(window, 2e5)], [window, None, None]);
        assert_eq!(lessons.window(Some(&source), 2e5), window);
    }
}
