//! The decision of the sticky schedule at a call, and the arithmetic behind it.

use super::economy::Prices;
pub use crate::contract::Verdict;

/// The arithmetic of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// The decision and its reason.
    pub verdict: Verdict,
    /// True if nothing is left in the provider's cache.
    pub is_cold: bool,
    /// Estimated prompt tokens before the decision.
    pub context: f64,
    /// Tokens a batch can be expected to remove.
    pub removable: f64,
    /// Paid so far for carrying them, in input tokens.
    pub carried: f64,
    /// The cost of rewriting the rest, in input tokens: the frontier moves when `carried` reaches it.
    pub rewrite: f64,
    /// Calls after which a batch has paid for itself: worked out where one was, else expected.
    pub payback_calls: f64,
    /// Calls expected before the cache is lost anyway.
    pub expected_calls: f64,
    /// Tokens above which the frontier moves whatever that costs.
    pub high_water: f64,
    /// Index after the last edited message.
    pub frontier: usize,
}

impl Verdict {
    /// True if the frontier moves.
    #[must_use]
    pub const fn moves(self) -> bool {
        !matches!(self, Self::Wait | Self::Unpaid | Self::TurnOpen)
    }
}

/// The savings and costs of a batch, in provider tokens.
#[derive(Clone, Copy, Debug)]
pub struct Payback {
    /// Tokens that go.
    pub removed: f64,
    /// Tokens behind the first change: they are written anew.
    pub rewritten: f64,
    /// The prices of reading and writing.
    pub prices: Prices,
}

impl Payback {
    /// Calls, the one that moves among them, until what is no longer read has paid for what is written anew.
    ///
    /// ```
    /// use pi_strata::context::schedule::economy::Prices;
    /// use pi_strata::context::schedule::verdict::Payback;
    /// let prices = Prices { read: 0.1, write: 1.25, ttl_seconds: 300.0 };
    /// let batch = Payback { removed: 20_000.0, rewritten: 40_000.0, prices };
    /// assert_eq!(batch.calls().round(), 23.0);
    /// // A fourth of the read price: four times as long, and a little more.
    /// let cheap = Payback { prices: Prices { read: 0.025, ..prices }, ..batch };
    /// assert_eq!(cheap.calls().round(), 98.0);
    /// ```
    #[must_use]
    pub fn calls(&self) -> f64 {
        let Prices { read, write, .. } = self.prices;
        let cost = (write - read).max(0.0) * self.rewritten.max(0.0);
        let saved = read * self.removed.max(0.0);
        if cost > 0.0 { cost / saved } else { 0.0 }
    }
}
