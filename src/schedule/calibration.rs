//! Calibration: what the provider's own counts teach about ours.
//!
//! A prompt has `scale × (overhead + cl100k tokens of what was sent)` tokens and a frame around each message, where the
//! overhead is what the host sends beside the messages. Each report that can be believed is the anchor of the next estimate, and the steps between reports
//! teach the scale of a model. What was sent is the edited transcript in live use and the raw one in a recording; which of
//! the two is told by whichever predicts the report.
//!
//! A report is not believed where the list changed before it (something newer than the call stands there now), where it
//! can be of no prompt like this, or where it contradicts the last ones and the next does not bear it out.

use std::sync::Arc;

use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};
use crate::transcript::{Assistant, Body, Message, Source, Usage};

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// How much the prior weighs, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// How much of what was learned is remembered, in cl100k tokens: a conversation's kind of text changes.
const MEMORY: f64 = 60_000.0;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
const SCALE_RANGE: (f64, f64) = (0.6, 3.5);
/// A step between two reports teaches only if it has at least this many cl100k tokens; less is rounding.
const MIN_STEP: f64 = 20.0;
/// A prediction this close to a report tells what was sent, if the other one is farther off by as much.
const TELLING_MISS: f64 = 0.05;
/// A report this far from its prediction, beside half of what was added since, contradicts the reports before it.
const CONTRADICTION: f64 = 0.12;
/// Less than this many tokens is never a contradiction: a changed prompt or tool.
const SLACK_TOKENS: f64 = 600.0;
/// A report up to so many times what is known of the agent is believed after a compaction.
const KNOWN_ROOM: f64 = 1.3;
/// A scale that is not learned yet can make the overhead seem this share of the report below nothing.
const NEGATIVE_SHARE: f64 = 0.1;
/// Most a provider counts beside the messages, for prompt and tools.
const MAX_OVERHEAD: f64 = 150_000.0;
/// After a compaction, reports without timestamps are doubted where they say that more than this, and more than this
/// share of the window, stands beside the messages: agents send 10 000 to 50 000.
const DOUBTED_OVERHEAD: f64 = 80_000.0;
const DOUBTED_SHARE: f64 = 0.3;

/// What a prompt may have held, in cl100k tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The transcript as it was.
    pub raw: Size,
    /// With the edits decided then.
    pub edited: Size,
}

/// What is known of an agent from a transcript: what it sends beside the messages, and how its model counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    source: Source,
    /// In cl100k tokens, so that it outlives a change of model.
    overhead: f64,
    scale: f64,
}

/// What the reports so far teach.
#[derive(Clone, Debug)]
pub struct Calibration {
    is_on: bool,
    context_window: f64,
    /// Provider tokens beside the messages, as the host says; `None` where it says nothing.
    overhead_tokens: Option<f64>,
    /// From before a compaction: holds until there is a report that can be believed.
    known: Option<Known>,
    anchor: Option<Anchor>,
    /// A report that contradicts the anchor: the next one decides between them.
    suspect: Option<Anchor>,
    lessons: Vec<(Source, Lesson)>,
    /// When the newest message was put in that is neither an answer nor a tool's, in ms.
    newest_input_ms: f64,
    has_summary: bool,
    /// When the newest summary says it was made, and whether an older message after it bears that out.
    summary_ms: Option<f64>,
    is_summary_dated: bool,
    /// The newest message with a report.
    newest_report: Option<usize>,
    /// Calls that nothing usable was reported of so far, with what they held: hosts may write it down later.
    unreported: Vec<(usize, Sent)>,
}

/// A believed report.
#[derive(Clone, Debug)]
struct Anchor {
    source: Source,
    /// Without the frames around the messages.
    reported: f64,
    /// cl100k tokens that were sent, by `reading`.
    counted: f64,
    reading: Reading,
}

/// How a report is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    /// The transcript was sent as it came.
    was_raw: bool,
    /// What came from the cache is part of `input` already.
    counts_cached_twice: bool,
}

/// Sums over the steps between reports of one model.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    prior: f64,
    reported: f64,
    counted: f64,
}

impl Calibration {
    /// What is known before any report. Switched off it learns nothing.
    #[must_use]
    pub fn new(is_on: bool, context_window: f64) -> Self {
        Self {
            is_on,
            context_window,
            overhead_tokens: None,
            known: None,
            anchor: None,
            suspect: None,
            lessons: Vec::new(),
            newest_input_ms: f64::NEG_INFINITY,
            has_summary: false,
            summary_ms: None,
            is_summary_dated: false,
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

    /// Whether it learns at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Sets what the host says of its prompt and tools.
    pub fn expect(&mut self, overhead_tokens: Option<f64>) {
        self.overhead_tokens = overhead_tokens;
    }

    /// Starts from what the same conversation taught before it was compacted.
    pub fn start_from(&mut self, known: Option<Known>) {
        self.known = known;
    }

    /// Takes in a message that stands before the next call.
    pub fn pass(&mut self, message: &Message) {
        let is_input = !matches!(message.body, Body::Assistant(_) | Body::ToolResult(_));
        if let Some(ms) = message.timestamp_ms.filter(|_| is_input) {
            self.newest_input_ms = self.newest_input_ms.max(ms);
        }
        if matches!(message.body, Body::Summary) {
            (self.has_summary, self.is_summary_dated) = (true, false);
            self.summary_ms = message.timestamp_ms;
        } else if let Some((summary, ms)) = self.summary_ms.zip(message.timestamp_ms) {
            self.is_summary_dated |= ms < summary;
        }
    }

    /// Takes in what was reported of the call that `assistant`, the message at `index`, answered at `time_ms`; it held one
    /// of the two in `sent`.
    pub fn observe(&mut self, index: usize, assistant: &Assistant, time_ms: Option<f64>, sent: Sent) {
        if !self.is_on {
            return;
        }
        let Some(total) = assistant.usage.prompt_tokens() else {
            self.unreported.push((index, sent));
            return;
        };
        self.newest_report = Some(index);
        // What stands before the call now was put in after it: the report is of another list.
        if time_ms.is_some_and(|ms| ms < self.newest_input_ms) {
            return;
        }
        let source = &assistant.source;
        match &self.anchor {
            None => self.first(source, total, sent),
            Some(anchor) if anchor.source != *source => self.switch(&anchor.clone(), source, total, sent),
            Some(anchor) => self.follow(&anchor.clone(), &assistant.usage, total, sent),
        }
    }

    /// How to estimate the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        if let Some(anchor) = &self.anchor {
            let scale = self.scale(&anchor.source);
            let beside = anchor.reported - scale * anchor.counted;
            let base = beside.max(-NEGATIVE_SHARE * anchor.reported);
            return Estimate { base, scale, frame: MESSAGE_FRAME_TOKENS };
        }
        match (&self.known, self.overhead_tokens) {
            (Some(known), None) if self.is_on => Estimate {
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

    /// What outlives this transcript.
    #[must_use]
    pub fn known(&self) -> Option<Known> {
        let anchor = self.anchor.as_ref()?;
        let scale = self.scale(&anchor.source);
        let overhead = (anchor.reported / scale - anchor.counted).max(0.0);
        Some(Known { source: anchor.source.clone(), overhead, scale })
    }

    /// The first report: nothing predicts it, so it need only be possible.
    fn first(&mut self, source: &Source, reported: f64, sent: Sent) {
        let (reported, counted) = sent.unframed(reported, Reading::default());
        let beside = reported - PRIOR_SCALE * counted;
        let is_doubted = self.has_summary && !self.is_summary_dated && {
            let expected = self.known.as_ref().map(|known| known.scale * (known.overhead + counted));
            let told = self.overhead_tokens.map(|overhead| PRIOR_SCALE * counted + 2.0 * overhead);
            match expected.or(told) {
                Some(tokens) => reported > tokens * KNOWN_ROOM + SLACK_TOKENS,
                None => beside > DOUBTED_OVERHEAD && beside > DOUBTED_SHARE * self.context_window,
            }
        };
        if is_doubted || !is_possible(reported, counted) {
            return;
        }
        let prior = match (&self.known, self.overhead_tokens) {
            (Some(known), _) if known.source == *source => known.scale,
            // Enough text to divide by: what the host says stands beside it leaves the scale.
            (_, Some(overhead)) if counted > 4.0 * PRIOR_WEIGHT => (reported - overhead) / counted,
            _ => PRIOR_SCALE.min(reported / counted.max(1.0)),
        };
        self.lessons.push((source.clone(), Lesson::new(prior)));
        self.anchor = Some(Anchor { source: source.clone(), reported, counted, reading: Reading::default() });
    }

    /// Another model: the host still sends the same beside the messages, so the report tells how this one counts.
    fn switch(&mut self, anchor: &Anchor, source: &Source, reported: f64, sent: Sent) {
        let (reported, counted) = sent.unframed(reported, anchor.reading);
        let overhead = self.known().map_or(0.0, |known| known.overhead);
        let prior = reported / (overhead + counted).max(1.0);
        let next = Anchor { source: source.clone(), reported, counted, reading: anchor.reading };
        if prior < SCALE_RANGE.0 || prior > SCALE_RANGE.1 {
            self.doubt(next);
            return;
        }
        if !self.lessons.iter().any(|(of, _)| of == source) {
            self.lessons.push((source.clone(), Lesson::new(prior)));
        }
        (self.anchor, self.suspect) = (Some(next), None);
    }

    /// One more report of the same model: believed if it is about what was to be expected.
    fn follow(&mut self, anchor: &Anchor, usage: &Usage, total: f64, sent: Sent) {
        let next = self.read(anchor, usage, total, sent);
        if self.contradicts(anchor, &next) {
            self.doubt(next);
            return;
        }
        self.learn(anchor, &next);
        (self.anchor, self.suspect) = (Some(next), None);
    }

    /// Keeps a report that contradicts the anchor until the next one; two that agree outvote it, unless they leave less
    /// than nothing beside the messages: then a message grew in place after they were made.
    fn doubt(&mut self, next: Anchor) {
        let beside = next.reported - self.scale(&next.source) * next.counted;
        let is_negative = beside < -(NEGATIVE_SHARE * next.reported + SLACK_TOKENS);
        let is_borne_out = !is_negative
            && is_possible(next.reported, next.counted)
            && self
                .suspect
                .as_ref()
                .is_some_and(|suspect| suspect.source == next.source && !self.contradicts(suspect, &next));
        if is_borne_out {
            if !self.lessons.iter().any(|(of, _)| *of == next.source) {
                self.lessons.push((next.source.clone(), Lesson::new(PRIOR_SCALE)));
            }
            (self.anchor, self.suspect) = (Some(next), None);
        } else {
            self.suspect = Some(next);
        }
    }

    /// The report in the reading that fits best; the last one's, unless another is clearly better.
    fn read(&self, anchor: &Anchor, usage: &Usage, total: f64, sent: Sent) -> Anchor {
        let scale = self.scale(&anchor.source);
        let read = |reading: Reading| {
            let reported = if reading.counts_cached_twice { usage.input.unwrap_or(total) } else { total };
            let (reported, counted) = sent.unframed(reported, reading);
            let predicted = anchor.reported + scale * (counted - anchor.counted);
            let miss = (predicted - reported).abs() / reported.max(1.0);
            (miss, Anchor { source: anchor.source.clone(), reported, counted, reading })
        };
        let last = read(anchor.reading);
        let mut best = last.clone();
        let cached = usage.cache_read.unwrap_or(0.0) + usage.cache_write.unwrap_or(0.0);
        let may_count_twice = cached > 0.0 && usage.input.is_some_and(|input| input >= cached);
        for was_raw in [false, true] {
            for counts_cached_twice in [false, true] {
                let reading = Reading { was_raw, counts_cached_twice };
                if counts_cached_twice && !may_count_twice {
                    continue;
                }
                let other = read(reading);
                if other.0 <= TELLING_MISS && other.0 + TELLING_MISS < last.0 && other.0 < best.0 {
                    best = other;
                }
            }
        }
        best.1
    }

    fn contradicts(&self, anchor: &Anchor, next: &Anchor) -> bool {
        let step = self.scale(&anchor.source) * (next.counted - anchor.counted);
        let miss = (anchor.reported + step - next.reported).abs();
        miss > CONTRADICTION * anchor.reported.max(next.reported) + step.abs() / 2.0 + SLACK_TOKENS
    }

    fn learn(&mut self, last: &Anchor, next: &Anchor) {
        let counted = next.counted - last.counted;
        let grown = next.reported - last.reported;
        let (lowest, highest) = SCALE_RANGE;
        let ratio = grown / counted;
        if last.reading != next.reading || counted.abs() < MIN_STEP || ratio < lowest || ratio > highest {
            return;
        }
        if let Some((_, lesson)) = self.lessons.iter_mut().find(|(of, _)| *of == next.source) {
            lesson.add(grown.abs(), counted.abs());
        }
    }

    fn scale(&self, source: &Source) -> f64 {
        self.lessons.iter().find(|(of, _)| of == source).map_or(PRIOR_SCALE, |(_, lesson)| lesson.scale())
    }
}

/// Whether a prompt with so many cl100k tokens can have been reported so.
fn is_possible(reported: f64, counted: f64) -> bool {
    reported >= counted * SCALE_RANGE.0 && reported <= counted * SCALE_RANGE.1 + MAX_OVERHEAD
}

impl Lesson {
    fn new(prior: f64) -> Self {
        Self { prior: prior.clamp(SCALE_RANGE.0, SCALE_RANGE.1), reported: 0.0, counted: 0.0 }
    }

    fn add(&mut self, reported: f64, counted: f64) {
        self.reported += reported;
        self.counted += counted;
        let kept = (MEMORY / self.counted).min(1.0);
        self.reported *= kept;
        self.counted *= kept;
    }

    fn scale(&self) -> f64 {
        let scale = (self.reported + self.prior * PRIOR_WEIGHT) / (self.counted + PRIOR_WEIGHT);
        scale.clamp(SCALE_RANGE.0, SCALE_RANGE.1)
    }
}

impl Sent {
    /// What was reported without the frames around the messages, and the cl100k tokens it was reported for.
    fn unframed(self, reported: f64, reading: Reading) -> (f64, f64) {
        let size = if reading.was_raw { self.raw } else { self.edited };
        (reported - MESSAGE_FRAME_TOKENS * size.messages as f64, size.cl100k as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer(model: &str, input: f64, cache_read: f64) -> Assistant {
        Assistant {
            source: Source {
                api: "anthropic-messages".into(),
                provider: "anthropic".into(),
                model: model.into(),
            },
            usage: Usage { input: Some(input), cache_read: Some(cache_read), ..Usage::default() },
            call_ids: Vec::new(),
            thinking: None,
            has_other_content: true,
            has_text_id: false,
        }
    }

    fn on() -> Calibration {
        Calibration::new(true, 200_000.0)
    }

    fn both(tokens: usize) -> Sent {
        Sent { raw: size(tokens), edited: size(tokens) }
    }

    fn size(cl100k: usize) -> Size {
        Size { cl100k, messages: 0 }
    }

    fn after(reports: &[(&str, f64, usize)]) -> Calibration {
        let mut calibration = on();
        for &(model, reported, counted) in reports {
            calibration.observe(0, &answer(model, reported, 0.0), None, both(counted));
        }
        calibration
    }

    fn close(value: f64, expected: f64, share: f64) {
        assert!((value - expected).abs() <= expected * share, "{value} {expected}");
    }

    #[test]
    fn without_a_report_it_is_plain_cl100k_and_what_the_host_says() {
        assert_eq!(on().estimate(), Estimate::PLAIN);
        let mut told = on();
        told.expect(Some(9_000.0));
        assert!((told.estimate().tokens(size(1_000)) - 10_000.0).abs() < 1e-9);
    }

    #[test]
    fn one_absurd_report_changes_nothing_and_two_that_agree_outvote_the_rest() {
        let good = [("a", 30_000.0, 20_000), ("a", 31_270.0, 21_000)];
        let expected = after(&good).estimate();
        for nonsense in [1.0, 9_000.0, 90_000.0, 9_007_199_254_740_991.0] {
            let [first, second] = good;
            assert_eq!(after(&[first, second, ("a", nonsense, 21_000)]).estimate(), expected, "{nonsense}");
        }
        let [first, second] = good;
        let shifted = after(&[first, second, ("a", 60_000.0, 21_500), ("a", 60_635.0, 22_000)]);
        close(shifted.estimate().tokens(size(22_000)), 60_635.0, 1e-6);
    }

    #[test]
    fn what_was_reported_before_a_newer_message_came_in_is_passed_over() {
        let mut calibration = on();
        calibration.newest_input_ms = 5_000.0;
        calibration.observe(0, &answer("a", 110_000.0, 0.0), Some(4_000.0), both(300));
        assert_eq!(calibration.estimate(), Estimate::PLAIN);
        calibration.observe(0, &answer("a", 40_000.0, 0.0), Some(6_000.0), both(30_000));
        close(calibration.estimate().tokens(size(30_000)), 40_000.0, 1e-6);
    }

    #[test]
    fn after_a_compaction_without_timestamps_a_huge_overhead_is_doubted() {
        let mut calibration = on();
        calibration.has_summary = true;
        for step in 0..60 {
            calibration.observe(
                0,
                &answer("a", 110_000.0 + 700.0 * f64::from(step), 0.0),
                None,
                both(300 + 500 * step as usize),
            );
        }
        assert_eq!(calibration.estimate(), Estimate::PLAIN);
    }

    #[test]
    fn a_compaction_keeps_what_is_known_of_the_agent() {
        let before = after(&[("a", 42_700.0, 20_000), ("a", 55_400.0, 30_000)]);
        let mut calibration = on();
        calibration.start_from(before.known());
        close(calibration.estimate().tokens(size(10_000)), 30_000.0, 0.01);
    }

    #[test]
    fn tells_a_recording_from_live_use_at_the_first_edit() {
        let reports = |last: f64| {
            let mut calibration = after(&[("a", 60_000.0, 40_000)]);
            calibration.observe(
                0,
                &answer("a", last, 0.0),
                None,
                Sent { raw: size(41_000), edited: size(21_000) },
            );
            calibration.estimate().tokens(size(22_000))
        };
        close(reports(61_270.0), 61_270.0 - 19_000.0 * PRIOR_SCALE, 0.02);
        close(reports(35_870.0), 35_870.0 + 1_000.0 * PRIOR_SCALE, 0.02);
    }

    #[test]
    fn a_recording_that_goes_on_live_is_told_at_the_first_call() {
        let mut calibration = after(&[("a", 60_000.0, 40_000)]);
        calibration.observe(
            0,
            &answer("a", 61_270.0, 0.0),
            None,
            Sent { raw: size(41_000), edited: size(21_000) },
        );
        calibration.observe(
            0,
            &answer("a", 37_140.0, 0.0),
            None,
            Sent { raw: size(42_000), edited: size(22_000) },
        );
        close(calibration.estimate().tokens(size(22_000)), 37_140.0, 1e-6);
    }

    #[test]
    fn tokens_counted_twice_are_counted_once() {
        let mut calibration = after(&[("a", 20_000.0, 15_000)]);
        for step in 1..20 {
            let prompt = 20_000.0 + 1_270.0 * f64::from(step);
            calibration.observe(
                0,
                &answer("a", prompt, prompt - 1_270.0),
                None,
                both(15_000 + 1_000 * step as usize),
            );
        }
        close(calibration.estimate().tokens(size(35_000)), 45_400.0, 0.01);
    }

    #[test]
    fn a_new_model_has_a_scale_of_its_own_and_the_same_overhead() {
        let mut reports: Vec<_> = (0..50)
            .map(|step| ("a", 14_000.0 + 1_400.0 * f64::from(step), 5_000 + 1_000 * step as usize))
            .collect();
        let learned = after(&reports).estimate();
        assert!((learned.scale - 1.4).abs() < 0.01 && (learned.base - 7_000.0).abs() < 300.0, "{learned:?}");
        reports.push(("b", 60_000.0, 55_000));
        let switched = after(&reports).estimate();
        close(switched.tokens(size(55_000)), 60_000.0, 1e-6);
        close(switched.tokens(size(70_000)), 75_000.0, 0.01);
    }

    #[test]
    fn learns_any_scale_within_a_few_calls() {
        for scale in [0.7, 1.0, 1.5, 2.0, 3.0] {
            let report = |step: usize| 12_000.0 + scale * (4_000 + 3_000 * step) as f64;
            let reports: Vec<_> = (0..6).map(|step| ("a", report(step), 4_000 + 3_000 * step)).collect();
            close(after(&reports).estimate().tokens(size(4_000 + 18_000)), report(6), 0.02);
        }
    }

    proptest! {
        #[test]
        fn any_reports_leave_a_finite_estimate_with_a_clamped_scale(
            reports in prop::collection::vec((any::<f64>(), any::<f64>(), 0usize..1_000_000, 0usize..1_000_000, 0..2), 0..40),
        ) {
            let mut calibration = on();
            for (input, cached, raw, edited, model) in reports {
                calibration.observe(0, &answer(if model == 0 { "a" } else { "b" }, input, cached), None, Sent { raw: size(raw), edited: size(edited) });
                let estimate = calibration.estimate();
                prop_assert!((0.6..=3.5).contains(&estimate.scale) && estimate.base.is_finite());
            }
        }
    }
}
