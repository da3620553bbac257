//! Counting for JavaScript: strings and messages, on its thread or off it.

use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi::{JsString, JsValue};
use napi_derive::napi;

use super::blocking::{CancelFlag, Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::read::{Batch, append_string};
use crate::cancel::Cancel;
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
    guarded(|| {
        tokens_of(&Batch::take(&numbers, &strings)?, image_tokens, Counting::Exact, &Cancel::default())
    })
}

/// Tokens of messages by the length of their texts.
#[napi]
pub fn estimate_messages(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
) -> Result<f64> {
    guarded(|| {
        tokens_of(&Batch::take(&numbers, &strings)?, image_tokens, Counting::Chars, &Cancel::default())
    })
}

/// `countText` off the main thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn count_text_async(text: JsString<'_>, flag: Option<&CancelFlag>) -> Result<Promise<u32>> {
    guarded(|| {
        let units = units(&text)?;
        Ok(blocking(flag, move |_| Ok(tokens::count_utf16(&units) as u32)))
    })
}

/// `countMessages` off the main thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn count_messages_async(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    image_tokens: f64,
    flag: Option<&CancelFlag>,
) -> Result<Promise<f64>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        Ok(blocking(flag, move |cancel| tokens_of(&batch, image_tokens, Counting::Exact, cancel)))
    })
}

/// Whether a string has at most `limit` tokens; stops counting when it has more.
#[napi]
pub fn text_fits(text: JsString<'_>, limit: f64) -> Result<bool> {
    guarded(|| {
        let text = String::from_utf16_lossy(&units(&text)?);
        Ok(tokens::count_till_limit(&text, limit as usize).is_some())
    })
}

/// The tokens of a string.
#[napi]
pub fn encode(text: JsString<'_>) -> Result<Vec<u32>> {
    guarded(|| Ok(tokens::encode(&String::from_utf16_lossy(&units(&text)?))))
}

/// The text of tokens; bytes that are no UTF-8 become U+FFFD.
#[napi]
pub fn decode(tokens: Vec<u32>) -> Result<String> {
    guarded(|| {
        let bytes = tokens::decode(&tokens).map_err(|error| Failure::invalid(error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
}

fn tokens_of(batch: &Batch, image_tokens: f64, counting: Counting, cancel: &Cancel) -> Result<f64> {
    let rules = Rules { image_tokens: image_tokens as usize, counting, ..Rules::default() };
    let mut tokens = 0;
    for message in batch.messages()? {
        cancel.check()?;
        tokens += count(&message.raw, &rules);
    }
    Ok(tokens as f64)
}

pub(super) fn units(text: &JsString<'_>) -> Result<Vec<u16>> {
    let value = text.value();
    let mut units = Vec::new();
    append_string(value.env, value.value, &mut units)?;
    Ok(units)
}
