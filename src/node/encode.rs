//! Encodes strings and decodes tokens for JavaScript, by any encoding. Tokens cross in an array that JavaScript reuses, so a
//! short text allocates nothing there. `lib/tokens/encoding.js` is the other side; it finds special tokens in texts.

use std::cell::Cell;

use napi::bindgen_prelude::Uint32ArraySlice;
use napi::{Env, JsString};
use napi_derive::napi;

use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::read::units;
use crate::tokens::Tokenizer;

/// Capacity of the kept buffer in tokens: 256 KB.
const KEPT: usize = 1 << 16;

thread_local! {
    /// The buffer for the tokens of a text.
    static TOKENS: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Returns the number of the encoding of this name, for the other functions; nothing for an unknown name.
#[napi]
pub fn encoding_number(name: String) -> Result<Option<u32>> {
    guarded(|| Ok(Tokenizer::named(&name).map(|known| known.number() as u32)))
}

/// The special tokens of an encoding as JSON: an object of ids by text.
#[napi]
pub fn special_tokens(encoding: f64) -> Result<String> {
    guarded(|| {
        let special = tokenizer(Some(encoding))?.special_tokens().iter();
        let ids: serde_json::Map<_, _> = special.map(|&(id, text)| (text.to_owned(), id.into())).collect();
        Ok(serde_json::Value::from(ids).to_string())
    })
}

/// Writes the tokens of a string to `tokens`, or nothing if they do not fit. Returns their number. `with_special`: a loaded
/// encoding finds special tokens in the text.
#[napi]
pub fn encode(
    text: JsString<'_>,
    tokens: Uint32ArraySlice<'_>,
    encoding: f64,
    with_special: Option<bool>,
) -> Result<u32> {
    guarded(|| {
        let mut found = TOKENS.take();
        tokenizer(Some(encoding))?.encode_utf16(&units(&text)?, with_special == Some(true), &mut found);
        let count = found.len();
        copy(&found, tokens);
        found.clear();
        found.shrink_to(KEPT);
        TOKENS.set(found);
        Ok(count as u32)
    })
}

/// Returns the text of the first `count` tokens of an array: bytes that are not UTF-8 become U+FFFD. With `is_bytes` each byte
/// is a character, as in Latin-1.
#[napi]
pub fn decode<'env>(
    env: &'env Env,
    tokens: Uint32ArraySlice<'_>,
    count: u32,
    encoding: f64,
    is_bytes: Option<bool>,
) -> Result<JsString<'env>> {
    guarded(|| {
        let tokens =
            tokens.get(..count as usize).ok_or_else(|| Failure::invalid("the array is too short"))?;
        let decoded = tokenizer(Some(encoding))?.decode_with(tokens, |bytes| {
            if is_bytes == Some(true) || bytes.is_ascii() {
                env.create_string_latin1(bytes)
            } else {
                // As UTF-16: Node takes twice as long to turn UTF-8 into it.
                let units: Vec<u16> = String::from_utf8_lossy(bytes).encode_utf16().collect();
                env.create_string_utf16(units)
            }
        });
        Ok(decoded.map_err(|error| Failure::invalid(error.to_string()))??)
    })
}

/// The encoding of a number; cl100k_base by default.
pub(super) fn tokenizer(number: Option<f64>) -> Result<&'static Tokenizer> {
    match number {
        None => Ok(Tokenizer::cl100k()),
        Some(number) => {
            Tokenizer::numbered(number as usize).ok_or_else(|| Failure::invalid("there is no such encoding"))
        }
    }
}

/// Copies tokens, unless `to` is too short.
fn copy(from: &[u32], mut to: Uint32ArraySlice<'_>) {
    // SAFETY: JavaScript waits while this runs, so nothing else reads or writes the array.
    let to = unsafe { to.as_mut() };
    if let Some(room) = to.get_mut(..from.len()) {
        room.copy_from_slice(from);
    }
}
