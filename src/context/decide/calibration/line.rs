//! A line through the newest report of a model.
//! A prompt has `scale × tokens counted + frame × messages + base` tokens. A step is the difference between two successive
//! reports. Added text counts as in the newest steps. Removed text is older: it counts as the text between the smallest
//! known prompt and the newest.

use super::{BELIEVED, PRIOR_SCALE};
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// Provider tokens per cl100k token, with some margin above: from 0.15 (Georgian by o200k) to 3. Chinese takes 0.4 by a
/// model of `deepseek`.
const SCALES: std::ops::RangeInclusive<f64> = 0.15..=3.5;
/// Tokens that providers count around a message: 3 to 6 are documented, verbose templates reach 20.
const FRAMES: std::ops::RangeInclusive<f64> = 0.0..=30.0;
/// Most tokens of prompt and tools: agents send 10 000 to 50 000.
const MOST_OVERHEAD: f64 = 100_000.0;
/// Weight of the prior scale, in cl100k tokens.
const PRIOR_WEIGHT: f64 = 500.0;
/// Weight of the prior frame, in messages per cl100k token.
const FRAME_WEIGHT: f64 = 0.05;
/// Least cl100k tokens of a step in its weight for the frame: the sizes of cut texts are off by a few.
const LEAST_STEP: f64 = 32.0;
/// Largest weight of one step, in cl100k tokens: a simultaneous change of the prompt must not decide.
const MOST_WEIGHT: f64 = 4000.0;
/// Most reports kept of a model, the newest: a conversation's kind of text changes.
const REPORTS: usize = 32;
/// An unexplained report is doubted until the next one agrees, if it is off by more than this share of the prompt plus these
/// tokens.
const DOUBTED_SHARE: f64 = 0.05;
const DOUBTED_TOKENS: f64 = 1000.0;
/// Error of an estimate of messages alone, as a share of the tokens counted.
const NEAR_SHARE: f64 = 0.02;
/// Largest error counted for one report, as a share of its prompt: a false report must not decide.
const MOST_MISSED: f64 = 0.25;

/// A reported prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// The provider's count.
    pub(super) tokens: f64,
    /// What was sent.
    pub(super) size: Size,
    /// True if this process planned the call, and so knows what was sent.
    pub(super) is_ours: bool,
}

/// The difference between two reports: tokens, tokens counted, and messages.
type Step = (f64, f64, f64);

#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The scale before any step.
    prior: f64,
    /// Newest last.
    pub(super) reports: Vec<Report>,
    /// The smallest prompt so far, even if older than these.
    smallest: Report,
    doubted: Option<Report>,
    /// The line through the newest report.
    pub(super) estimate: Estimate,
    /// The sum of its errors, each as a share of a prompt.
    pub(super) missed: f64,
}

impl Report {
    fn counted(&self) -> f64 {
        self.size.cl100k as f64
    }

    /// The report as one of a request without the thinking of closed turns.
    pub(super) fn without_old_thinking(self) -> Self {
        Self { size: self.size.without_old_thinking(), ..self }
    }

    fn without_frames(&self, frame: f64) -> f64 {
        self.tokens - frame * self.size.messages as f64
    }

    /// Returns `false` if no provider could count these tokens for this size.
    pub(super) fn is_possible(&self) -> bool {
        let (tokens, counted) = (self.without_frames(MESSAGE_FRAME_TOKENS), self.counted());
        (SCALES.start() * counted..=SCALES.end() * counted + MOST_OVERHEAD).contains(&tokens)
    }

    /// Returns `true` if the text added or removed since `before` can explain the difference.
    fn is_growth_of(&self, before: &Self) -> bool {
        let (tokens, counted, _) = self.since(before);
        SCALES.contains(&(tokens / counted))
    }

    fn since(&self, before: &Self) -> Step {
        let messages = self.size.messages as f64 - before.size.messages as f64;
        (self.tokens - before.tokens, self.counted() - before.counted(), messages)
    }
}

impl Line {
    /// A line through one report. `overhead` is the cl100k tokens of prompt and tools, if known.
    pub(super) fn new(first: Report, overhead: Option<f64>) -> Self {
        // A prompt that is mostly overhead says little about the scale.
        let told = overhead.map_or(PRIOR_SCALE, |overhead| {
            let all = (first.counted() + overhead).max(1.0);
            let known = first.without_frames(MESSAGE_FRAME_TOKENS) / all;
            PRIOR_SCALE + first.counted() / all * (known - PRIOR_SCALE)
        });
        let prior = told.clamp(*SCALES.start(), *SCALES.end());
        let (reports, estimate) = (vec![first], Estimate::PLAIN);
        let mut line = Self { prior, reports, smallest: first, doubted: None, estimate, missed: 0.0 };
        line.fit();
        line
    }

    /// Adds the next report. Unless certain, one far off is doubted until the next agrees.
    pub(super) fn add(&mut self, next: Report, is_certain: bool) {
        self.missed = self.missed_with(&next);
        let Some(newest) = self.reports.last().filter(|_| next.is_possible()) else { return };
        // A provider that reports the same number for another size reports a constant.
        if next.tokens.total_cmp(&newest.tokens).is_eq() && next.size.cl100k != newest.size.cl100k {
            return;
        }
        if !self.agree(newest, &next) {
            let off = self.residual_since(newest, &next);
            // Reports that are too small are about other lists. So are those that leave less than nothing for prompt and tools,
            // unless this process made the call: providers may count less than the hook, such as no old thinking.
            let is_enough = next.tokens >= BELIEVED * self.estimate.scale * next.counted()
                && (next.is_ours || self.estimate.base + off >= -NEAR_SHARE * next.counted());
            let is_confirmed = is_enough && self.doubted.is_some_and(|doubted| self.agree(&doubted, &next));
            if !is_certain && !is_confirmed {
                self.doubted = Some(next);
                return;
            }
            // Prompt and tools have changed.
            let all = self.reports.iter_mut().chain([&mut self.smallest]);
            all.for_each(|report| report.tokens += off);
        }
        self.doubted = None;
        if next.size.cl100k <= self.smallest.size.cl100k {
            self.smallest = next;
        }
        self.reports.push(next);
        self.reports.drain(..self.reports.len().saturating_sub(REPORTS));
        self.fit();
    }

    /// The residual of `next` minus the residual of `known`.
    fn residual_since(&self, known: &Report, next: &Report) -> f64 {
        let tokens = |report: &Report| report.tokens - self.estimate.tokens(report.size);
        tokens(next) - tokens(known)
    }

    /// The sum of its errors with this report.
    pub(super) fn missed_with(&self, report: &Report) -> f64 {
        let miss = (report.tokens - self.estimate.tokens(report.size)).abs();
        self.missed + (miss / report.tokens.max(1.0)).min(MOST_MISSED)
    }

    /// Returns `true` if `next` is near the line through `known`, or new text explains the difference.
    fn agree(&self, known: &Report, next: &Report) -> bool {
        let near = DOUBTED_SHARE * known.tokens.max(next.tokens) + DOUBTED_TOKENS;
        self.residual_since(known, next).abs() <= near || next.is_growth_of(known)
    }

    /// Fits scale and frame as weighted medians over the steps, and puts the line through the newest report.
    fn fit(&mut self) {
        let Some((newest, before)) = self.reports.split_last() else { return };
        let steps: Vec<Step> =
            before.iter().zip(self.reports.iter().skip(1)).map(|(one, next)| next.since(one)).collect();
        let growth_with = |frame: f64| {
            let scales = steps.iter().map(|&(tokens, counted, messages)| {
                ((tokens - frame * messages) / counted, counted.abs().min(MOST_WEIGHT))
            });
            median((self.prior, PRIOR_WEIGHT), scales.filter(|(scale, _)| SCALES.contains(scale)))
        };
        let growth = growth_with(MESSAGE_FRAME_TOKENS);
        // Short messages show the frame, long ones the scale.
        let frames = steps.iter().filter(|(.., messages)| messages.abs() > 0.0);
        let frames = frames.map(|&(tokens, counted, messages)| {
            ((tokens - growth * counted) / messages, messages.powi(2) / counted.abs().max(LEAST_STEP))
        });
        let frame = median((MESSAGE_FRAME_TOKENS, FRAME_WEIGHT), frames);
        let frame = frame.clamp(*FRAMES.start(), *FRAMES.end());
        let growth = growth_with(frame);
        let (tokens, counted) = (newest.without_frames(frame), newest.counted());
        let smallest = &self.smallest;
        let span = tokens - smallest.without_frames(frame) + PRIOR_WEIGHT * growth;
        let scale = span / (counted - smallest.counted() + PRIOR_WEIGHT);
        // Prompt and tools are never negative.
        let scale = scale.min(tokens / counted).clamp(*SCALES.start(), *SCALES.end());
        let base = tokens - scale * counted;
        self.estimate = Estimate { base, scale, frame, newest: counted, growth, ..Estimate::PLAIN };
    }
}

/// The weighted median of `values` and the prior `known`.
fn median(known: (f64, f64), values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut all: Vec<(f64, f64)> = std::iter::once(known).chain(values).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut left = all.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let middle = all.iter().find(|(_, weight)| {
        left -= weight;
        left <= 0.0
    });
    middle.map_or(known.0, |(value, _)| *value)
}
