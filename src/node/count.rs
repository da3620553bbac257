//! Counts strings and messages for JavaScript, on its thread or on a worker thread.

use napi::JsString;
use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::encode::tokenizer;
use super::failure::Result;
use super::guarded::guarded;
use super::read::{Batch, Rows, units};
use crate::context::facts::measure::{Counting, Rules, count};

/// Counts the tokens of a string. `encoding` is an encoding's number; cl100k_base by default.
#[napi]
pub fn count_text(text: JsString<'_>, encoding: Option<f64>) -> Result<u32> {
    guarded(|| Ok(tokenizer(encoding)?.count_utf16(&units(&text)?) as u32))
}

/// Counts the tokens of each message that `lib/hook/snapshot.js` describes. `by_length` estimates them by length.
#[napi]
pub fn count_messages(rows: Rows<'_>, encoding: Option<f64>, by_length: Option<bool>) -> Result<Vec<u32>> {
    guarded(|| tokens_of(&Batch::take(&rows)?, encoding, by_length))
}

/// `countMessages` off the main thread.
#[napi(ts_return_type = "Promise<Array<number>>")]
pub fn count_messages_async(
    rows: Rows<'_>,
    encoding: Option<f64>,
    by_length: Option<bool>,
) -> Result<Promise<Vec<u32>>> {
    guarded(|| {
        let batch = Batch::take(&rows)?;
        Ok(blocking(move || tokens_of(&batch, encoding, by_length)))
    })
}

/// Returns the tokens of a string if they are at most `limit`. Stops counting beyond it.
#[napi]
pub fn count_within(text: JsString<'_>, limit: f64, encoding: Option<f64>) -> Result<Option<u32>> {
    guarded(|| {
        let count = tokenizer(encoding)?.count_utf16_till_limit(&units(&text)?, limit as usize);
        Ok(count.map(|count| count as u32))
    })
}

fn tokens_of(batch: &Batch, encoding: Option<f64>, by_length: Option<bool>) -> Result<Vec<u32>> {
    let counting = match by_length {
        Some(true) => Counting::Chars,
        _ => Counting::Exact(tokenizer(encoding)?),
    };
    let rules = Rules { counting, ..Rules::default() };
    Ok(batch.messages()?.iter().map(|raw| count(raw, &rules) as u32).collect())
}
