//! The line through the reports of one model, robust against those that are not so.

use super::Sent;
use crate::context::transcript::Usage;
use crate::tokens::estimate::MESSAGE_FRAME_TOKENS;

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
pub(super) const SCALE_RANGE: (f64, f64) = (0.6, 3.5);
/// Weight of the prior, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// Most that one step weighs where the scale is sought, in cl100k tokens: a change of the prompt beside it must not decide.
const MOST_WEIGHT: f64 = 4000.0;
/// A step between two reports teaches only if it has at least this many cl100k tokens; less is rounding.
const MIN_STEP: f64 = 20.0;
/// Steps this share off the scale do not teach it: kinds of text differ by as much.
const STEP_MISS: f64 = 0.25;
/// The gate: a report this far from its prediction, beside half of what was added since and these tokens, is not believed
/// until the next one bears it out.
const GATE_SHARE: f64 = 0.12;
const GATE_TOKENS: f64 = 600.0;
/// By how much a good line misses a report: as a share of the prompt, and in tokens beside that. A step's surprise is the
/// logarithm of how often it misses by that: one that is far off tells two readings apart among many that fit both.
const NOISE_SHARE: f64 = 0.003;
const NOISE_TOKENS: f64 = 50.0;
/// The surprise of a scale that is off by a factor e, and of a report that a reading passes over.
const UNLIKELY_SCALE: f64 = 3.0;
const PASSED_OVER: f64 = 4.0;
/// By how much less a reading has to surprise than the one before.
const TELLING: f64 = 1.5;

/// The report of one request, and what it and the one before held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) sent: Sent,
    pub(super) before: Option<Sent>,
    pub(super) usage: Usage,
    /// Tokens a refused request is taken to have had.
    pub(super) refused: Option<f64>,
}

/// The way of reading reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The first so many are of a transcript that was sent as it came: a recording that may go on with the hook.
    pub(super) raw: usize,
    /// Each says what the call before had.
    is_late: bool,
    /// `input` has tokens in it already that are said to be read from the cache, or written to it, too.
    has_read: bool,
    has_written: bool,
}

/// A report as it is read: tokens without the frames around the messages, and cl100k tokens of what was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) reported: f64,
    pub(super) counted: f64,
    is_refused: bool,
}

/// A line through a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) scale: f64,
    pub(super) anchor: Point,
    pub(super) reading: Reading,
    surprise: f64,
}

impl Reading {
    /// Every one there is of so many reports: a recording ended where it was seen to or just now, or never was one, or
    /// still goes on.
    fn all(self, count: usize) -> impl Iterator<Item = Self> {
        let twice = [(false, false), (true, false), (true, true)];
        [self.raw, 0, count, count.saturating_sub(1)].into_iter().flat_map(move |raw| {
            [false, true].into_iter().flat_map(move |is_late| {
                twice.map(|(has_read, has_written)| Self { raw, is_late, has_read, has_written })
            })
        })
    }

    /// Tokens of the prompt, if the usage can be read so.
    pub(super) fn prompt_tokens(self, usage: &Usage) -> Option<f64> {
        let part = |tokens: Option<f64>, is_in: bool| tokens.filter(|_| is_in).unwrap_or(0.0);
        let twice = part(usage.cache_read, self.has_read) + part(usage.cache_write, self.has_written);
        let total = usage.prompt_tokens()?;
        (usage.input? >= twice).then_some(total - twice)
    }

    /// The report read so; the first one of those that are late says nothing.
    fn point(self, nth: usize, report: &Report) -> Option<Point> {
        let tokens = report.refused.or_else(|| self.prompt_tokens(&report.usage))?;
        let Sent { raw, edited } =
            if self.is_late && report.refused.is_none() { report.before? } else { report.sent };
        let size = if nth < self.raw { raw } else { edited };
        let reported = tokens - MESSAGE_FRAME_TOKENS * size.messages as f64;
        Some(Point { reported, counted: size.cl100k as f64, is_refused: report.refused.is_some() })
    }
}

impl Point {
    /// The scale of its model, if the host sends so many cl100k tokens beside the messages.
    fn scale_beside(&self, beside: f64) -> f64 {
        self.reported / (beside + self.counted).max(1.0)
    }

    /// The scale of its model, before anything else tells: that of most, or, where it is known what stands beside the messages,
    /// as this leaves it, the less so the less text there is. Never so that less than nothing stands there.
    fn likely_scale(&self, beside: Option<f64>) -> f64 {
        let scale = beside.map_or(PRIOR_SCALE, |beside| {
            let text = self.counted.powi(2);
            let told = text / (beside.powi(2) + PRIOR_WEIGHT.powi(2) + text);
            told * self.scale_beside(beside) + (1.0 - told) * PRIOR_SCALE
        });
        scale.min(self.scale_beside(0.0)).clamp(SCALE_RANGE.0, SCALE_RANGE.1)
    }

    /// True if a prompt with so many cl100k tokens can have been reported so.
    fn is_possible(&self, (highest, most_beside): (f64, f64)) -> bool {
        let is_within = self.reported <= self.counted * highest + most_beside;
        self.is_refused || (is_within && self.reported >= self.counted * SCALE_RANGE.0)
    }

    /// By how much the next report is another than was to be expected.
    fn miss(&self, next: &Self, scale: f64) -> f64 {
        (self.reported + scale * (next.counted - self.counted) - next.reported).abs()
    }

    fn surprise(&self, next: &Self, scale: f64) -> f64 {
        let noise = NOISE_SHARE * self.reported.max(next.reported).max(0.0) + NOISE_TOKENS;
        (self.miss(next, scale) / noise).ln_1p()
    }

    /// True if the next report is about what was to be expected.
    fn predicts(&self, next: &Self, scale: f64) -> bool {
        let step = (scale * (next.counted - self.counted)).abs();
        let most = GATE_SHARE * self.reported.max(next.reported) + step / 2.0 + GATE_TOKENS;
        self.is_refused || next.is_refused || self.miss(next, scale) <= most
    }
}

impl Fit {
    /// The line in the usual reading, or in another if that surprises clearly less. A prompt has no more than `most` tokens for
    /// one of cl100k, and beside the messages; `beside` is what is known to stand there.
    pub(super) fn of(
        reports: &[Report],
        usual: Reading,
        most: (f64, f64),
        beside: Option<f64>,
    ) -> Option<Self> {
        let fit = |reading: Reading| {
            let points = reports.iter().enumerate().filter_map(|(nth, report)| reading.point(nth, report));
            let possible: Vec<Point> = points.filter(|point| point.is_possible(most)).collect();
            Self::through(&possible, reading, beside, reports.len() - possible.len())
        };
        let surprise = |of: &Option<Self>| of.map_or(f64::INFINITY, |fit| fit.surprise);
        let known = fit(usual);
        if surprise(&known) <= TELLING {
            return known;
        }
        let best = usual.all(reports.len()).map(fit).min_by(|a, b| surprise(a).total_cmp(&surprise(b)))?;
        if surprise(&best) + TELLING < surprise(&known) { best } else { known }
    }

    fn through(points: &[Point], reading: Reading, beside: Option<f64>, passed_over: usize) -> Option<Self> {
        let told: Vec<Point> = points.iter().filter(|point| !point.is_refused).copied().collect();
        let scale = scale_of(&told, told.first().or(points.first())?.likely_scale(beside));
        let steps = steps_of(&told).map(|(one, next)| one.surprise(next, scale));
        let unlikely = if told.len() > 1 { (scale / PRIOR_SCALE).ln().abs() } else { 0.0 };
        let surprise = steps.sum::<f64>() + UNLIKELY_SCALE * unlikely + PASSED_OVER * passed_over as f64;
        Some(Self { scale, anchor: anchor_of(points, scale)?, reading, surprise })
    }

    /// cl100k tokens beside the messages, never fewer than none.
    pub(super) fn beside(&self) -> f64 {
        (self.anchor.reported / self.scale - self.anchor.counted).max(0.0)
    }
}

/// Each report with the next one.
fn steps_of(points: &[Point]) -> impl Iterator<Item = (&Point, &Point)> {
    points.iter().zip(points.iter().skip(1))
}

/// The scale that the steps between reports tell: the median of theirs, then the mean of those about it.
fn scale_of(points: &[Point], prior: f64) -> f64 {
    let is_step = |&(ratio, counted): &(f64, f64)| {
        counted >= MIN_STEP && (SCALE_RANGE.0..=SCALE_RANGE.1).contains(&ratio)
    };
    let steps = steps_of(points).map(|(one, next)| {
        let counted = next.counted - one.counted;
        ((next.reported - one.reported) / counted, counted.abs())
    });
    let mut steps: Vec<(f64, f64)> = steps.filter(is_step).chain([(prior, PRIOR_WEIGHT)]).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let weight = |(_, counted): &(f64, f64)| counted.min(MOST_WEIGHT);
    let mut left = steps.iter().map(weight).sum::<f64>() / 2.0;
    let median = steps.iter().find(|step| {
        left -= weight(step);
        left <= 0.0
    });
    let median = median.map_or(prior, |(ratio, _)| *ratio);
    let near = steps.iter().filter(|(ratio, _)| (ratio - median).abs() <= STEP_MISS * median);
    let sums = near.fold((0.0, 0.0), |sums, (ratio, counted)| (sums.0 + ratio * counted, sums.1 + counted));
    sums.0 / sums.1
}

/// The newest report that can be believed. One that the last believed does not predict waits for the next: two that agree
/// outvote it. A refusal is no mistake.
fn anchor_of(points: &[Point], scale: f64) -> Option<Point> {
    let (mut anchor, mut suspect) = (points.first()?, None::<&Point>);
    for next in points {
        if anchor.predicts(next, scale) || suspect.is_some_and(|of| of.predicts(next, scale)) {
            (anchor, suspect) = (next, None);
        } else {
            suspect = Some(next);
        }
    }
    Some(*anchor)
}
