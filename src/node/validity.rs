//! Checks and repairs transcripts by the providers' rules, for JavaScript. Answers are JSON.

use napi_derive::napi;
use serde_json::{Value, json};

use super::failure::Result;
use super::guarded::guarded;
use super::read::{Batch, Rows};
use crate::context::facts::measure::{Raw, RawRole};
use crate::context::request::validity::{Family, check, repair};

/// Returns the problems a provider would refuse: the number of its `family`, and `broken`, pairs of message position and rule
/// number. `api` is pi's name of the wire; by default that of the newest answer.
#[napi]
pub fn problems(rows: Rows<'_>, api: Option<String>) -> Result<String> {
    guarded(|| {
        with_messages(&rows, api, |messages, family| {
            let problems = check(messages, family).into_iter();
            let broken: Vec<_> = problems.map(|problem| [problem.index, problem.rule as usize]).collect();
            json!({ "family": family as usize, "broken": broken })
        })
    })
}

/// Returns the changes that repair a transcript by the same rules: `order`, the positions of all messages in their new
/// order, and `mends`, the changes by message position.
#[napi]
pub fn mends(rows: Rows<'_>, api: Option<String>) -> Result<String> {
    guarded(|| with_messages(&rows, api, |messages, family| json!(repair(messages, family))))
}

fn with_messages(
    rows: &Rows<'_>,
    api: Option<String>,
    answer: impl FnOnce(&[Raw<'_>], Family) -> Value,
) -> Result<String> {
    let batch = Batch::take(rows)?;
    let messages = batch.messages()?;
    let newest = || {
        messages.iter().rev().find_map(|message| match message.role {
            RawRole::Assistant { api, .. } => Some(String::from_utf16_lossy(api)),
            _ => None,
        })
    };
    let family = api.or_else(newest).map_or(Family::Any, |api| Family::of(&api));
    Ok(answer(&messages, family).to_string())
}
