//! Settings of the sticky schedule: the prices of the provider's cache, and the price of a token of context.

use serde::Deserialize;

use crate::contract::ECONOMY_BALANCED;

/// Prices of a provider's prompt cache, relative to input.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Prices {
    /// Reading a cached token.
    pub read: f64,
    /// Writing a token.
    pub write: f64,
}

/// Settings of the sticky schedule that are not layer limits. Prices and a time to live that the host omits are learned from
/// usage.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Prices of the cache.
    #[serde(skip)]
    pub prices: Option<Prices>,
    /// Lifetime of an unread cache entry, in seconds.
    #[serde(skip)]
    pub ttl_seconds: Option<f64>,
    /// Tokens worth carrying for one expected use.
    pub economy: f64,
    /// True if the hook learns how the provider counts.
    pub calibrate: bool,
}

impl Prices {
    /// Extra cost of writing `tokens` instead of reading them, in input tokens.
    pub fn rewrite(&self, tokens: f64) -> f64 {
        (self.write - self.read).max(0.0) * tokens.max(0.0)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self { prices: None, ttl_seconds: None, economy: ECONOMY_BALANCED, calibrate: true }
    }
}
