//! The settings of the core by which a hook is made, from JSON: `lib/hook/hook.js` has checked every option and filled in
//! every default.

use serde::Deserialize;

use super::encode::tokenizer;
use super::failure::{Failure, Result};
use crate::context::layers::Limits;
use crate::context::measure::{Counting, Rules};
use crate::context::schedule::Mode;
use crate::context::schedule::economy::Policy;

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
    /// When the layers may move.
    pub(super) schedule: Mode,
    /// Number of the encoding texts are counted by; cl100k_base's without one.
    encoding: Option<f64>,
}

impl Options {
    pub(super) fn read(json: &str) -> Result<Self> {
        // The place alone is told: the text beside it may be the user's.
        let refused = |error: serde_json::Error| {
            Failure::invalid(format!("the options are not understood at column {}", error.column()))
        };
        let mut options: Self = serde_json::from_str(json).map_err(refused)?;
        options.rules.counting = Counting::Exact(tokenizer(options.encoding)?);
        Ok(options)
    }
}
