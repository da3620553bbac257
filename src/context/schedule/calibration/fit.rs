//! The line through the reports of one model, robust against those that are not so.

use super::Sent;
use crate::context::transcript::Usage;
use crate::tokens::estimate::MESSAGE_FRAME_TOKENS;

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
pub(super) const SCALE_RANGE: (f64, f64) = (0.6, 3.5);
/// How much the prior weighs, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// A text of so many cl100k tokens tells a scale by itself.
pub(super) const LEARNED: f64 = 2000.0;
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
/// A scale that is a little too high can make what stands beside the messages seem this share of the report below nothing.
pub(super) const NEGATIVE_SHARE: f64 = 0.1;
/// Another reading has to miss by less than half of what the usual one does, and by this share of the prompts less.
const TELLING_MISS: f64 = 0.01;
/// The miss that an unlikely scale counts as, for each factor e: of two readings that fit alike the likelier is meant.
const UNLIKELY_MISS: f64 = 0.05;
/// Steps of so many cl100k tokens before a transcript can be told to have been sent as it came.
const RAW_TEXT: f64 = 4000.0;
/// Reports before they can be told to come a call late.
const LATE_REPORTS: usize = 4;
/// Most that one step counts as missed.
const MOST_MISS: f64 = 0.5;

/// What was reported of one request, and what it and the one before held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) sent: Sent,
    pub(super) before: Option<Sent>,
    pub(super) usage: Usage,
    /// Tokens a refused request is taken to have had.
    pub(super) refused: Option<f64>,
}

/// How reports are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The first so many are of a transcript that was sent as it came: a recording that may go on with the hook.
    raw: usize,
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
    /// By how much the steps miss it, as a share of the prompts.
    miss: f64,
    /// cl100k tokens of all steps.
    learned: f64,
    /// Reports it goes through.
    count: usize,
}

impl Reading {
    /// Every one there is of these reports, the usual one first: that of a recording, once it was told to be one.
    fn all(reports: &[Report], is_recording: bool) -> impl Iterator<Item = Self> {
        let is_edited = |of: &Report| of.sent.raw != of.sent.edited;
        let usual = if is_recording { reports.len() } else { 0 };
        let raws = (0..=reports.len())
            .filter(move |&raw| raw != usual && (raw == 0 || reports.get(raw - 1).is_some_and(is_edited)));
        let twice = [(false, false), (true, false), (true, true)];
        std::iter::once(usual).chain(raws).flat_map(move |raw| {
            let late = [false, true].into_iter();
            late.flat_map(move |is_late| {
                twice.map(|(has_read, has_written)| Self { raw, is_late, has_read, has_written })
            })
        })
    }

    /// What a reading has to be better by than the usual one, for how unusual it is.
    fn oddity(self) -> f64 {
        let odd = |is_so: bool, miss: f64| if is_so { miss } else { 0.0 };
        let twice = odd(self.has_read, 0.0015) - odd(self.has_written, 0.0005);
        odd(self.raw > 0, 0.002) + odd(self.is_late, 0.004) + twice
    }

    /// Tokens of the prompt, if the usage can be read so.
    pub(super) fn prompt_tokens(self, usage: &Usage) -> Option<f64> {
        let part = |tokens: Option<f64>, is_in: bool| tokens.filter(|_| is_in).unwrap_or(0.0);
        let twice = part(usage.cache_read, self.has_read) + part(usage.cache_write, self.has_written);
        let total = usage.prompt_tokens()?;
        (usage.input? >= twice).then_some(total - twice)
    }

    /// Whether every one of these reports can be read so.
    fn fits(self, reports: &[Report]) -> bool {
        reports.iter().all(|report| report.refused.or_else(|| self.prompt_tokens(&report.usage)).is_some())
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
    /// How its model counts, with nothing known: as most do, unless that leaves less than nothing beside the messages.
    pub(super) fn likely_scale(&self) -> f64 {
        PRIOR_SCALE.min(self.scale_beside(0.0))
    }

    /// How its model counts, if the host sends so many cl100k tokens beside the messages.
    fn scale_beside(&self, beside: f64) -> f64 {
        self.reported / (beside + self.counted).max(1.0)
    }

    /// The same where that was said of another model: as it may have changed a little with the model, the report tells the
    /// less the less text there is.
    pub(super) fn scale_of_other(&self, beside: f64) -> f64 {
        let text = self.counted.powi(2);
        let told = text / (beside.powi(2) + PRIOR_WEIGHT.powi(2) + text);
        let scale = told * self.scale_beside(beside) + (1.0 - told) * PRIOR_SCALE;
        scale.min(self.scale_beside(0.0))
    }

    /// Whether a prompt with so many cl100k tokens can have been reported so.
    fn is_possible(&self, (highest, most_beside): (f64, f64)) -> bool {
        let is_within = self.reported <= self.counted * highest + most_beside;
        self.is_refused || (is_within && self.reported >= self.counted * SCALE_RANGE.0)
    }

    /// Whether the next report is about what was to be expected.
    fn predicts(&self, next: &Self, scale: f64) -> bool {
        let step = scale * (next.counted - self.counted);
        let miss = (self.reported + step - next.reported).abs();
        miss <= GATE_SHARE * self.reported.max(next.reported) + step.abs() / 2.0 + GATE_TOKENS
    }
}

impl Fit {
    /// The line in the reading that fits best; in the usual one, unless another is clearly better. `prior` is the scale to
    /// start from, by a report; a prompt has no more than `most` tokens for one of cl100k, and beside the messages.
    pub(super) fn of(
        reports: &[Report],
        is_recording: bool,
        most: (f64, f64),
        prior: impl Fn(&Point) -> f64,
    ) -> Option<Self> {
        let readings = Reading::all(reports, is_recording).filter(|reading| reading.fits(reports));
        let mut fits = readings.filter_map(|reading| {
            let points = reports.iter().enumerate().filter_map(|(nth, report)| reading.point(nth, report));
            let possible: Vec<Point> = points.filter(|point| point.is_possible(most)).collect();
            Self::through(&possible, reading, &prior)
        });
        let usual = fits.next()?;
        // With little text behind it the scale explains as much as edits that were not sent.
        let others = fits.filter(|fit| {
            let Reading { raw, is_late, .. } = fit.reading;
            let may_be_raw = raw == 0 || usual.learned.max(fit.learned) >= RAW_TEXT;
            let may_be_late = !is_late || fit.count >= LATE_REPORTS;
            may_be_raw && may_be_late && fit.count + usize::from(is_late) >= usual.count
        });
        let best = others.min_by(|one, other| one.miss.total_cmp(&other.miss));
        let is_better = |best: &Self| best.miss < 0.5 * usual.miss && best.miss + TELLING_MISS < usual.miss;
        Some(best.filter(is_better).unwrap_or(usual))
    }

    fn through(points: &[Point], reading: Reading, prior: impl Fn(&Point) -> f64) -> Option<Self> {
        let told: Vec<Point> = points.iter().filter(|point| !point.is_refused).copied().collect();
        let prior = prior(told.first().or(points.first())?);
        let scale = scale_of(&told, prior.clamp(SCALE_RANGE.0, SCALE_RANGE.1));
        let steps = steps_of(&told).map(|(one, next)| {
            let step = scale * (next.counted - one.counted);
            ((one.reported + step - next.reported).abs() / one.reported.max(next.reported)).min(MOST_MISS)
        });
        let unlikely = if told.len() > 1 { (scale / PRIOR_SCALE).ln().abs() } else { 0.0 };
        let miss =
            steps.sum::<f64>() / told.len().max(1) as f64 + UNLIKELY_MISS * unlikely + reading.oddity();
        let learned = steps_of(&told).map(|(one, next)| (next.counted - one.counted).abs()).sum();
        Some(Self { scale, anchor: anchor_of(points, scale)?, reading, miss, learned, count: told.len() })
    }

    /// Whether its reports are all of a recording: of a transcript that was sent as it came.
    pub(super) fn is_recording(&self, reports: &[Report]) -> bool {
        self.reading.raw == reports.len()
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
    let steps = steps_of(points).map(|(one, next)| {
        let (reported, counted) = (next.reported - one.reported, next.counted - one.counted);
        (reported / counted, counted.abs())
    });
    let (lowest, highest) = SCALE_RANGE;
    let is_step = |(ratio, counted): &(f64, f64)| *counted >= MIN_STEP && (lowest..=highest).contains(ratio);
    let mut steps: Vec<(f64, f64)> = steps.filter(is_step).chain([(prior, PRIOR_WEIGHT)]).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let weight = |(_, counted): &(f64, f64)| counted.min(MOST_WEIGHT);
    let half = steps.iter().map(weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let median = steps.iter().find(|step| {
        below += weight(step);
        below >= half
    });
    let median = median.map_or(prior, |(ratio, _)| *ratio);
    let near = steps.iter().filter(|(ratio, _)| (ratio - median).abs() <= STEP_MISS * median);
    let (reported, counted) = near
        .fold((0.0, 0.0), |(reported, sum), (ratio, counted)| (reported + ratio * counted, sum + counted));
    reported / counted
}

/// The newest report that can be believed. One that the last believed does not predict waits for the next: two that agree
/// outvote it. A refusal is no mistake.
fn anchor_of(points: &[Point], scale: f64) -> Option<Point> {
    let mut points = points.iter();
    let mut anchor = points.next()?;
    let mut suspect: Option<&Point> = None;
    for next in points {
        let agrees = |of: &Point| of.is_refused || next.is_refused || of.predicts(next, scale);
        if agrees(anchor) || suspect.is_some_and(agrees) {
            (anchor, suspect) = (next, None);
        } else {
            suspect = Some(next);
        }
    }
    Some(*anchor)
}
