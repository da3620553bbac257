//! Counting for JavaScript: strings and messages, on its thread or off it.

use napi::bindgen_prelude::{Array, AsyncTask, Float64ArraySlice};
use napi::{Env, JsString, JsValue, Result, Task};
use napi_derive::napi;

use super::encode::tokenizer;
use super::guarded::guarded;
use super::read::{Batch, append_string};
use crate::measure::{Counting, Rules, count};
use crate::tokens::Tokenizer;

/// Tokens of a string by an encoding's number, as everywhere here; by cl100k_base without one.
#[napi]
pub fn count_text(text: JsString<'_>, encoding: Option<f64>) -> Result<u32> {
    guarded(|| Ok(tokenizer(encoding)?.count_utf16(&units(&text)?) as u32))
}

/// Tokens of messages, described as `lib/snapshot.js` does.
#[napi]
pub fn count_messages(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
    encoding: Option<f64>,
) -> Result<f64> {
    guarded(|| {
        let counting = Counting::Exact(tokenizer(encoding)?);
        tokens_of(&Batch::take(&numbers, &strings)?, image_tokens, counting)
    })
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
pub fn count_text_async(text: JsString<'_>, encoding: Option<f64>) -> Result<AsyncTask<CountText>> {
    guarded(|| Ok(AsyncTask::new(CountText(units(&text)?, tokenizer(encoding)?))))
}

/// `countMessages` off the main thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn count_messages_async(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
    encoding: Option<f64>,
) -> Result<AsyncTask<CountMessages>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        let counting = Counting::Exact(tokenizer(encoding)?);
        Ok(AsyncTask::new(CountMessages { batch, image_tokens, counting }))
    })
}

/// Tokens of a string if they are at most `limit`; stops counting when they are more.
#[napi]
pub fn count_within(text: JsString<'_>, limit: f64, encoding: Option<f64>) -> Result<Option<u32>> {
    guarded(|| {
        let count = tokenizer(encoding)?.count_utf16_till_limit(&units(&text)?, limit as usize);
        Ok(count.map(|count| count as u32))
    })
}

/// A count under way.
pub struct CountText(Vec<u16>, &'static Tokenizer);

impl Task for CountText {
    type Output = u32;
    type JsValue = u32;

    fn compute(&mut self) -> Result<u32> {
        guarded(|| Ok(self.1.count_utf16(&self.0) as u32))
    }

    fn resolve(&mut self, _env: Env, tokens: u32) -> Result<u32> {
        guarded(|| Ok(tokens))
    }
}

/// A count of messages under way.
pub struct CountMessages {
    batch: Batch,
    image_tokens: f64,
    counting: Counting,
}

impl Task for CountMessages {
    type Output = f64;
    type JsValue = f64;

    fn compute(&mut self) -> Result<f64> {
        guarded(|| tokens_of(&self.batch, self.image_tokens, self.counting))
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
