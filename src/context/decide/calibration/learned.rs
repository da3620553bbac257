//! Learns a model's window from refusals: the limit that the endpoint names, or a bound between refused and accepted sizes.

use crate::context::facts::transcript::Refusal;
use crate::tokens::estimate::{Estimate, Size};

/// Share of a named limit for the next request: estimates are not exact.
const NAMED_SHARE: f64 = 0.9;
/// Share of a refused size for the next request, if no limit was named.
const STEP_SHARE: f64 = 0.8;

/// A window that an endpoint named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedWindow {
    /// Tokens of prompt and answer together.
    pub tokens: f64,
    /// Tokens of it that requests reserve for the answer; 0 if not named.
    pub output: f64,
}

/// The lessons of one model's refusals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learned {
    /// `None` if no limit was named, or a larger prompt was accepted since.
    pub(super) window: Option<LearnedWindow>,
    /// The smallest request that was refused without a limit.
    refused: Option<Size>,
    /// The largest prompt that was accepted since the window was learned, in tokens.
    pub(super) accepted: f64,
}

impl Learned {
    /// Learns from the refusal of a request of `tokens`. Returns the most tokens of the next one; `None` if a larger prompt was
    /// accepted: the first such refusal without a limit is probably an error of another kind.
    pub(super) fn refuse(&mut self, refusal: Refusal, sent: Size, tokens: f64) -> Option<f64> {
        let output = refusal.output.unwrap_or(0.0);
        if let Some(limit) = refusal.limit_for(tokens).map(f64::round) {
            let room = NAMED_SHARE * (limit - output);
            // A limit that the request obeys was not the cause.
            if (1.0..tokens).contains(&room) {
                let window = Some(LearnedWindow { tokens: limit, output });
                *self = Self { window, refused: None, accepted: 0.0 };
                return Some(room);
            }
        }
        let is_doubtful = NAMED_SHARE * self.accepted > tokens && refusal.subject.is_none();
        if self.accepted >= tokens {
            self.accepted = 0.0;
        }
        if is_doubtful {
            return None;
        }
        self.refused = Some(sent);
        Some(STEP_SHARE * tokens)
    }

    /// Learns from an accepted prompt.
    pub(super) fn accept(&mut self, tokens: f64, estimate: &Estimate) {
        self.accepted = self.accepted.max(tokens);
        self.window = self.window.filter(|window| tokens <= window.tokens);
        self.refused = self.refused.filter(|refused| tokens <= estimate.tokens(*refused));
    }

    /// Most tokens of a request after a refusal that named no limit.
    pub(super) fn bound(&self, estimate: &Estimate) -> f64 {
        let step = |refused: Size| self.accepted.max(STEP_SHARE * estimate.tokens(refused));
        self.refused.map_or(f64::INFINITY, step)
    }
}
