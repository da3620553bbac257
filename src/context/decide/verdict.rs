//! The decision of the sticky schedule at a call, and the arithmetic behind it.

use super::economy::Prices;
pub use crate::contract::Verdict;

/// The arithmetic of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// The decision and its reason.
    pub verdict: Verdict,
    /// True if the provider's cache has expired.
    pub is_cold: bool,
    /// Estimated prompt tokens before the decision.
    pub context: f64,
    /// Tokens that the tried batch removes; without one, those above the size that the last batch left.
    pub removable: f64,
    /// Cost so far of carrying them, in input tokens.
    pub carried: f64,
    /// The cost of rewriting the rest, in input tokens.
    pub rewrite: f64,
    /// Calls until a batch pays for itself: of the tried batch, else expected.
    pub payback_calls: f64,
}

impl Verdict {
    /// Returns `true` if a batch is made.
    pub const fn moves(self) -> bool {
        !matches!(self, Self::Wait | Self::Unpaid | Self::TurnOpen)
    }
}

/// Number of calls, the batch's own included, until `removed` tokens that are no longer read pay for `rewritten` tokens
/// after the first change; both in provider tokens.
///
/// ```
/// use pi_strata::context::decide::economy::Prices;
/// use pi_strata::context::decide::verdict::payback_calls;
/// let prices = Prices { read: 0.1, write: 1.25 };
/// assert_eq!(payback_calls(20_000.0, 40_000.0, prices).round(), 23.0);
/// // A fourth of the read price: four times as long, and a little more.
/// assert_eq!(payback_calls(20_000.0, 40_000.0, Prices { read: 0.025, ..prices }).round(), 98.0);
/// ```
pub fn payback_calls(removed: f64, rewritten: f64, prices: Prices) -> f64 {
    let cost = prices.rewrite(rewritten);
    if cost > 0.0 { cost / (prices.read * removed.max(0.0)) } else { 0.0 }
}
