//! The weights of the sticky schedule: cache prices, and the price of a token of context.
//!
//! Plain settings and the formulas that use them; no state.

use serde::Deserialize;

use crate::contract::{CACHE_READ, CACHE_TTL_SECONDS, CACHE_WRITE, ECONOMY_BALANCED};

/// Prices of a provider's prompt cache, relative to input, and its time to live.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    #[serde(skip)]
    pub prices: Prices,
    /// Tokens that are carried for the sake of one expected use: memory against the bill.
    pub economy: f64,
    /// Whether prices and time to live are learned from the transcript.
    #[serde(skip)]
    pub learns_prices: bool,
    /// True if the time to live alone is, the host having set the prices.
    #[serde(skip)]
    pub learns_ttl: bool,
    /// True if the provider's own counts are learned from.
    pub calibrate: bool,
}

impl Default for Prices {
    fn default() -> Self {
        Self { read: CACHE_READ, write: CACHE_WRITE, ttl_seconds: CACHE_TTL_SECONDS }
    }
}

impl Prices {
    /// The cost of writing so many tokens that the next call would have read, in input tokens.
    #[must_use]
    pub fn rewrite(&self, tokens: f64) -> f64 {
        (self.write - self.read).max(0.0) * tokens.max(0.0)
    }

    /// True if the cache holds whole earlier requests alone, as where writing has a price of its own: then a change in the middle
    /// rewrites all messages.
    #[must_use]
    pub fn holds_whole_requests(&self) -> bool {
        self.write > 1.0
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

    /// Expected later uses that a token must be worth to stay.
    #[must_use]
    pub fn price(&self) -> f64 {
        1.0 / self.economy
    }
}
