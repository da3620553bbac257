//! Reads a transcript's bill back: what was paid, what the provider's cache missed and why, and what each move of the hook
//! cost and has brought since.
//!
//! The schedule is played over the transcript once more, under the same options, and tells what was sent at every call;
//! the reports tell what that cost. Nothing is decided, and the work is linear in the messages.

mod moves;
mod presence;
mod report;

pub use moves::Move;
pub use report::{Missed, Quantiles, Report};

use crate::context::schedule::cache_watch::CacheWatch;
use crate::context::schedule::fold::Fold;
use crate::context::schedule::reports::Played;
use crate::context::schedule::tariff::Tariff;
use crate::context::schedule::{Mode, Terms};
use crate::context::transcript::{Source, Transcript, Usage};
use crate::tokens::estimate::Size;

/// The calls of one conversation, list after list where it was compacted or went back.
#[derive(Clone, Debug, Default)]
pub struct Book {
    calls: Vec<Call>,
    sources: Vec<Source>,
    watch: Option<CacheWatch>,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The source that answered, by its position.
    pub(crate) source: usize,
    pub(crate) usage: Usage,
    pub(crate) played: Played,
    /// Calls of the same list before it.
    pub(crate) nth: usize,
}

impl Call {
    /// The prices of its tokens, of those of all sources.
    fn tariff(&self, tariffs: &[Option<Tariff>]) -> Option<Tariff> {
        let listed = tariffs.get(self.source).copied().flatten();
        listed.map(|tariff| tariff.at(self.played.sight.prompt.unwrap_or(0.0)))
    }

    /// The size of what would be sent with the hook, or without it.
    pub(crate) fn size(&self, is_edited: bool) -> Size {
        if is_edited { self.played.request.sent } else { self.played.raw }
    }

    /// The tokens that the hook would take out.
    pub(crate) fn taken(&self) -> f64 {
        let estimate = &self.played.request.estimate;
        estimate.tokens(self.size(false)) - estimate.tokens(self.size(true))
    }

    /// Returns `true` if its report can be set against what stands before it.
    pub(crate) fn is_comparable(&self) -> bool {
        self.played.sight.prompt.is_some() && !self.played.sight.is_stale
    }
}

impl Book {
    /// Takes in a list that was sent by this schedule. Its calls before `from` are those of the list before.
    pub fn enter(&mut self, transcript: &Transcript, from: usize, mode: Mode, terms: &Terms) {
        let mut fold = Fold::new(mode, terms);
        let schedule = fold.schedule();
        schedule.parts().1.calibration.set_overhead(terms.overhead_tokens);
        schedule.play(transcript, from, &mut |_| {});
        if let Some(before) = self.watch.take() {
            // The calls before `from` are decided by what was known then, not by what is known of the cache now.
            let watch = &mut schedule.parts().1.watch;
            *watch = before;
            watch.goes_on(from);
        }
        let mut played: Vec<Played> = Vec::new();
        schedule.play(transcript, transcript.len(), &mut |call| played.push(call));
        self.watch = Some(std::mem::take(&mut schedule.parts().1.watch));
        for (nth, call) in played.into_iter().filter(|call| call.index > 0).enumerate() {
            self.note(transcript, nth, call);
        }
    }

    fn note(&mut self, transcript: &Transcript, nth: usize, played: Played) {
        let Some(assistant) = transcript.get(played.index).and_then(|message| message.assistant()) else {
            return;
        };
        let found = self.sources.iter().position(|source| *source == assistant.source);
        let source = found.unwrap_or(self.sources.len());
        if found.is_none() {
            self.sources.push(assistant.source.clone());
        }
        self.calls.push(Call { source, usage: assistant.usage, played, nth });
    }

    /// The report of all calls. `prices` are the host's, for every model; without them those that were billed count, then
    /// those that are listed.
    #[must_use]
    pub fn report(&self, prices: Option<Tariff>) -> Report {
        let tariffs: Vec<Option<Tariff>> = self
            .sources
            .iter()
            .map(|source| prices.or_else(|| self.watch.as_ref().and_then(|watch| watch.tariff(source))))
            .collect();
        report::report(&self.calls, &tariffs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::layers::Limits;
    use crate::context::measure::{Part, Raw, RawRole, Rules, measure};
    use crate::context::schedule::economy::Policy;
    use crate::context::transcript::Message;

    const MINUTE_MS: f64 = 60_000.0;

    fn utf16(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    fn message(role: RawRole<'_>, part: Part<'_>, minutes: usize) -> Arc<Message> {
        let timestamp_ms = Some(1.7e12 + MINUTE_MS * minutes as f64);
        Arc::new(measure(&Raw { timestamp_ms, ..Raw::new(role, vec![part]) }, &Rules::default()))
    }

    /// Answers with a long result each, a pause of ten minutes before every sixth.
    fn transcript(answers: usize) -> Transcript {
        let mut messages = vec![message(RawRole::User, Part::Text(&utf16("go on")), 0)];
        for number in 0..answers {
            let minutes = 1 + number + 10 * (number / 6);
            let id = utf16(&format!("call_{number}"));
            let arguments = utf16(&format!("{{\"command\":\"run {number}\"}}"));
            let call = Part::Call { id: &id, name: &id, arguments: &arguments, is_signed: false };
            let usage = Usage { input: Some(9_000.0 * (number + 1) as f64), ..Usage::default() };
            let role = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
            messages.push(message(role, call, minutes));
            let text = utf16(&format!("a line of output {number}\n").repeat(1_000));
            let role = RawRole::ToolResult { call_id: &id, tool_name: &id, marker: None };
            messages.push(message(role, Part::Text(&text), minutes));
        }
        Transcript::new(messages)
    }

    #[test]
    fn the_calls_of_a_list_that_goes_on_are_decided_as_those_of_the_list_alone() {
        let whole = transcript(30);
        let terms = Terms { policy: Policy::default(), limits: Limits::default(), overhead_tokens: None };
        for mode in [Mode::Sticky, Mode::EveryCall] {
            let from = whole.len() / 2 + 1;
            let mut alone = Book::default();
            alone.enter(&whole, 0, mode, &terms);
            let mut both = Book::default();
            both.enter(
                &Transcript::new(whole.messages().iter().take(from).cloned().collect()),
                0,
                mode,
                &terms,
            );
            both.enter(&whole, from, mode, &terms);
            let sent = |book: &Book| {
                let told = |Played { index, request: of, .. }: Played| (index, of.sent, of.verdict);
                book.calls.iter().map(|call| told(call.played)).collect::<Vec<_>>()
            };
            assert_eq!(sent(&both), sent(&alone), "{mode:?}");
        }
    }
}
