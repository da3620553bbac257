//! Settings of the sticky schedule: the prices of the provider's cache, and the price of a token of context.

use serde::Deserialize;

use crate::contract::{CACHE_READ, CACHE_WRITE, ECONOMY_BALANCED};

/// Prices of a provider's prompt cache, relative to input.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Prices {
    /// Reading a cached token.
    pub read: f64,
    /// Writing a token.
    pub write: f64,
}

/// Settings of the sticky schedule that are not limits of the layers. The prices and the time to live that the host leaves out
/// are learned from usage.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Prices of the cache.
    #[serde(skip)]
    pub prices: Option<Prices>,
    /// Seconds a cache entry lives unread.
    #[serde(skip)]
    pub ttl_seconds: Option<f64>,
    /// Tokens to carry for one expected use: memory against the bill.
    pub economy: f64,
    /// True if the hook learns how the provider counts.
    pub calibrate: bool,
}

impl Default for Prices {
    fn default() -> Self {
        Self { read: CACHE_READ, write: CACHE_WRITE }
    }
}

impl Prices {
    /// Extra cost of writing `tokens` instead of reading them, in input tokens.
    pub fn rewrite(&self, tokens: f64) -> f64 {
        (self.write - self.read).max(0.0) * tokens.max(0.0)
    }

    /// Returns `true` if the cache holds whole earlier requests only, as where writing has a price of its own: then a change in
    /// the middle rewrites all messages.
    pub fn holds_whole_requests(&self) -> bool {
        self.write > 1.0
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self { prices: None, ttl_seconds: None, economy: ECONOMY_BALANCED, calibrate: true }
    }
}

impl Policy {
    /// Expected later uses that a token must be worth to stay.
    pub fn price(&self) -> f64 {
        1.0 / self.economy
    }
}
