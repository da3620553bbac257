//! Calibration: a line through the newest report of each model, with the median slope of its steps, and the window that
//! refusals taught.
//!
//! A prompt has `scale × tokens counted + base` tokens and a frame around each message. A step is the difference between two
//! reports that follow one another. An endpoint that refuses a request for its length and names its tokens reports them.

mod learned;

use std::sync::Arc;

use self::learned::Learned;
pub use self::learned::LearnedWindow;
use crate::context::facts::transcript::{Assistant, Message, Source};
use crate::context::request::layers::Limits;
use crate::tokens::estimate::{Estimate, MESSAGE_FRAME_TOKENS, Size};

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
const SCALE_RANGE: std::ops::RangeInclusive<f64> = 0.6..=3.5;
/// Most that a provider counts beside the messages, for prompt and tools: agents send 10 000 to 50 000. In tokens.
const MOST_BESIDE: f64 = 100_000.0;
/// What stands beside the messages of a model whose first report is a refusal, in cl100k tokens: it tells no scale else.
const USUAL_BESIDE: f64 = 5000.0;
/// Weight of the prior, in cl100k tokens of learned text.
const PRIOR_WEIGHT: f64 = 500.0;
/// Most that one step weighs, in cl100k tokens: a change of the prompt beside it must not decide.
const MOST_WEIGHT: f64 = 4000.0;
/// Steps of one model that count, the newest: a conversation's kind of text changes.
const STEPS: usize = 16;
/// Models that are remembered, the latest.
const MODELS: usize = 8;
/// How far a report lies from a good line: as a share of the prompt, and in tokens beside that.
const NOISE_SHARE: f64 = 0.003;
const NOISE_TOKENS: f64 = 50.0;
/// A report that misses the line by so many times the noise moves it only if the next report agrees.
const GATE: f64 = 40.0;

/// Most that the prompt which a refusal names may be off what is known of the model, as a share: else its words are of
/// something else.
const MOST_MISS: f64 = 0.5;

/// An estimate this close to a report foresaw it, as a share of the prompt.
const FORESEEN: f64 = 0.03;

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

/// A scale and its weight.
type Step = (f64, f64);

#[derive(Clone, Debug)]
struct Line {
    prior: [Step; 2],
    steps: Vec<Step>,
    newest: Point,
    /// The newest report that is believed.
    anchor: Point,
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
    /// The estimate that other conversations of the hook have come to.
    stands_in: Option<Estimate>,
    /// True if a prompt of this conversation was reported, be it one that cannot be believed.
    is_reported: bool,
    /// The scale to begin with, where another than the usual one is known.
    prior: Option<f64>,
    /// The one that answered last is the last.
    models: Vec<Model>,
    /// Most tokens of the next request, if the last was refused for its length.
    room: Option<f64>,
    /// The window that another conversation of the hook's learned for this model.
    known: Option<LearnedWindow>,
    /// Answers without a usable report so far, with what was sent: hosts may write it down later.
    unreported: Vec<(usize, Sent)>,
}

impl Point {
    fn of(tokens: f64, size: Size) -> Self {
        Self { reported: tokens - MESSAGE_FRAME_TOKENS * size.messages as f64, counted: size.cl100k as f64 }
    }

    fn is_possible(&self) -> bool {
        let least = self.counted * SCALE_RANGE.start();
        (least..=self.counted * SCALE_RANGE.end() + MOST_BESIDE).contains(&self.reported)
    }

    /// The distance of the next report from what was to be expected, in times of the noise.
    fn misses(&self, next: &Self, scale: f64) -> f64 {
        let expected = self.reported + scale * (next.counted - self.counted);
        let noise = NOISE_SHARE * self.reported.max(next.reported).max(0.0) + NOISE_TOKENS;
        (expected - next.reported).abs() / noise
    }
}

impl Line {
    /// `beside` is what is known to stand beside the messages, in cl100k tokens; `scale` that before any report.
    fn new(first: Point, beside: Option<f64>, scale: f64) -> Self {
        // The less text there is beside what is known to stand there, the less the two tell of the scale.
        let all = (first.counted + beside.unwrap_or(f64::INFINITY)).max(1.0);
        let (known, told) = (first.reported / all, first.counted / all);
        let prior = [(scale, (1.0 - told) * PRIOR_WEIGHT), (known, told * PRIOR_WEIGHT)];
        Self { prior, steps: Vec::new(), newest: first, anchor: first }
    }

    fn take(&mut self, next: Point, is_certain: bool) {
        let counted = next.counted - self.newest.counted;
        let scale = (next.reported - self.newest.reported) / counted;
        self.steps.push((scale, counted.abs().min(MOST_WEIGHT)));
        forget_all_but(STEPS, &mut self.steps);
        let scale = self.scale();
        let agrees = |with: &Point| with.misses(&next, scale) <= GATE;
        if is_certain || agrees(&self.anchor) || agrees(&self.newest) {
            self.anchor = next;
        }
        self.newest = next;
    }

    /// The weighted median of the possible scales.
    fn scale(&self) -> f64 {
        let all = self.prior.iter().chain(&self.steps).copied();
        let mut steps: Vec<Step> = all.filter(|(scale, _)| SCALE_RANGE.contains(scale)).collect();
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut left = steps.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let middle = steps.iter().find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        });
        middle.map_or(PRIOR_SCALE, |(scale, _)| *scale)
    }

    fn estimate(&self) -> Estimate {
        let Point { reported, counted } = self.anchor;
        // Never so that less than nothing stands beside the messages.
        let scale = self.scale().min(reported / counted).clamp(*SCALE_RANGE.start(), *SCALE_RANGE.end());
        Estimate { base: reported - scale * counted, scale, frame: MESSAGE_FRAME_TOKENS }
    }
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

    fn standing_in(&self) -> Option<Estimate> {
        self.stands_in.filter(|_| !self.is_reported && self.line().is_none())
    }

    /// The model that answered last, and its estimate with the number of reports that it rests on.
    #[must_use]
    pub fn line_of_last(&self) -> Option<(&Source, Estimate, usize)> {
        let model = self.models.last()?;
        let line = model.line.as_ref()?;
        Some((&model.source, line.estimate(), line.steps.len() + 1))
    }

    /// Takes in the report of a call that was made with another list. One that the estimate that stands in foresaw bears it out,
    /// and that goes on to stand in: it rests on more reports.
    pub fn observe_elsewhere(&mut self, index: usize, answer: &Assistant, sent: Sent) {
        let standing = self.standing_in();
        let prompt = answer.usage.prompt_tokens().unwrap_or(0.0);
        let off = standing.map(|estimate| (estimate.tokens(sent.edited) - prompt).abs() / prompt);
        if off.is_none_or(|off| off > FORESEEN) {
            self.prior = standing.map(|estimate| estimate.scale).or(self.prior);
            self.observe(index, answer, sent, false);
        }
    }

    /// Goes on with a list that its host rewrote. What calls taught stays: each report is of what was sent then.
    pub fn rewrite(&mut self) {
        self.unreported.clear();
    }

    /// Most tokens of the next request, if the last was refused for its length.
    #[must_use]
    pub fn room(&self) -> Option<f64> {
        self.room
    }

    /// The window of the model that answered last, as refusals taught it, here or in another conversation of the hook's.
    #[must_use]
    pub fn learned(&self) -> Option<LearnedWindow> {
        let learned = self.models.last().map_or(Learned::default(), |model| model.learned);
        learned.window.or(self.known.filter(|known| !learned.exceeds(known)))
    }

    /// Sets the window that another conversation learned for this model.
    pub fn set_known(&mut self, known: Option<LearnedWindow>) {
        self.known = known;
    }

    /// Forgets the windows that refusals taught: the host says another window than before.
    pub fn forget_windows(&mut self) {
        self.room = None;
        for model in &mut self.models {
            model.learned = Learned::default();
        }
    }

    /// The host's limits, narrowed by what refusals taught.
    #[must_use]
    pub fn narrow(&self, limits: &Limits) -> Limits {
        let learned = self.models.last().map_or(Learned::default(), |model| model.learned);
        let mut narrowed = Limits { most_tokens: learned.bound(&self.estimate()), ..limits.clone() };
        if let Some(LearnedWindow { tokens, output }) = self.learned() {
            narrowed.context_window = tokens.min(limits.context_window);
            narrowed.output_tokens = output;
        }
        narrowed
    }

    /// Takes in what was reported of the call answered at `index`. A report of another list than stands before it now teaches
    /// nothing.
    pub fn observe(&mut self, index: usize, answer: &Assistant, sent: Sent, is_stale: bool) {
        if !self.is_on {
            return;
        }
        let (usage, estimate) = (&answer.usage, self.estimate());
        self.room = None;
        if let Some(refusal) = usage.refused.filter(|_| is_stale) {
            // It names the window all the same; what was refused is not known.
            if refusal.limit.is_some() {
                let learn = |model: &mut Model| model.learned.refuse(refusal, sent.edited, f64::INFINITY);
                self.with_model(&answer.source, learn);
            }
        } else if let Some(refusal) = usage.refused {
            let estimated = estimate.tokens(sent.edited);
            let is_known =
                self.models.iter().any(|model| model.source == answer.source && model.line.is_some());
            let is_near = |tokens: &f64| !is_known || (tokens / estimated - 1.0).abs() <= MOST_MISS;
            // A count is of something else if even a request without messages would be over the limit.
            let beside = |tokens: f64| tokens - PRIOR_SCALE * sent.edited.cl100k as f64;
            let leaves_room =
                |tokens: &f64| refusal.limit_for(*tokens).is_none_or(|limit| beside(*tokens) < limit);
            if let Some(tokens) = refusal.tokens(estimated).filter(is_near).filter(leaves_room) {
                self.take(&answer.source, tokens, sent.edited, true);
            }
            let sent_tokens = self.estimate().tokens(sent.edited);
            let refuse = |model: &mut Model| model.learned.refuse(refusal, sent.edited, sent_tokens);
            self.room = Some(self.with_model(&answer.source, refuse));
        } else if usage.prompt_tokens().is_none() {
            self.unreported.push((index, sent));
            forget_all_but(STEPS, &mut self.unreported);
        } else if !is_stale {
            self.report(answer, sent);
        }
    }

    /// Learns from reports that came in after their messages were taken in; gives back which those are.
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

    fn report(&mut self, Assistant { source, usage, .. }: &Assistant, Sent { raw, edited }: Sent) {
        let Some(tokens) = usage.prompt_tokens() else { return };
        self.is_reported = true;
        let known = self.models.iter().find(|model| model.source == *source);
        let line = known.and_then(|model| model.line.as_ref()).filter(|line| !line.steps.is_empty());
        let misses = |size| line.map(|line| line.anchor.misses(&Point::of(tokens, size), line.scale()));
        let size = if misses(raw) < misses(edited) { raw } else { edited };
        self.take(source, tokens, size, false);
        let estimate = self.estimate();
        self.with_model(source, |model| model.learned.accept(tokens, &estimate));
    }

    fn take(&mut self, source: &Source, tokens: f64, size: Size, is_certain: bool) {
        // Beside the messages the host sends the same to every model.
        let told = self.overhead_tokens.map(|overhead| overhead / PRIOR_SCALE);
        let other = self.line().map(Line::estimate);
        let usual = is_certain.then_some(USUAL_BESIDE.min(tokens / 16.0));
        let beside = other.map(|estimate| estimate.base / estimate.scale).or(told).or(usual);
        let (point, scale) = (Point::of(tokens, size), self.prior.unwrap_or(PRIOR_SCALE));
        self.with_model(source, |model| match &mut model.line {
            _ if !point.is_possible() => {}
            Some(line) => line.take(point, is_certain),
            line => *line = Some(Line::new(point, beside, scale)),
        });
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

    /// Of the model that answered last, unless none of its reports can be believed.
    fn line(&self) -> Option<&Line> {
        self.models.iter().rev().find_map(|model| model.line.as_ref())
    }

    /// The estimate of the next prompt.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let standing = self.standing_in().unwrap_or(Estimate::PLAIN);
        let told = Estimate { base: self.overhead_tokens.unwrap_or(standing.base), ..standing };
        self.line().map_or(told, Line::estimate)
    }
}

fn forget_all_but<T>(newest: usize, list: &mut Vec<T>) {
    list.drain(..list.len().saturating_sub(newest));
}

#[cfg(test)]
mod tests;
