//! The settings of the core by which a hook is made, from JSON: `lib/hook/hook.js` has checked every option and filled in
//! every default.

use serde::Deserialize;

use super::encode::tokenizer;
use super::failure::Result;
use super::json::parsed;
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
        let mut options: Self = parsed(json)?;
        options.rules.counting = Counting::Exact(tokenizer(options.encoding)?);
        Ok(options)
    }
}
