//! How many tokens a model's provider counts for one of cl100k, learned from the steps between its reports.

use crate::context::transcript::Source;

/// Provider tokens per cl100k token before a model has taught us: Claude on recorded sessions, 1.22 to 1.33.
pub const PRIOR_SCALE: f64 = 1.27;
/// Providers count between 0.7 and 3 tokens for one of cl100k; a little room on both sides.
pub(super) const SCALE_RANGE: (f64, f64) = (0.6, 3.5);
/// How much the prior weighs, in cl100k tokens of learned text.
pub(super) const PRIOR_WEIGHT: f64 = 500.0;
/// Steps of so many cl100k tokens outweigh the prior.
pub(super) const LEARNED: f64 = 4.0 * PRIOR_WEIGHT;
/// How much of what was learned is remembered, in cl100k tokens: a conversation's kind of text changes.
const MEMORY: f64 = 60_000.0;
/// A step between two reports teaches only if it has at least this many cl100k tokens; less is rounding.
const MIN_STEP: f64 = 20.0;

/// What was learned of each model.
#[derive(Clone, Debug, Default)]
pub(super) struct Scales(Vec<(Source, Scale)>);

impl Scales {
    /// Starts a model from `prior`, unless it has taught something already.
    pub(super) fn start(&mut self, source: &Source, prior: f64) {
        if self.find(source).is_none() {
            self.0.push((source.clone(), Scale::new(prior)));
        }
    }

    /// Starts a model from `prior`, whatever it was started from before; what its steps taught stays.
    pub(super) fn expect(&mut self, source: &Source, prior: f64) {
        self.start(source, prior);
        if let Some(scale) = self.find_mut(source) {
            scale.prior = prior;
        }
    }

    /// Forgets what a model taught and starts it from `prior`.
    pub(super) fn restart(&mut self, source: &Source, prior: f64) {
        self.0.retain(|(of, _)| of != source);
        self.start(source, prior);
    }

    /// The scale of a model; the prior's for one that has not spoken.
    pub(super) fn of(&self, source: &Source) -> f64 {
        self.find(source).map_or(PRIOR_SCALE, Scale::value)
    }

    /// Whether its steps outweigh what a model was started from.
    pub(super) fn is_learned(&self, source: &Source) -> bool {
        self.find(source).is_some_and(|scale| scale.counted >= LEARNED)
    }

    /// Learns from a step of so many tokens as the provider counts them, and as cl100k does.
    pub(super) fn learn(&mut self, source: &Source, reported: f64, counted: f64) {
        let (lowest, highest) = SCALE_RANGE;
        let ratio = reported / counted;
        if counted.abs() < MIN_STEP || ratio < lowest || ratio > highest {
            return;
        }
        if let Some(scale) = self.find_mut(source) {
            scale.add(reported.abs(), counted.abs());
        }
    }

    fn find_mut(&mut self, source: &Source) -> Option<&mut Scale> {
        self.0.iter_mut().find_map(|(of, scale)| (of == source).then_some(scale))
    }

    fn find(&self, source: &Source) -> Option<&Scale> {
        self.0.iter().find_map(|(of, scale)| (of == source).then_some(scale))
    }
}

/// Sums over the steps between reports of one model.
#[derive(Clone, Copy, Debug)]
struct Scale {
    prior: f64,
    reported: f64,
    counted: f64,
}

impl Scale {
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

    fn value(&self) -> f64 {
        let scale = (self.reported + self.prior * PRIOR_WEIGHT) / (self.counted + PRIOR_WEIGHT);
        scale.clamp(SCALE_RANGE.0, SCALE_RANGE.1)
    }
}
