//! The weights of the sticky schedule: cache prices, and the price of a token of context.
//!
//! Plain settings and the formulas that use them; no state.

use serde::Deserialize;

use super::weights::{MIN_GROWTH, PRICE_AT_ECONOMY, REMOVABLE_SHARE};
use crate::contract::{
    CACHE_READ, CACHE_TTL_SECONDS, CACHE_WRITE, ECONOMY_BALANCED, FULL_WINDOW, HIGH_WATER,
};

/// Prices of a provider's prompt cache, relative to input, and its time to live.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// Reading a cached token.
    pub read: f64,
    /// Writing a token.
    pub write: f64,
    /// Seconds an entry lives unread.
    pub ttl_seconds: f64,
}

/// All that the sticky schedule is set by, beside the layers' limits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// The cache.
    pub prices: Prices,
    /// Tokens of context at which a token must be worth its ordinary price: memory against the bill.
    pub economy: f64,
    /// Whether prices and time to live are learned from the transcript.
    pub learns_prices: bool,
    /// True if the time to live alone is, the host having set the prices.
    pub learns_ttl: bool,
    /// True if the provider's own counts are learned from.
    pub calibrate: bool,
}

/// Factor of all sizes in tokens in this context window: a token costs the same in any, but a window of less than
/// 200 000 tokens has less room for all of them.
#[must_use]
pub fn scale_of(context_window: f64) -> f64 {
    (context_window / FULL_WINDOW).min(1.0)
}

impl Default for Prices {
    fn default() -> Self {
        Self { read: CACHE_READ, write: CACHE_WRITE, ttl_seconds: CACHE_TTL_SECONDS }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            prices: Prices::default(),
            economy: ECONOMY_BALANCED,
            learns_prices: false,
            learns_ttl: false,
            calibrate: true,
        }
    }
}

impl Policy {
    /// Seconds a cache entry lives, where the host sets them.
    #[must_use]
    pub fn fixed_ttl(&self) -> Option<f64> {
        (!self.learns_prices && !self.learns_ttl).then_some(self.prices.ttl_seconds)
    }

    /// The price that a call pays for tokens it carries although a batch could have removed them, in input tokens.
    ///
    /// `above` is how far the context stands above what the last batch left.
    #[must_use]
    pub fn carry(&self, above: f64) -> f64 {
        self.prices.read * self.removable(above)
    }

    /// The share of the tokens above what the last batch left that a new one can be expected to remove.
    #[must_use]
    pub fn removable(&self, above: f64) -> f64 {
        REMOVABLE_SHARE * above.max(0.0)
    }

    /// The tokens that a batch makes the next call write and not read, in input tokens: nearly all that stays,
    /// for something old is always among what goes.
    #[must_use]
    pub fn rewrite(&self, staying: f64) -> f64 {
        (self.prices.write - self.prices.read).max(0.0) * staying
    }

    /// Tokens above which the frontier moves whatever that costs, in a window of this scale.
    #[must_use]
    pub fn high_water(&self, scale: f64) -> f64 {
        HIGH_WATER.max(self.economy) * scale
    }

    /// Tokens at which a token must be worth its ordinary price.
    #[must_use]
    pub fn low_water(&self, scale: f64) -> f64 {
        self.economy * scale
    }

    /// Expected later uses that a token must be worth to stay in a context of this many tokens.
    #[must_use]
    pub fn price(&self, context: f64, scale: f64) -> f64 {
        PRICE_AT_ECONOMY * context / self.low_water(scale).max(1.0)
    }

    /// Tokens above which a cold cache moves the frontier; `settled` is what the last batch left.
    #[must_use]
    pub fn cold_mark(&self, settled: f64, scale: f64) -> f64 {
        settled.min(self.low_water(scale)) + MIN_GROWTH * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_window_moves_nothing() {
        assert!((scale_of(1_000_000.0) - scale_of(FULL_WINDOW)).abs() < 1e-9);
        assert!(scale_of(32_000.0) < scale_of(FULL_WINDOW));
    }

    #[test]
    fn a_fuller_context_and_a_smaller_economy_charge_more_for_a_token() {
        let policy = Policy::default();
        assert!(policy.price(80_000.0, 1.0) > policy.price(40_000.0, 1.0));
        assert!((policy.price(policy.economy, 1.0) - PRICE_AT_ECONOMY).abs() < 1e-12);
        let thrifty = Policy { economy: policy.economy / 2.0, ..policy };
        assert!(thrifty.price(40_000.0, 1.0) > policy.price(40_000.0, 1.0));
        assert!(thrifty.high_water(1.0) >= thrifty.low_water(1.0));
    }
}
