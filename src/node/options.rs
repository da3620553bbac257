//! Reads a hook's settings, and the host's model settings at a call, from JSON. `lib/hook` checked every option and filled in
//! every default.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::encode::tokenizer;
use super::failure::{Failure, Result};
use crate::context::decide::economy::{Policy, Prices};
use crate::context::decide::{Mode, Terms};
use crate::context::facts::measure::{Counting, Rules};
use crate::context::request::layers::Limits;

/// The settings of a hook.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    #[serde(flatten)]
    pub(super) limits: Limits,
    #[serde(flatten)]
    pub(super) rules: Rules,
    #[serde(flatten)]
    pub(super) policy: Policy,
    /// The schedule of the layers.
    pub(super) schedule: Mode,
    /// Number of the encoding that counts texts; cl100k_base by default.
    encoding: Option<f64>,
}

/// Model settings from the host for this call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallTerms {
    context_window: f64,
    overhead_tokens: Option<f64>,
    takes_images: Option<bool>,
    max_prompt_tokens: Option<f64>,
    /// Tokens of the newest message, if the window excludes it and prompt and tools.
    excluded_tokens: Option<f64>,
    is_claude: Option<bool>,
    /// Prices of the provider's cache, and seconds an entry lives unread. Learned from usage if absent.
    prices: Option<Prices>,
    ttl_seconds: Option<f64>,
    /// When the host kept the cache warm and when it gave it up, in ms.
    #[serde(default)]
    warmed_at: Vec<f64>,
    #[serde(default)]
    cold_at: Vec<f64>,
}

impl Options {
    pub(super) fn read(json: &str) -> Result<Self> {
        let mut options: Self = read("options", json)?;
        options.rules.counting = Counting::Exact(tokenizer(options.encoding)?);
        Ok(options)
    }
}

impl CallTerms {
    pub(super) fn read(json: &str) -> Result<Self> {
        read("terms of the call", json)
    }

    /// The settings of the hook with those of this call.
    pub(super) fn over(self, options: &Options) -> Terms {
        let policy = Policy { prices: self.prices, ttl_seconds: self.ttl_seconds, ..options.policy };
        let max_prompt_tokens = self.max_prompt_tokens.unwrap_or(f64::INFINITY);
        let Self { context_window, excluded_tokens, overhead_tokens, .. } = self;
        let limits = Limits { context_window, max_prompt_tokens, excluded_tokens, ..options.limits.clone() };
        let Self { warmed_at: warmed_ms, cold_at: lost_ms, takes_images, .. } = self;
        let is_blind = takes_images == Some(false);
        let is_claude = self.is_claude == Some(true);
        Terms { policy, limits, overhead_tokens, is_claude, is_blind, warmed_ms, lost_ms }
    }
}

fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T> {
    // The error names only the place: the text there may be the user's.
    serde_json::from_str(json).map_err(|error| {
        Failure::invalid(format!("the {what} are not understood at column {}", error.column()))
    })
}
