//! The weights of the sticky schedule: cache prices, waters, and the price of a token of context.
//!
//! Plain settings and the formulas that use them; no state.

use crate::contract::{CACHE_READ, CACHE_TTL_SECONDS, CACHE_WRITE};

/// Share of the tokens above the last batch's size that the next batch can be expected to remove: the rest is needed.
/// Swept from 0.15 to 0.8 on 52 recorded sessions: flat from 0.25 to 0.5, dearer rewriting above.
const REMOVABLE_SHARE: f64 = 0.3;
/// A cold cache moves the frontier if at least this share of the window lies above the low water or the last batch's
/// size, whichever is less. Swept from 0.01 to 0.2 on 52 recorded sessions: flat up to 0.04, dearer above.
const MIN_COLD_SHARE: f64 = 0.03;
/// Expected later uses of identifiers that one token of context must be worth to stay, when the context stands at the
/// low water. Swept from 0.0006 to 0.0014 on 30 recorded sessions; the waters then move along one and the same
/// frontier of bill against recall.
const PRICE_AT_LOW_WATER: f64 = 0.001;

/// A token costs the same in any window: of a larger one than this the waters are shares of this many tokens. It is the window
/// they were fitted at.
const WATERS_WINDOW: f64 = 200_000.0;

/// The balance of bill and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Economy {
    /// Remember more, save less.
    Faithful,
    /// About half the bill of no compression.
    #[default]
    Balanced,
    /// Save most.
    Thrifty,
}

/// Shares of [`waters_window`] between which the context moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waters {
    /// Passing it moves the frontier, whatever that costs.
    pub high: f64,
    /// The share at which the context is worth its tokens at the ordinary price; batches end near it.
    pub low: f64,
}

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The cache.
    pub prices: Prices,
    /// The waters.
    pub waters: Waters,
    /// True if prices and time to live are learned from the transcript.
    pub learns_prices: bool,
    /// True if the time to live alone is, the host having set the prices.
    pub learns_ttl: bool,
    /// True if the provider's own counts are learned from.
    pub calibrate: bool,
}

/// Tokens that the waters of a context window are shares of.
#[must_use]
pub fn waters_window(context_window: f64) -> f64 {
    context_window.min(WATERS_WINDOW)
}

impl Economy {
    /// Its waters.
    #[must_use]
    pub const fn waters(self) -> Waters {
        match self {
            Self::Faithful => Waters { high: 0.7, low: 0.2 },
            Self::Balanced => Waters { high: 0.7, low: 0.132 },
            Self::Thrifty => Waters { high: 0.7, low: 0.056 },
        }
    }
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
            waters: Economy::default().waters(),
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

    /// Expected later uses that a token must be worth to stay in a context of this many tokens.
    #[must_use]
    pub fn price(&self, context: f64, window: f64) -> f64 {
        PRICE_AT_LOW_WATER * context / (self.waters.low * window).max(1.0)
    }

    /// Tokens above which a cold cache moves the frontier; `settled` is what the last batch left.
    #[must_use]
    pub fn cold_mark(&self, settled: f64, window: f64) -> f64 {
        settled.min(self.waters.low * window) + MIN_COLD_SHARE * window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_window_moves_nothing() {
        assert!((waters_window(1_000_000.0) - waters_window(WATERS_WINDOW)).abs() < 1e-9);
        assert!(waters_window(32_000.0) < waters_window(WATERS_WINDOW));
    }

    #[test]
    fn more_thrift_means_lower_waters() {
        let [faithful, balanced, thrifty] =
            [Economy::Faithful, Economy::Balanced, Economy::Thrifty].map(Economy::waters);
        assert!(faithful.low > balanced.low && balanced.low > thrifty.low);
        assert!(faithful.high >= balanced.high && balanced.high >= thrifty.high);
    }

    #[test]
    fn a_fuller_context_charges_more_for_a_token() {
        let policy = Policy::default();
        assert!(policy.price(80_000.0, 200_000.0) > policy.price(40_000.0, 200_000.0));
        let low = policy.waters.low * 200_000.0;
        assert!((policy.price(low, 200_000.0) - PRICE_AT_LOW_WATER).abs() < 1e-12);
    }
}
