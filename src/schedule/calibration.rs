//! Calibration: what the provider's own counts teach about ours.
//!
//! Each reported prompt size flows in with the cl100k counts of what may have been sent then; an `Estimate` flows
//! out, anchored to the last report, its scale learned per model. In live use what was sent is the edited transcript;
//! in a recording made without edits it is the raw one. Which of the two is told by whichever predicts the report.

use crate::tokens::estimate::Estimate;
use crate::transcript::Source;

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// How much the prior weighs, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 5_000.0;
/// No provider counts fewer tokens than cl100k on real text, or more than twice as many.
const SCALE_RANGE: (f64, f64) = (1.0, 2.0);
/// A step between two reports teaches only if it has at least this many cl100k tokens; less is rounding.
const MIN_STEP: f64 = 20.0;
/// A step that was counted less than half or more than three times as large as ours is no growth of this prompt.
const STEP_RANGE: (f64, f64) = (0.5, 3.0);
/// A prediction this close to a report tells what was sent, if the other one is farther off by as much.
const TELLING_MISS: f64 = 0.05;
/// Most a provider counts beside the messages, for prompt and tools: a report above twice our count and this is absurd.
const MAX_OVERHEAD: f64 = 100_000.0;

/// What a prompt may have held, in cl100k tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The transcript as it was.
    pub raw: usize,
    /// With the edits decided then.
    pub edited: usize,
}

/// What the reports so far teach.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The last report, whatever it says.
    last: Option<Report>,
    /// The last one that can be of this transcript.
    anchor: Option<Report>,
    lessons: Vec<(Source, Lesson)>,
}

#[derive(Clone, Debug)]
struct Report {
    source: Source,
    reported: f64,
    sent: Sent,
    was_raw: bool,
}

/// Sums over the steps between reports of one model.
#[derive(Clone, Copy, Debug, Default)]
struct Lesson {
    reported: f64,
    counted: f64,
}

impl Calibration {
    /// Takes in that `source` counted `reported` tokens for a prompt that held one of the two in `sent`.
    ///
    /// A report too small or too large for either only tells how prompts grow: it belongs to messages that this
    /// transcript does not show as they were sent.
    pub fn observe(&mut self, source: &Source, reported: u64, sent: Sent) {
        let reported = reported as f64;
        let report = Report { source: source.clone(), reported, sent, was_raw: self.was_raw(reported, sent) };
        self.learn(&report);
        if fits(reported, sent.tokens(report.was_raw)) {
            self.anchor = Some(report.clone());
        }
        self.last = Some(report);
    }

    /// How to estimate the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.anchor.as_ref().map_or(Estimate::PLAIN, |anchor| {
            let scale = self.scale(&anchor.source);
            Estimate { base: anchor.reported - scale * anchor.sent.tokens(anchor.was_raw), scale }
        })
    }

    /// Which of the two was sent: the one whose growth since the last report predicts this one. Where both do, or
    /// neither, it is what it was.
    fn was_raw(&self, reported: f64, sent: Sent) -> bool {
        let Some(last) = &self.last else { return false };
        let scale = self.scale(&last.source);
        let miss =
            |now: usize, then: usize| (last.reported + scale * (now as f64 - then as f64) - reported).abs();
        let (raw, edited) = (miss(sent.raw, last.sent.raw), miss(sent.edited, last.sent.edited));
        let is_told =
            raw.min(edited) <= reported * TELLING_MISS && (raw - edited).abs() > reported * TELLING_MISS;
        if is_told { raw < edited } else { last.was_raw }
    }

    fn learn(&mut self, report: &Report) {
        let Some(last) = self.last.as_ref().filter(|last| last.source == report.source) else { return };
        if last.was_raw != report.was_raw {
            return;
        }
        let counted = report.sent.tokens(report.was_raw) - last.sent.tokens(report.was_raw);
        let grown = report.reported - last.reported;
        let (lowest, highest) = STEP_RANGE;
        if counted < MIN_STEP || grown < counted * lowest || grown > counted * highest {
            return;
        }
        let at = self.lessons.iter().position(|(of, _)| *of == report.source).unwrap_or(self.lessons.len());
        if at == self.lessons.len() {
            self.lessons.push((report.source.clone(), Lesson::default()));
        }
        if let Some((_, lesson)) = self.lessons.get_mut(at) {
            lesson.reported += grown;
            lesson.counted += counted;
        }
    }

    fn scale(&self, source: &Source) -> f64 {
        let found = self.lessons.iter().find(|(of, _)| of == source);
        let lesson = found.map_or_else(Lesson::default, |(_, lesson)| *lesson);
        let scale = (lesson.reported + PRIOR_SCALE * PRIOR_WEIGHT) / (lesson.counted + PRIOR_WEIGHT);
        scale.clamp(SCALE_RANGE.0, SCALE_RANGE.1)
    }
}

impl Sent {
    fn tokens(self, was_raw: bool) -> f64 {
        if was_raw { self.raw as f64 } else { self.edited as f64 }
    }
}

/// Whether a prompt that held `counted` cl100k tokens can have been reported so.
fn fits(reported: f64, counted: f64) -> bool {
    reported >= counted * SCALE_RANGE.0 && reported <= counted * SCALE_RANGE.1 + MAX_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(model: &str) -> Source {
        Source { api: "anthropic-messages".into(), provider: "anthropic".into(), model: model.into() }
    }

    fn both(tokens: usize) -> Sent {
        Sent { raw: tokens, edited: tokens }
    }

    #[test]
    fn without_a_report_it_is_plain_cl100k() {
        assert_eq!(Calibration::default().estimate(), Estimate::PLAIN);
    }

    #[test]
    fn a_report_that_cannot_be_of_this_prompt_changes_nothing() {
        let mut calibration = Calibration::default();
        calibration.observe(&source("a"), 30_000, both(20_000));
        let before = calibration.estimate();
        calibration.observe(&source("a"), 5_000, both(21_000));
        calibration.observe(&source("a"), 9_007_199_254_740_991, both(21_000));
        assert_eq!(calibration.estimate(), before);
    }

    #[test]
    fn tells_a_recording_from_live_use_at_the_first_edit() {
        let reports = |last: u64| {
            let mut calibration = Calibration::default();
            calibration.observe(&source("a"), 60_000, both(40_000));
            calibration.observe(&source("a"), last, Sent { raw: 41_000, edited: 21_000 });
            calibration.estimate().tokens(22_000)
        };
        let close =
            |value: f64, expected: f64| assert!((value - expected).abs() < 400.0, "{value} {expected}");
        close(reports(61_270), 61_270.0 - 19_000.0 * PRIOR_SCALE);
        close(reports(35_870), 35_870.0 + 1_000.0 * PRIOR_SCALE);
    }

    #[test]
    fn batches_over_a_recording_that_was_compacted_do_not_inflate_the_estimate() {
        let mut calibration = Calibration::default();
        calibration.observe(&source("a"), 150_000, both(110_000));
        calibration.observe(&source("a"), 151_270, Sent { raw: 111_000, edited: 40_000 });
        for step in 0..40 {
            let sent = Sent { raw: 112_000 + 1_000 * step, edited: 41_000 - 500 * step };
            calibration.observe(&source("a"), 30_000 + 1_270 * step as u64, sent);
        }
        let estimate = calibration.estimate().tokens(21_500);
        assert!((20_000.0..45_000.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn a_new_model_has_a_scale_of_its_own() {
        let mut calibration = Calibration::default();
        for step in 0..50 {
            calibration.observe(&source("a"), 10_000 + 1_400 * step, both(5_000 + 1_000 * step as usize));
        }
        let learned = calibration.estimate().scale;
        assert!((learned - 1.39).abs() < 0.01, "{learned}");
        calibration.observe(&source("b"), 80_000, both(55_000));
        assert!((calibration.estimate().scale - PRIOR_SCALE).abs() < 1e-9);
        assert!((calibration.estimate().tokens(55_000) - 80_000.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn any_reports_leave_a_finite_estimate_with_a_clamped_scale(
            reports in prop::collection::vec((0u64..u64::MAX, 0usize..1_000_000, 0usize..1_000_000, 0..2), 0..40),
        ) {
            let mut calibration = Calibration::default();
            for (reported, raw, edited, model) in reports {
                calibration.observe(&source(if model == 0 { "a" } else { "b" }), reported, Sent { raw, edited });
                let estimate = calibration.estimate();
                prop_assert!((1.0..=2.0).contains(&estimate.scale) && estimate.base.is_finite());
            }
        }
    }
}
