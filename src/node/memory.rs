//! The rolling memory for JavaScript: rounds, pairs and the prompt for the summariser. What goes in and comes out are texts
//! of JSON; texts of a conversation cross for a worker thread alone, unless they are clipped before.

use napi_derive::napi;
use serde::Deserialize;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use super::sessions::{json, parsed};
use crate::sessions::pairs::{self, Pair};
use crate::sessions::prompt;
use crate::sessions::rounds::{self, Heard};

#[derive(Deserialize)]
struct SplitRequest {
    messages: Vec<Heard>,
    keep: usize,
}

/// The cut of a conversation, and the rounds before it.
#[napi]
pub fn split_rounds(request: String) -> Result<String> {
    guarded(|| {
        let SplitRequest { messages, keep } = parsed(&request)?;
        json(&rounds::split(&messages, keep))
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptRequest {
    rounds: Vec<Pair>,
    max_pairs: usize,
    max_tokens: usize,
    answer_tokens: usize,
}

/// The prompt that asks a summariser for pairs.
#[napi(ts_return_type = "Promise<string>")]
pub fn pairs_prompt(request: String) -> Result<Promise<String>> {
    guarded(|| {
        Ok(blocking(None, move |_| {
            let PromptRequest { rounds, max_pairs, max_tokens, answer_tokens } = parsed(&request)?;
            Ok(prompt::pairs_prompt(&rounds, max_pairs, max_tokens, answer_tokens))
        }))
    })
}

/// The pairs in a summariser's answer.
#[napi]
pub fn read_pairs(answer: String) -> Result<String> {
    guarded(|| json(&pairs::read_pairs(&answer)))
}

/// Pairs with their texts clipped, from the longest form to the shortest.
#[napi]
pub fn clipped_pairs(given: String) -> Result<String> {
    guarded(|| json(&pairs::clipped_forms(&parsed::<Vec<Pair>>(&given)?)))
}

#[derive(Deserialize)]
struct MergeRequest {
    history: Vec<Pair>,
    pairs: Vec<Pair>,
    max: usize,
}

/// The pairs remembered, with the new ones.
#[napi]
pub fn merge_pairs(request: String) -> Result<String> {
    guarded(|| {
        let MergeRequest { history, pairs, max } = parsed(&request)?;
        json(&pairs::merge_pairs(&history, &pairs, max))
    })
}
