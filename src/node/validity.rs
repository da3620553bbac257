//! Checks and repairs transcripts by the providers' rules, for JavaScript.

use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use super::read::Batch;
use crate::context::facts::measure::{Raw, RawRole};
use crate::context::request::validity::{Family, check, repair};

/// A message that breaks a rule.
#[napi(object)]
pub struct Problem {
    /// Its position.
    pub index: u32,
    /// The rule.
    pub rule: String,
    /// The provider's words.
    pub message: String,
}

/// The changes that mend a transcript.
#[napi(object)]
pub struct Mends {
    /// The positions of all messages in their new order; nothing if the order stays.
    pub order: Option<Vec<u32>>,
    /// The messages that change.
    pub mends: Vec<MendedMessage>,
}

/// The change of a message that mends a transcript.
#[napi(object)]
pub struct MendedMessage {
    /// Its position.
    pub index: u32,
    /// True if the message is dropped.
    pub is_dropped: bool,
    /// Positions of the dropped blocks.
    pub blocks: Vec<u32>,
    /// True if lone surrogates in its texts are replaced.
    pub is_rewritten: bool,
}

/// Returns the problems that a provider would refuse. `api` is pi's name of the wire; by default that of the newest answer.
#[napi]
pub fn problems(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    api: Option<String>,
) -> Result<Vec<Problem>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        let messages = batch.messages()?;
        let family = family(api, &messages);
        let problems = check(&messages, family).into_iter().map(|problem| Problem {
            index: problem.index as u32,
            rule: problem.rule.as_str().into(),
            message: problem.rule.says(family).into(),
        });
        Ok(problems.collect())
    })
}

/// Returns the changes that repair a transcript by the same rules.
#[napi]
pub fn mends(numbers: Float64ArraySlice<'_>, strings: Array<'_>, api: Option<String>) -> Result<Mends> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        let messages = batch.messages()?;
        let repair = repair(&messages, family(api, &messages));
        let mends = repair.mends.into_iter().map(|(index, mend)| MendedMessage {
            index: index as u32,
            is_dropped: mend.is_dropped,
            blocks: mend.blocks.into_iter().map(|at| at as u32).collect(),
            is_rewritten: mend.is_rewritten,
        });
        let order = repair.order.map(|order| order.into_iter().map(|index| index as u32).collect());
        Ok(Mends { order, mends: mends.collect() })
    })
}

fn family(api: Option<String>, messages: &[Raw<'_>]) -> Family {
    let newest = messages.iter().rev().find_map(|message| match message.role {
        RawRole::Assistant { api, .. } => Some(String::from_utf16_lossy(api)),
        _ => None,
    });
    api.or(newest).map_or(Family::Any, |api| Family::of(&api))
}
