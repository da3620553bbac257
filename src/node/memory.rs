//! The rolling memory for JavaScript: its rounds and the prompt for the summariser. What goes in and comes out are texts
//! of JSON; texts of a conversation cross for a worker thread alone, unless they are clipped before.

use napi_derive::napi;

use super::blocking::Promise;
use super::failure::Result;
use super::guarded::guarded;
use super::sessions::{json, parsed, promised};
use crate::sessions::message::Said;
use crate::sessions::prompt::{self, Pair};
use crate::sessions::rounds;

/// The cut of a conversation, `[messages, keep]`, and the rounds before it.
#[napi]
pub fn split_rounds(request: String) -> Result<String> {
    guarded(|| {
        let (messages, keep): (Vec<Said>, _) = parsed(&request)?;
        json(&rounds::split(&messages, keep))
    })
}

/// The prompt that asks a summariser for pairs, of `[rounds, maxPairs, maxTokens, answerTokens]`.
#[napi(ts_return_type = "Promise<string>")]
pub fn pairs_prompt(request: String) -> Result<Promise<String>> {
    promised(move || {
        let (rounds, max_pairs, max_tokens, answer_tokens): (Vec<Pair>, _, _, _) = parsed(&request)?;
        Ok(prompt::pairs_prompt(&rounds, max_pairs, max_tokens, answer_tokens))
    })
}
