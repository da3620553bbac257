//! The settings of the core by which a hook or a guard is made, from JSON: `lib/hook/hook.js` and `lib/tools/guard.js` have
//! checked every option and filled in every default.

use serde::Deserialize;

use super::encode::tokenizer;
use super::failure::Result;
use super::sessions::parsed;
use crate::context::guard::cap;
use crate::context::layers::Limits;
use crate::context::measure::{Counting, Rules};
use crate::context::schedule::Mode;
use crate::context::schedule::economy::Policy;
use crate::context::shorten::Shortening;

/// By what a hook was made.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Options {
    #[serde(flatten)]
    pub(super) limits: Limits,
    #[serde(flatten)]
    pub(super) rules: Rules,
    #[serde(flatten)]
    pub(super) policy: Policy,
    /// When the layers may move; the guard, which has none, plans without them.
    pub(super) schedule: Option<Mode>,
    /// Number of the encoding texts are counted by; cl100k_base's without one.
    encoding: Option<f64>,
    /// True if tokens are estimated by length.
    #[serde(default)]
    counts_chars: bool,
}

impl Options {
    pub(super) fn read(json: &str) -> Result<Self> {
        let mut options: Self = parsed(json)?;
        let Self { rules, encoding, counts_chars, .. } = &mut options;
        rules.counting = if *counts_chars { Counting::Chars } else { Counting::Exact(tokenizer(*encoding)?) };
        if let Shortening::Ends(ends) = &mut rules.shortening {
            *ends = cap(ends.max_len, ends.head, ends.tail);
        }
        Ok(options)
    }
}
