//! The providers' rules for JavaScript: what is wrong with a transcript, and what mends it.

use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi_derive::napi;
use std::sync::Arc;

use super::failure::Result;
use super::guarded::guarded;
use super::read::Batch;
use crate::context::measure::{Raw, outline};
use crate::context::transcript::Transcript;
use crate::context::validity::{Family, Mend, Repair, check, repair};

/// A message that breaks a rule.
#[napi(object)]
pub struct Problem {
    /// Its position.
    pub index: u32,
    /// The rule.
    pub rule: String,
    /// The words of the provider about it.
    pub message: String,
}

/// The changes that mend a transcript.
#[napi(object)]
pub struct Mends {
    /// The positions of all messages in their new order; none where the order stays.
    pub order: Option<Vec<u32>>,
    /// The messages that change.
    pub mends: Vec<MendedMessage>,
}

/// The change of a message that mends a transcript.
#[napi(object)]
pub struct MendedMessage {
    /// Its position.
    pub index: u32,
    /// True if it is left out.
    pub is_dropped: bool,
    /// Positions of its blocks that are left out.
    pub blocks: Vec<u32>,
    /// True if half surrogate pairs in its texts are replaced.
    pub is_rewritten: bool,
}

/// The problems that a provider would refuse. `api` is pi's name of the wire; without it, that of the newest assistant message.
#[napi]
pub fn problems(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    api: Option<String>,
) -> Result<Vec<Problem>> {
    guarded(|| problems_of(&Batch::take(&numbers, &strings)?, api.as_deref()))
}

/// The changes that mend a transcript, by the same rules.
#[napi]
pub fn mends(numbers: Float64ArraySlice<'_>, strings: Array<'_>, api: Option<String>) -> Result<Mends> {
    guarded(|| mends_of(&Batch::take(&numbers, &strings)?, api.as_deref()))
}

fn problems_of(batch: &Batch, api: Option<&str>) -> Result<Vec<Problem>> {
    let messages = raws(batch)?;
    let transcript = transcript_of(&messages);
    let family = family(api, &transcript);
    let problems = check(&transcript, &messages, family).into_iter().map(|problem| Problem {
        index: problem.index as u32,
        rule: problem.rule.as_str().into(),
        message: problem.rule.says(family).into(),
    });
    Ok(problems.collect())
}

fn mends_of(batch: &Batch, api: Option<&str>) -> Result<Mends> {
    let messages = raws(batch)?;
    let family = family(api, &transcript_of(&messages));
    let Repair { order, mends } = repair(&messages, family);
    let mends = mends.into_iter().map(|(index, mend)| {
        let (is_dropped, blocks, is_rewritten) = match mend {
            Mend::Drop => (true, Vec::new(), false),
            Mend::Edit { blocks, is_rewritten } => (false, blocks, is_rewritten),
        };
        let blocks = blocks.into_iter().map(|at| at as u32).collect();
        MendedMessage { index: index as u32, is_dropped, blocks, is_rewritten }
    });
    let order = order.map(|order| order.into_iter().map(|index| index as u32).collect());
    Ok(Mends { order, mends: mends.collect() })
}

fn raws(batch: &Batch) -> Result<Vec<Raw<'_>>> {
    Ok(batch.messages()?.into_iter().map(|message| message.raw).collect())
}

fn transcript_of(messages: &[Raw<'_>]) -> Transcript {
    Transcript::new(messages.iter().map(|raw| Arc::new(outline(raw))).collect())
}

fn family(api: Option<&str>, transcript: &Transcript) -> Family {
    let newest = || transcript.messages().iter().rev().find_map(|message| message.assistant());
    match api {
        Some(api) => Family::of(api),
        None => newest().map_or(Family::Any, |assistant| Family::of(&assistant.source.api)),
    }
}
