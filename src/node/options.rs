//! The settings of the core by which a hook or a guard is made, from JSON: `lib/hook/hook.js` and `lib/tools/guard.js` have
//! checked every option and filled in every default.

use serde::Deserialize;

use super::conversation::{Planner, Set};
use super::encode::tokenizer;
use super::failure::Result;
use super::sessions::parsed;
use crate::context::guard::cap;
use crate::context::layers::Limits;
use crate::context::measure::{Counting, Rules};
use crate::context::schedule::Mode;
use crate::context::schedule::economy::Policy;
use crate::context::shorten::Shortening;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    #[serde(flatten)]
    limits: Limits,
    #[serde(flatten)]
    rules: Rules,
    #[serde(flatten)]
    policy: Policy,
    /// The guard has none.
    schedule: Option<Mode>,
    /// Number of the encoding texts are counted by; cl100k_base's without one.
    encoding: Option<f64>,
    /// True if tokens are estimated by length.
    #[serde(default)]
    counts_chars: bool,
}

impl Set {
    pub(super) fn read(options: &str) -> Result<Self> {
        let Options { limits, mut rules, policy, schedule, encoding, counts_chars } = parsed(options)?;
        rules.counting = if counts_chars { Counting::Chars } else { Counting::Exact(tokenizer(encoding)?) };
        if let Shortening::Ends(ends) = &mut rules.shortening {
            *ends = cap(ends.max_len, ends.head, ends.tail);
        }
        let planner = schedule.map_or(Planner::Guard, |mode| Planner::Layers(mode, policy));
        Ok(Self { limits, planner, rules })
    }
}
