//! Reads a hook's settings from JSON. `lib/hook/hook.js` checked every option and filled in every default.

use serde::Deserialize;

use super::encode::tokenizer;
use super::failure::{Failure, Result};
use crate::context::decide::Mode;
use crate::context::decide::economy::Policy;
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

impl Options {
    pub(super) fn read(json: &str) -> Result<Self> {
        // The error names the place alone: the text there may be the user's.
        let refused = |error: serde_json::Error| {
            Failure::invalid(format!("the options are not understood at column {}", error.column()))
        };
        let mut options: Self = serde_json::from_str(json).map_err(refused)?;
        options.rules.counting = Counting::Exact(tokenizer(options.encoding)?);
        Ok(options)
    }
}
