//! The line through the reports of one model, robust against those that are not so.

use super::Sent;
use crate::context::transcript::Usage;
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
const SCALE_RANGE: std::ops::RangeInclusive<f64> = 0.6..=3.5;
/// Most that a provider counts beside the messages, for prompt and tools: agents send 10 000 to 50 000. In tokens.
const MOST_BESIDE: f64 = 100_000.0;
/// Weight of the prior, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// Most that one step weighs, in cl100k tokens: a change of the prompt beside it must not decide.
const MOST_WEIGHT: f64 = 4000.0;
/// By how much a good line misses a report: as a share of the prompt, and in tokens beside that.
const NOISE_SHARE: f64 = 0.003;
const NOISE_TOKENS: f64 = 50.0;
/// The gate: a report that misses by so many times that is not believed until the next one bears it out.
const GATE: f64 = 40.0;
/// The surprise of a scale that is off by a factor e, and of a report that a reading passes over. That of a step is the
/// logarithm of how often it misses by the noise: one that is far off tells two readings apart among many that fit both.
const UNLIKELY_SCALE: f64 = 3.0;
const PASSED_OVER: f64 = 4.0;
/// By how much less a reading has to surprise than the one before.
const TELLING: f64 = 1.5;

/// The report of one request, and what it and the one before held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// Number of calls before it.
    pub(super) nth: usize,
    pub(super) sent: Sent,
    pub(super) before: Option<Sent>,
    pub(super) usage: Usage,
    /// Tokens a refused request is taken to have had.
    pub(super) refused: Option<f64>,
}

/// The way of reading reports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Those of the first so many calls are of a transcript that was sent as it came: a recording that may go on with the hook.
    raw: usize,
    /// Each says what the call before had.
    is_late: bool,
    /// Cached tokens that `input` holds already: none (0), those read (1), those written, too (2).
    twice: usize,
}

/// A report as it is read: tokens without the frames around the messages, and cl100k tokens of what was sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    reported: f64,
    counted: f64,
}

/// The line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) estimate: Estimate,
    pub(super) reading: Reading,
    surprise: f64,
}

impl Reading {
    /// Every one there is: a recording ended where it was seen to, or with the report before the `newest`, or never was one, or
    /// still goes on.
    fn all(self, newest: usize) -> impl Iterator<Item = Self> {
        let all_of = move |raw| (0..6).map(move |of| Self { raw, is_late: of >= 3, twice: of % 3 });
        [self.raw, newest, 0, usize::MAX].into_iter().flat_map(all_of)
    }

    /// Tokens of the prompt, if the usage can be read so.
    pub(super) fn prompt_tokens(self, usage: &Usage) -> Option<f64> {
        let cached = [usage.cache_read, usage.cache_write];
        let twice = cached.into_iter().take(self.twice).flatten().sum();
        let total = usage.prompt_tokens()?;
        (usage.input? >= twice).then_some(total - twice)
    }

    /// The report read so, if it is possible; the first one of those that are late says nothing.
    fn point(self, report: &Report) -> Option<Point> {
        let sent = if self.is_late { report.before? } else { report.sent };
        let size = if report.nth < self.raw { sent.raw } else { sent.edited };
        let point = Point::of(self.prompt_tokens(&report.usage)?, size);
        let least = point.counted * SCALE_RANGE.start();
        let most = point.counted * SCALE_RANGE.end() + MOST_BESIDE;
        (least..=most).contains(&point.reported).then_some(point)
    }
}

impl Point {
    fn of(tokens: f64, size: Size) -> Self {
        Self { reported: tokens - MESSAGE_FRAME_TOKENS * size.messages as f64, counted: size.cl100k as f64 }
    }

    /// The distance of the next report from what was to be expected, in times of the noise.
    fn misses(&self, next: &Self, scale: f64) -> f64 {
        let expected = self.reported + scale * (next.counted - self.counted);
        let noise = NOISE_SHARE * self.reported.max(next.reported).max(0.0) + NOISE_TOKENS;
        (expected - next.reported).abs() / noise
    }

    /// The scale of a step to the next report, and its weight.
    fn step_to(&self, next: &Self) -> (f64, f64) {
        let counted = next.counted - self.counted;
        ((next.reported - self.reported) / counted, counted.abs().min(MOST_WEIGHT))
    }
}

impl Fit {
    /// The line in the usual reading, or in another if that surprises clearly less. `beside` is what is known to stand beside
    /// the messages, in cl100k tokens.
    pub(super) fn of(reports: &[Report], usual: Reading, beside: Option<f64>) -> Option<Self> {
        let newest = reports.last()?;
        let refused = newest.refused.map(|tokens| Point::of(tokens, newest.sent.edited));
        let fit = |reading: Reading| {
            let told = reports.iter().filter(|report| report.refused.is_none());
            let points: Vec<Point> = told.filter_map(|report| reading.point(report)).collect();
            let passed_over = PASSED_OVER * (reports.len() - points.len()) as f64;
            let (estimate, surprise) = line_through(&points, refused, beside)?;
            Some(Self { estimate, reading, surprise: surprise + passed_over })
        };
        let known = fit(usual);
        let doubt = known.map_or(f64::INFINITY, |fit| fit.surprise) - TELLING;
        if doubt <= 0.0 {
            return known;
        }
        let all = usual.all(newest.nth).filter_map(fit);
        let best = all.min_by(|one, other| one.surprise.total_cmp(&other.surprise));
        best.filter(|best| best.surprise < doubt).or(known)
    }
}

/// The line, and its surprise. A request that was `refused` just now is no mistake: the line goes through it.
fn line_through(points: &[Point], refused: Option<Point>, beside: Option<f64>) -> Option<(Estimate, f64)> {
    let first = *points.first().or(refused.as_ref())?;
    let steps = || points.iter().zip(points.iter().skip(1));
    // The less text there is beside what is known to stand there, the less the two tell of the scale.
    let all = (first.counted + beside.unwrap_or(f64::INFINITY)).max(1.0);
    let (known, told) = (first.reported / all, first.counted / all);
    let before = [(PRIOR_SCALE, (1.0 - told) * PRIOR_WEIGHT), (known, told * PRIOR_WEIGHT)];
    let scale = median(before.into_iter().chain(steps().map(|(one, next)| one.step_to(next))));
    let anchor = refused.unwrap_or_else(|| newest_believed(first, points, scale));
    // Never so that less than nothing stands beside the messages.
    let scale = scale.min(anchor.reported / anchor.counted).clamp(*SCALE_RANGE.start(), *SCALE_RANGE.end());
    let base = anchor.reported - scale * anchor.counted;
    let misses = steps().map(|(one, next)| one.misses(next, scale).ln_1p()).sum::<f64>();
    let surprise = misses + UNLIKELY_SCALE * (scale / PRIOR_SCALE).ln().abs();
    Some((Estimate { base, scale, frame: MESSAGE_FRAME_TOKENS }, surprise))
}

/// The weighted median of the scales that are possible.
fn median(steps: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut steps: Vec<(f64, f64)> = steps.filter(|(scale, _)| SCALE_RANGE.contains(scale)).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut left = steps.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let middle = steps.iter().find(|(_, weight)| {
        left -= weight;
        left <= 0.0
    });
    middle.map_or(PRIOR_SCALE, |(scale, _)| *scale)
}

/// The newest report that can be believed. One that the last believed does not predict waits for the next: two that agree
/// outvote it.
fn newest_believed(first: Point, points: &[Point], scale: f64) -> Point {
    let believed = |(anchor, suspect): (Point, Point), next: &Point| {
        let is_believed = [anchor, suspect].iter().any(|of| of.misses(next, scale) <= GATE);
        (if is_believed { *next } else { anchor }, *next)
    };
    points.iter().fold((first, first), believed).0
}
