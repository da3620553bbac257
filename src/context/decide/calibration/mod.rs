//! Calibration: for each model a line through its newest report, with the median slope of its steps, and the window that
//! refusals taught.
//!
//! A prompt has `scale × tokens counted + base` tokens and a frame around each message. A step leads from one report to the
//! next. A refusal for length that names its prompt's tokens reports them.

mod learned;

use std::sync::Arc;

use self::learned::Learned;
pub use self::learned::LearnedWindow;
use crate::context::facts::transcript::{Assistant, Message, Refusal, Source};
use crate::context::request::layers::Limits;
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
const SCALE_RANGE: std::ops::RangeInclusive<f64> = 0.6..=3.5;
/// Most that a provider counts beside the messages, for prompt and tools: agents send 10 000 to 50 000. In tokens.
const MOST_BESIDE: f64 = 100_000.0;
/// cl100k tokens taken to stand beside the messages of a model whose first report is a refusal, and most of its prompt's.
const USUAL_BESIDE: f64 = 5000.0;
const USUAL_BESIDE_SHARE: f64 = 1.0 / 16.0;
/// Weight of the prior, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// Most that one step weighs, in cl100k tokens: a change of the prompt beside it must not decide.
const MOST_WEIGHT: f64 = 4000.0;
/// Slopes of one model that count, the newest: a conversation's kind of text changes.
const STEPS: usize = 16;
/// Models that are remembered, the latest.
const MODELS: usize = 8;
/// A report this far off the line, as a share of the prompt and in tokens beside that, moves it only if the next one agrees.
const DOUBTED_SHARE: f64 = 0.12;
const DOUBTED_TOKENS: f64 = 2000.0;
/// Share of the estimate by which the prompt that a refusal names may be off, for a known model: else its words are of
/// something else.
const MOST_MISS: f64 = 0.5;

/// The possible contents of a prompt, in cl100k tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// The transcript as it was: what a recording without the hook sent.
    pub raw: Size,
    /// With the edits decided then.
    pub edited: Size,
}

/// A report: tokens without the frames around the messages, and cl100k tokens of what was sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    reported: f64,
    counted: f64,
}

impl Point {
    fn of(tokens: f64, size: Size) -> Self {
        Self { reported: tokens - MESSAGE_FRAME_TOKENS * size.messages as f64, counted: size.cl100k as f64 }
    }

    fn is_possible(&self) -> bool {
        let least = self.counted * SCALE_RANGE.start();
        (least..=self.counted * SCALE_RANGE.end() + MOST_BESIDE).contains(&self.reported)
    }

    /// Tokens by which the report `next` is off a line through this one.
    fn misses(&self, next: &Self, scale: f64) -> f64 {
        (self.reported + scale * (next.counted - self.counted) - next.reported).abs()
    }
}

#[derive(Clone, Debug)]
struct Line {
    /// Slopes and their weights: the prior, then those of the newest steps.
    slopes: Vec<(f64, f64)>,
    newest: Point,
    /// The newest report that is believed.
    anchor: Point,
}

impl Line {
    fn new(first: Point, prior: f64) -> Self {
        Self { slopes: vec![(prior, PRIOR_WEIGHT)], newest: first, anchor: first }
    }

    fn take(&mut self, next: Point, is_certain: bool) {
        let counted = next.counted - self.newest.counted;
        let slope = (next.reported - self.newest.reported) / counted;
        self.slopes.push((slope, counted.abs().min(MOST_WEIGHT)));
        forget_all_but(STEPS, &mut self.slopes);
        let scale = self.scale();
        let agrees = |with: &Point| {
            let doubted = DOUBTED_SHARE * with.reported.max(next.reported).max(0.0) + DOUBTED_TOKENS;
            with.misses(&next, scale) <= doubted
        };
        if is_certain || agrees(&self.anchor) || agrees(&self.newest) {
            self.anchor = next;
        }
        self.newest = next;
    }

    /// The weighted median of the possible slopes.
    fn scale(&self) -> f64 {
        let possible = self.slopes.iter().copied().filter(|(slope, _)| SCALE_RANGE.contains(slope));
        let mut slopes: Vec<(f64, f64)> = possible.collect();
        slopes.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut left = slopes.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let middle = slopes.iter().find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        });
        middle.map_or(PRIOR_SCALE, |(slope, _)| *slope)
    }

    fn estimate(&self) -> Estimate {
        let Point { reported, counted } = self.anchor;
        // Never so that less than nothing stands beside the messages.
        let scale = self.scale().min(reported / counted).clamp(*SCALE_RANGE.start(), *SCALE_RANGE.end());
        Estimate { base: reported - scale * counted, scale, frame: MESSAGE_FRAME_TOKENS }
    }
}

#[derive(Clone, Debug)]
struct Model {
    source: Source,
    line: Option<Line>,
    learned: Learned,
}

/// The lessons of the reports so far.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    is_on: bool,
    /// Provider tokens beside the messages, as the host says; `None` where it says nothing.
    overhead_tokens: Option<f64>,
    /// The estimate of the hook's other conversations: it stands in until this one has a report.
    stands_in: Option<Estimate>,
    /// The model that answered last is the last.
    models: Vec<Model>,
    /// Most tokens of the next request, if the last was refused for its length.
    room: Option<f64>,
    /// The window that another conversation of the hook learned for this model.
    known: Option<LearnedWindow>,
    /// Answers without a usable report so far, with what was sent: hosts may write it down later.
    unreported: Vec<(usize, Sent)>,
}

impl Calibration {
    /// The state before any report. Switched off it learns nothing.
    #[must_use]
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Sets what the host says of its prompt and tools: that stands in for reports until there are some.
    pub fn set_overhead(&mut self, overhead_tokens: Option<f64>) {
        self.overhead_tokens = overhead_tokens;
    }

    /// Sets the estimate that stands in until this conversation has a report of its own.
    pub fn stand_in(&mut self, estimate: Option<Estimate>) {
        self.stands_in = estimate.filter(|_| self.is_on);
    }

    /// Returns the model that answered last, and its estimate with the number of reports that it rests on.
    #[must_use]
    pub fn line_of_last(&self) -> Option<(&Source, Estimate, usize)> {
        let model = self.models.last()?;
        let line = model.line.as_ref()?;
        Some((&model.source, line.estimate(), line.slopes.len()))
    }

    /// Goes on with a list that its host rewrote. What calls taught stays: each report is of what was sent then.
    pub fn rewrite(&mut self) {
        self.unreported.clear();
    }

    /// Returns the most tokens of the next request, if the last was refused for its length.
    #[must_use]
    pub fn room(&self) -> Option<f64> {
        self.room
    }

    fn learned_of_last(&self) -> Learned {
        self.models.last().map_or(Learned::default(), |model| model.learned)
    }

    /// Returns the window of the model that answered last, as refusals taught it, here or in another conversation of the hook.
    #[must_use]
    pub fn learned(&self) -> Option<LearnedWindow> {
        let learned = self.learned_of_last();
        learned.window.or(self.known.filter(|known| !learned.exceeds(known)))
    }

    /// Sets the window that another conversation learned for this model.
    pub fn set_known(&mut self, known: Option<LearnedWindow>) {
        self.known = known;
    }

    /// Forgets the windows that refusals taught: the host says another window than before.
    pub fn forget_windows(&mut self) {
        self.room = None;
        self.models.iter_mut().for_each(|model| model.learned = Learned::default());
    }

    /// Narrows the host's limits to what refusals taught.
    #[must_use]
    pub fn narrow(&self, limits: &Limits) -> Limits {
        let most_tokens = self.learned_of_last().bound(&self.estimate());
        let mut narrowed = Limits { most_tokens, ..limits.clone() };
        if let Some(LearnedWindow { tokens, output }) = self.learned() {
            narrowed.context_window = tokens.min(limits.context_window);
            narrowed.output_tokens = output;
        }
        narrowed
    }

    /// Learns from the answer at `index`. A report of another list than stands before it now teaches nothing.
    pub fn observe(&mut self, index: usize, answer: &Assistant, sent: Sent, is_stale: bool) {
        if !self.is_on {
            return;
        }
        self.room = None;
        if let Some(refusal) = answer.usage.refused {
            self.refuse(&answer.source, refusal, sent.edited, is_stale);
        } else if answer.usage.prompt_tokens().is_none() {
            self.unreported.push((index, sent));
            forget_all_but(STEPS, &mut self.unreported);
        } else if !is_stale {
            self.report(answer, sent);
        }
    }

    /// Learns from reports that came in after their messages. Returns which those are.
    pub fn catch_up(&mut self, messages: &[Arc<Message>]) -> Vec<usize> {
        let mut late = Vec::new();
        for (index, sent) in std::mem::take(&mut self.unreported) {
            let answer = messages.get(index).and_then(|message| message.assistant());
            match answer.filter(|answer| answer.usage.prompt_tokens().is_some()) {
                Some(answer) => {
                    self.report(answer, sent);
                    late.push(index);
                }
                None => self.unreported.push((index, sent)),
            }
        }
        late
    }

    fn refuse(&mut self, source: &Source, refusal: Refusal, sent: Size, is_stale: bool) {
        if is_stale {
            // What was refused is not known. The window that it names holds all the same.
            if refusal.limit.is_some() {
                self.with_model(source, |model| model.learned.refuse(refusal, sent, f64::INFINITY));
            }
            return;
        }
        let estimated = self.estimate().tokens(sent);
        let is_known = self.models.iter().any(|model| model.source == *source && model.line.is_some());
        let is_believed = |tokens: &f64| {
            // A count is of something else if even a request without messages would be over the limit.
            let beside = tokens - PRIOR_SCALE * sent.cl100k as f64;
            refusal.limit_for(*tokens).is_none_or(|limit| beside < limit)
                && (!is_known || (tokens / estimated - 1.0).abs() <= MOST_MISS)
        };
        if let Some(tokens) = refusal.tokens(estimated).filter(is_believed) {
            self.take(source, tokens, sent, true);
        }
        let tokens = self.estimate().tokens(sent);
        self.room = Some(self.with_model(source, |model| model.learned.refuse(refusal, sent, tokens)));
    }

    fn report(&mut self, Assistant { source, usage, .. }: &Assistant, Sent { raw, edited }: Sent) {
        let Some(tokens) = usage.prompt_tokens() else { return };
        let known = self.models.iter().find(|model| model.source == *source);
        let line = known.and_then(|model| model.line.as_ref()).filter(|line| line.slopes.len() > 1);
        let misses = |size| line.map(|line| line.anchor.misses(&Point::of(tokens, size), line.scale()));
        let size = if misses(raw) < misses(edited) { raw } else { edited };
        self.take(source, tokens, size, false);
        let estimate = self.estimate();
        self.with_model(source, |model| model.learned.accept(tokens, &estimate));
    }

    fn take(&mut self, source: &Source, tokens: f64, size: Size, is_certain: bool) {
        let point = Point::of(tokens, size);
        let prior = self.prior(point, is_certain);
        self.with_model(source, |model| match &mut model.line {
            _ if !point.is_possible() => {}
            Some(line) => line.take(point, is_certain),
            line => *line = Some(Line::new(point, prior)),
        });
    }

    /// The scale of a model by its first report. It is told by what stands beside the messages, if there is less of that than
    /// of them: the host sends the same to every model.
    fn prior(&self, first: Point, is_refusal: bool) -> f64 {
        let told = self.overhead_tokens.map(|overhead| overhead / PRIOR_SCALE);
        let usual = is_refusal.then_some(USUAL_BESIDE.min(first.reported * USUAL_BESIDE_SHARE));
        let other = self.line().map(|line| line.estimate().base / line.estimate().scale);
        match other.or(told).or(usual).filter(|beside| *beside < first.counted) {
            Some(beside) => first.reported / (first.counted + beside).max(1.0),
            None => self.stands_in.map_or(PRIOR_SCALE, |standing| standing.scale),
        }
    }

    /// Changes the model of that source, which is the last one from now on.
    fn with_model<T>(&mut self, source: &Source, change: impl FnOnce(&mut Model) -> T) -> T {
        let new = || Model { source: source.clone(), line: None, learned: Learned::default() };
        let found = self.models.iter().position(|model| model.source == *source);
        let mut model = found.map_or_else(new, |at| self.models.remove(at));
        let changed = change(&mut model);
        self.models.push(model);
        forget_all_but(MODELS, &mut self.models);
        changed
    }

    /// The line of the model that answered last, unless none of its reports can be believed.
    fn line(&self) -> Option<&Line> {
        self.models.iter().rev().find_map(|model| model.line.as_ref())
    }

    /// Returns the estimate of the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let standing = self.stands_in.unwrap_or(Estimate::PLAIN);
        let told = Estimate { base: self.overhead_tokens.unwrap_or(standing.base), ..standing };
        self.line().map_or(told, Line::estimate)
    }
}

fn forget_all_but<T>(newest: usize, list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(newest));
}

#[cfg(test)]
mod tests;
