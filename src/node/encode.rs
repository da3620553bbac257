//! Tokens of strings and strings of tokens for JavaScript, by any encoding. Numbers cross in an array JavaScript keeps, so
//! that nothing is allocated there for short texts; `lib/tokens/encoding.js` is the other side, special tokens in texts are its.

use std::cell::Cell;

use napi::bindgen_prelude::Uint32ArraySlice;
use napi::{Env, JsString};
use napi_derive::napi;

use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::read::units;
use crate::tokens::Tokenizer;

thread_local! {
    /// Tokens that did not fit the array they were asked into.
    static WAITING: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// The encoding of a name, as the other functions want it; none for a name there is not.
#[napi]
pub fn encoding_number(name: String) -> Result<Option<u32>> {
    guarded(|| Ok(Tokenizer::named(&name).map(|known| known.number() as u32)))
}

/// The special tokens of an encoding: an object's JSON, ids by their texts.
#[napi]
pub fn special_tokens(encoding: f64) -> Result<String> {
    guarded(|| {
        let special = tokenizer(Some(encoding))?.special_tokens().iter();
        let ids: serde_json::Map<_, _> = special.map(|&(id, text)| (text.to_owned(), id.into())).collect();
        Ok(serde_json::Value::from(ids).to_string())
    })
}

/// Writes the tokens of a string to `tokens` and gives their number. Where they are too many nothing is written, and
/// `takeEncoded` has them. `with_special`: the texts of special tokens become those, which only loaded encodings do.
#[napi]
pub fn encode(
    text: JsString<'_>,
    tokens: Uint32ArraySlice<'_>,
    encoding: f64,
    with_special: Option<bool>,
) -> Result<u32> {
    guarded(|| {
        let mut found = WAITING.take();
        found.clear();
        let with_special = with_special.unwrap_or(false);
        tokenizer(Some(encoding))?.encode_utf16(&units(&text)?, with_special, &mut found);
        let count = found.len();
        if copy(&found, tokens) {
            /// Tokens for which the buffer is kept: 256 KB.
            const KEPT: usize = 1 << 16;
            found.clear();
            found.shrink_to(KEPT);
        }
        WAITING.set(found);
        Ok(count as u32)
    })
}

/// Writes the tokens that did not fit when `encode` was called last.
#[napi]
pub fn take_encoded(tokens: Uint32ArraySlice<'_>) -> Result<()> {
    guarded(|| {
        if copy(&WAITING.take(), tokens) { Ok(()) } else { Err(Failure::invalid("the array is too short")) }
    })
}

/// The text of the first `count` tokens of an array; bytes that are no UTF-8 become U+FFFD.
#[napi]
pub fn decode<'env>(
    env: &'env Env,
    tokens: Uint32ArraySlice<'_>,
    count: u32,
    encoding: f64,
) -> Result<JsString<'env>> {
    guarded(|| {
        decode_with(&tokens, count, encoding, |bytes| {
            if bytes.is_ascii() {
                env.create_string_latin1(bytes)
            } else {
                // As UTF-16: Node takes twice as long to turn UTF-8 into it.
                let units: Vec<u16> = String::from_utf8_lossy(bytes).encode_utf16().collect();
                env.create_string_utf16(units)
            }
        })
    })
}

/// The bytes of such tokens, each as the character of its number.
#[napi]
pub fn decode_bytes<'env>(
    env: &'env Env,
    tokens: Uint32ArraySlice<'_>,
    count: u32,
    encoding: f64,
) -> Result<JsString<'env>> {
    guarded(|| decode_with(&tokens, count, encoding, |bytes| env.create_string_latin1(bytes)))
}

/// The result of `make` for the bytes of the first `count` tokens.
fn decode_with<'env>(
    tokens: &[u32],
    count: u32,
    encoding: f64,
    make: impl FnOnce(&[u8]) -> napi::Result<JsString<'env>>,
) -> Result<JsString<'env>> {
    let tokens = tokens.get(..count as usize).ok_or_else(|| Failure::invalid("the array is too short"))?;
    let decoded = tokenizer(Some(encoding))?.decode_with(tokens, make);
    Ok(decoded.map_err(|error| Failure::invalid(error.to_string()))??)
}

/// The encoding of a number; cl100k_base where there is none.
pub(super) fn tokenizer(number: Option<f64>) -> Result<&'static Tokenizer> {
    match number {
        None => Ok(Tokenizer::cl100k()),
        Some(number) => {
            Tokenizer::numbered(number as usize).ok_or_else(|| Failure::invalid("there is no such encoding"))
        }
    }
}

/// False where `to` is too short.
fn copy(from: &[u32], mut to: Uint32ArraySlice<'_>) -> bool {
    // SAFETY: JavaScript waits while this runs, so nothing else reads or writes the array.
    let to = unsafe { to.as_mut() };
    let room = to.get_mut(..from.len());
    room.is_some_and(|room| {
        room.copy_from_slice(from);
        true
    })
}
