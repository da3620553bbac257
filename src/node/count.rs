//! Counting for JavaScript: strings and messages, on its thread or off it.

use napi::bindgen_prelude::{Array, AsyncTask, Float64ArraySlice};
use napi::{Env, JsString, JsValue, Result, Task};
use napi_derive::napi;

use super::guarded::guarded;
use super::read::{Batch, append_string};
use crate::measure::{Counting, Rules, count};
use crate::tokens;

/// Tokens of a string.
#[napi]
pub fn count_text(text: JsString<'_>) -> Result<u32> {
    guarded(|| Ok(tokens::count_utf16(&units(&text)?) as u32))
}

/// Tokens of messages, described as `lib/snapshot.js` does.
#[napi]
pub fn count_messages(numbers: Float64ArraySlice<'_>, strings: Array<'_>, image_tokens: f64) -> Result<f64> {
    guarded(|| tokens_of(&Batch::take(&numbers, &strings)?, image_tokens, Counting::Exact))
}

/// Tokens of messages by the length of their texts.
#[napi]
pub fn estimate_messages(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
) -> Result<f64> {
    guarded(|| tokens_of(&Batch::take(&numbers, &strings)?, image_tokens, Counting::Chars))
}

/// `countText` off the main thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn count_text_async(text: JsString<'_>) -> Result<AsyncTask<CountText>> {
    guarded(|| Ok(AsyncTask::new(CountText(units(&text)?))))
}

/// `countMessages` off the main thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn count_messages_async(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
) -> Result<AsyncTask<CountMessages>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        Ok(AsyncTask::new(CountMessages { batch, image_tokens }))
    })
}

/// Whether a string has at most `limit` tokens; stops counting when it has more.
#[napi]
pub fn text_fits(text: JsString<'_>, limit: f64) -> Result<bool> {
    guarded(|| {
        let text = String::from_utf16_lossy(&units(&text)?);
        Ok(tokens::Tokenizer::cl100k().count_till_limit(&text, limit as usize).is_some())
    })
}

/// The tokens of a string.
#[napi]
pub fn encode(text: JsString<'_>) -> Result<Vec<u32>> {
    guarded(|| Ok(tokens::Tokenizer::cl100k().encode(&String::from_utf16_lossy(&units(&text)?))))
}

/// The text of tokens; bytes that are no UTF-8 become U+FFFD.
#[napi]
pub fn decode(tokens: Vec<u32>) -> Result<String> {
    guarded(|| {
        let bytes = tokens::Tokenizer::cl100k()
            .decode(&tokens)
            .map_err(|error| napi::Error::new(napi::Status::InvalidArg, error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
}

/// A count under way.
pub struct CountText(Vec<u16>);

impl Task for CountText {
    type Output = u32;
    type JsValue = u32;

    fn compute(&mut self) -> Result<u32> {
        guarded(|| Ok(tokens::count_utf16(&self.0) as u32))
    }

    fn resolve(&mut self, _env: Env, tokens: u32) -> Result<u32> {
        guarded(|| Ok(tokens))
    }
}

/// A count of messages under way.
pub struct CountMessages {
    batch: Batch,
    image_tokens: f64,
}

impl Task for CountMessages {
    type Output = f64;
    type JsValue = f64;

    fn compute(&mut self) -> Result<f64> {
        guarded(|| tokens_of(&self.batch, self.image_tokens, Counting::Exact))
    }

    fn resolve(&mut self, _env: Env, tokens: f64) -> Result<f64> {
        guarded(|| Ok(tokens))
    }
}

fn tokens_of(batch: &Batch, image_tokens: f64, counting: Counting) -> Result<f64> {
    let rules = Rules { image_tokens: image_tokens as usize, counting, ..Rules::default() };
    let messages = batch.messages()?;
    Ok(messages.iter().map(|message| count(&message.raw, &rules)).sum::<usize>() as f64)
}

pub(super) fn units(text: &JsString<'_>) -> Result<Vec<u16>> {
    let value = text.value();
    let mut units = Vec::new();
    append_string(value.env, value.value, &mut units)?;
    Ok(units)
}
