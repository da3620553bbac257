//! Calibration: what the provider's own counts teach about ours.
//!
//! A prompt has `scale × (overhead + cl100k tokens of what was sent)` tokens and a frame around each message, where the
//! overhead is what the host sends beside the messages. Each report that can be believed is the anchor of the next estimate, and the steps between reports
//! teach the scale of a model. What was sent is the edited transcript in live use and the raw one in a recording; which of
//! the two is told by whichever predicts the report.
//!
//! A report is not believed where the list changed before it (something newer than the call stands there now, or it was
//! there when the list was another), where it can be of no prompt like this, or where it contradicts the last ones and the
//! next does not bear it out.

mod dates;
mod past;
mod report;
mod scale;

use std::sync::Arc;

pub use self::past::{Known, Past};
pub use self::report::Sent;
pub use self::scale::PRIOR_SCALE;

use self::dates::Dates;
use self::report::Report;
use self::scale::{LEARNED, SCALE_RANGE, Scales};
use crate::context::transcript::{Assistant, Message, Usage};
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// A report this far from its prediction, beside half of what was added since, contradicts the reports before it.
const CONTRADICTION: f64 = 0.12;
/// Less than this many tokens is never a contradiction: a changed prompt or tool.
const SLACK_TOKENS: f64 = 600.0;
/// A first report up to so many times what is known of the agent, or down to as small a part, is believed at once.
const KNOWN_ROOM: f64 = 1.3;
/// A scale that is not learned yet can make the overhead seem this share of the report below nothing.
const NEGATIVE_SHARE: f64 = 0.1;
/// After a compaction, reports without timestamps are doubted where they say that more than this, and more than this
/// share of the window, stands beside the messages: agents send 10 000 to 50 000.
const DOUBTED_OVERHEAD: f64 = 80_000.0;
const DOUBTED_SHARE: f64 = 0.3;

/// What the reports so far teach.
#[derive(Clone, Debug)]
pub struct Calibration {
    is_on: bool,
    context_window: f64,
    /// Provider tokens beside the messages, as the host says; `None` where it says nothing.
    overhead_tokens: Option<f64>,
    past: Past,
    /// How many messages were taken in.
    passed: usize,
    /// The answer to a call that was planned over this very list, whatever its time says.
    own_answer: Option<usize>,
    /// The last believed report.
    anchor: Option<Report>,
    /// A report that contradicts what is known: the next one decides between them.
    suspect: Option<Report>,
    scales: Scales,
    dates: Dates,
    /// The newest message with a report.
    newest_report: Option<usize>,
    /// Calls that nothing usable was reported of so far, with what they held: hosts may write it down later.
    unreported: Vec<(usize, Sent)>,
}

impl Calibration {
    /// What is known before any report. Switched off it learns nothing.
    #[must_use]
    pub fn new(is_on: bool, context_window: f64) -> Self {
        Self {
            is_on,
            context_window,
            overhead_tokens: None,
            past: Past::default(),
            passed: 0,
            own_answer: None,
            anchor: None,
            suspect: None,
            scales: Scales::default(),
            dates: Dates::default(),
            newest_report: None,
            unreported: Vec::new(),
        }
    }

    /// Learns from reports that came in after their messages were taken in; gives back which those are. A report is of no
    /// use once a later one was seen.
    pub fn catch_up(&mut self, messages: &[Arc<Message>]) -> Vec<usize> {
        let has_come = |(index, _): &(usize, Sent)| {
            messages.get(*index).is_some_and(|of| of.reported_tokens().is_some())
        };
        if !self.unreported.iter().any(has_come) {
            return Vec::new();
        }
        let (late, unreported) = std::mem::take(&mut self.unreported).into_iter().partition(has_come);
        self.unreported = unreported;
        let late: Vec<(usize, Sent)> = late;
        for (index, sent) in &late {
            if let Some((assistant, message)) =
                messages.get(*index).and_then(|of| Some((of.assistant()?, of)))
                && self.newest_report.is_none_or(|newest| newest < *index)
            {
                self.observe(*index, assistant, message.timestamp_ms, *sent);
            }
        }
        late.into_iter().map(|(index, _)| index).collect()
    }

    /// Tokens of the prompt a usage reports, read as the last report was.
    #[must_use]
    pub fn prompt_of(&self, usage: &Usage) -> Option<f64> {
        let total = usage.prompt_tokens()?;
        let reading = self.anchor.as_ref().map(|anchor| anchor.reading);
        Some(reading.map_or(total, |reading| reading.prompt_tokens(total, usage)))
    }

    /// Whether it learns at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Sets what the host says of its prompt and tools.
    pub fn expect(&mut self, overhead_tokens: Option<f64>) {
        self.overhead_tokens = overhead_tokens;
    }

    /// Starts from what the same conversation was before its list was changed.
    pub fn start_from(&mut self, past: Past) {
        self.past = past;
    }

    /// Takes in a message that stands before the next call.
    pub fn pass(&mut self, message: &Message) {
        self.dates.pass(message);
        self.passed += 1;
        // What was known last is better than what was known when the first changed message came.
        if self.passed == self.past.from && self.past.known.is_some() && self.past.has_stale_calls() {
            (self.anchor, self.suspect, self.scales) = (None, None, Scales::default());
        }
    }

    /// What it started from.
    #[must_use]
    pub fn past(&self) -> &Past {
        &self.past
    }

    /// Says that a call is made over this very list, so that the next message answers it. A summary may be dated later than
    /// the answers behind it; without one, their times tell.
    pub fn expect_answer(&mut self) {
        if self.dates.has_summary {
            self.own_answer = Some(self.passed);
        }
    }

    /// Whether the answer at `index`, of that time, was to a call that did not have the summary before it: nothing was
    /// decided there.
    #[must_use]
    pub fn is_older_than_summary(&self, index: usize, time_ms: Option<f64>) -> bool {
        self.own_answer != Some(index) && self.dates.is_older_than_summary(time_ms)
    }

    /// Takes in what was reported of the call that `assistant`, the message at `index`, answered at `time_ms`; it held one
    /// of the two in `sent`.
    pub fn observe(&mut self, index: usize, assistant: &Assistant, time_ms: Option<f64>, sent: Sent) {
        if !self.is_on || self.past.is_stale(index) {
            return;
        }
        let Some(total) = assistant.usage.prompt_tokens() else {
            self.unreported.push((index, sent));
            return;
        };
        self.newest_report = Some(index);
        if self.own_answer != Some(index) && self.dates.is_older_than_input(time_ms) {
            return;
        }
        let Assistant { source, usage, .. } = assistant;
        match self.anchor.take() {
            None => {
                let known = self.known_before().filter(|known| known.source == *source);
                let reading = known.map(|known| known.reading.of_edited()).unwrap_or_default();
                self.first(Report::read(source, total, usage, sent, reading));
            }
            Some(anchor) if anchor.source != *source => {
                let next = Report::read(source, total, usage, sent, anchor.reading);
                self.switch(anchor, next);
            }
            Some(anchor) => {
                let scale = (self.scales.of(source), self.scales.is_learned(source));
                let next = anchor.next(total, usage, sent, scale);
                self.follow(anchor, next);
            }
        }
    }

    /// How to estimate the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        if let Some(anchor) = &self.anchor {
            let scale = self.scales.of(&anchor.source);
            let base = self.beside(anchor).max(-NEGATIVE_SHARE * anchor.reported);
            return Estimate { base, scale, frame: MESSAGE_FRAME_TOKENS };
        }
        match (self.known_before(), self.overhead_tokens) {
            (Some(known), None) => Estimate {
                base: known.scale * known.overhead,
                scale: known.scale,
                frame: MESSAGE_FRAME_TOKENS,
            },
            (_, overhead) => Estimate { base: overhead.unwrap_or(0.0), ..Estimate::PLAIN },
        }
    }

    /// The share of the budget to shrink to. Before any report the count is plain, and where even that is over the budget
    /// the provider's own is likely to be far over it.
    #[must_use]
    pub fn caution(&self) -> f64 {
        let is_plain =
            self.is_on && self.estimate().scale.to_bits() == 1f64.to_bits() && self.anchor.is_none();
        if is_plain { 1.0 / PRIOR_SCALE } else { 1.0 }
    }

    /// What a prompt of this size is estimated at, once there is a report to go by.
    #[must_use]
    pub fn planned_tokens(&self, size: Size) -> Option<f64> {
        self.known().map(|_| self.estimate().tokens(size))
    }

    /// What outlives this transcript.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        let Some(anchor) = &self.anchor else { return self.past.known().0.cloned() };
        let learned = self.scales.of(&anchor.source);
        // Nothing is beside the messages and yet too little was reported: the scale is a little too high.
        let scale = learned.min(anchor.scale_beside(0.0)).max((1.0 - NEGATIVE_SHARE) * learned);
        let overhead = self.overhead(anchor);
        Some(Known { source: anchor.source.clone(), overhead, scale, reading: anchor.reading })
    }

    /// What is known from before the list was changed: it holds from there on.
    fn known_before(&self) -> Option<&Known> {
        let (known, from) = self.past.known();
        known.filter(|_| self.is_on && self.passed >= from)
    }

    /// The first report: nothing of this list predicts it.
    fn first(&mut self, next: Report) {
        if !next.is_possible() {
            return;
        }
        let expected = self.known_before().map(|known| known.scale * (known.overhead + next.counted));
        let is_far = expected.is_some_and(|tokens| {
            next.reported > tokens * KNOWN_ROOM + SLACK_TOKENS
                || next.reported * KNOWN_ROOM + SLACK_TOKENS < tokens
        });
        if expected.is_none() && self.dates.is_undated() && self.is_doubtful(&next) {
            return;
        }
        let agreeing = self.suspect.take().filter(|suspect| self.agree(suspect, &next));
        if is_far && agreeing.is_none() {
            self.suspect = Some(next);
            return;
        }
        // Two that agree outvote what was known, and the step between them tells how the model counts.
        let prior = if is_far { next.likely_scale() } else { self.prior(&next) };
        self.scales.start(&next.source, prior);
        match agreeing {
            Some(suspect) => self.follow(suspect, next),
            None => self.anchor = Some(next),
        }
    }

    /// Whether a report says that more stands beside the messages than agents send: then it is of a longer list.
    fn is_doubtful(&self, next: &Report) -> bool {
        let counted = PRIOR_SCALE * next.counted;
        if let Some(overhead) = self.overhead_tokens {
            return next.reported > (counted + 2.0 * overhead) * KNOWN_ROOM + SLACK_TOKENS;
        }
        let beside = next.reported - counted;
        beside > DOUBTED_OVERHEAD && beside > DOUBTED_SHARE * self.context_window
    }

    /// The scale a model starts from at its first report.
    fn prior(&self, next: &Report) -> f64 {
        match (self.known_before(), self.overhead_tokens) {
            (Some(known), _) if known.source == next.source => known.scale,
            (Some(known), _) => next.scale_of_other(known.overhead),
            // Enough text to divide by: what the host says stands beside it leaves the scale.
            (_, Some(overhead)) if next.counted > LEARNED => (next.reported - overhead) / next.counted,
            _ => next.likely_scale(),
        }
    }

    /// Another model: the host still sends the same beside the messages, so the report tells how this one counts.
    fn switch(&mut self, anchor: Report, next: Report) {
        let overhead = self.overhead(&anchor);
        let scale = next.scale_beside(overhead);
        if scale < SCALE_RANGE.0 || scale > SCALE_RANGE.1 {
            self.doubt(anchor, next);
            return;
        }
        self.scales.expect(&next.source, next.scale_of_other(overhead));
        (self.anchor, self.suspect) = (Some(next), None);
    }

    /// One more report of the same model: believed if it is about what was to be expected.
    fn follow(&mut self, anchor: Report, next: Report) {
        if !next.is_possible() || self.contradicts(&anchor, &next) {
            self.doubt(anchor, next);
            return;
        }
        if anchor.reading == next.reading {
            let (grown, counted) = (next.reported - anchor.reported, next.counted - anchor.counted);
            // Less than nothing beside the messages: what was counted for that report was not what was sent then.
            let is_steep = grown / counted > self.scales.of(&next.source);
            if !(is_steep && self.leaves_nothing(&anchor)) {
                self.scales.learn(&next.source, grown, counted);
            }
        }
        (self.anchor, self.suspect) = (Some(next), None);
    }

    /// Keeps a report that contradicts the anchor until the next one; two that agree outvote it, unless they leave less
    /// than nothing beside the messages: then a message grew in place after they were made.
    ///
    /// Three that lie on one line outvote the scale as well.
    fn doubt(&mut self, anchor: Report, next: Report) {
        let suspect = self.suspect.as_ref();
        if let Some(scale) = suspect.and_then(|suspect| Report::common_scale(&anchor, suspect, &next)) {
            self.scales.restart(&next.source, scale);
            (self.anchor, self.suspect) = (Some(next), None);
            return;
        }
        let is_negative = self.beside(&next) < -(NEGATIVE_SHARE * next.reported + SLACK_TOKENS);
        if !is_negative && next.is_possible() && self.is_borne_out(&next) {
            self.scales.start(&next.source, PRIOR_SCALE);
            (self.anchor, self.suspect) = (Some(next), None);
        } else {
            (self.anchor, self.suspect) = (Some(anchor), Some(next));
        }
    }

    /// Whether the report before this one was doubted too, and the two agree.
    fn is_borne_out(&self, next: &Report) -> bool {
        self.suspect.as_ref().is_some_and(|suspect| self.agree(suspect, next))
    }

    fn agree(&self, suspect: &Report, next: &Report) -> bool {
        suspect.source == next.source && !self.contradicts(suspect, next)
    }

    /// Tokens that stand beside the messages, by this report.
    fn beside(&self, report: &Report) -> f64 {
        report.reported - self.scales.of(&report.source) * report.counted
    }

    /// The same in cl100k tokens, and never fewer than none.
    fn overhead(&self, report: &Report) -> f64 {
        (report.reported / self.scales.of(&report.source) - report.counted).max(0.0)
    }

    /// Whether they are so much fewer than none that the scale or what was counted must be wrong.
    fn leaves_nothing(&self, report: &Report) -> bool {
        self.beside(report) < -NEGATIVE_SHARE * report.reported
    }

    fn contradicts(&self, anchor: &Report, next: &Report) -> bool {
        let step = self.scales.of(&anchor.source) * (next.counted - anchor.counted);
        let miss = (anchor.reported + step - next.reported).abs();
        miss > CONTRADICTION * anchor.reported.max(next.reported) + step.abs() / 2.0 + SLACK_TOKENS
    }
}

#[cfg(test)]
mod tests;
