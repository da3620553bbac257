//! Questions about single texts: the language they are in, and their beginning.

use napi::JsString;
use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use super::read::units;
use crate::text::{Utf16Len, clip, is_chinese};

/// A text of at most `max` UTF-16 units: its beginning and an ellipsis, where it is longer.
#[napi]
pub fn clip_text(text: JsString<'_>, max: u32) -> Result<Utf16String> {
    guarded(|| Ok(Utf16String::from(clip(&units(&text)?, Utf16Len(max as usize)))))
}

/// True if a text is Chinese; nothing where it has no letter.
#[napi]
pub fn chinese(text: JsString<'_>) -> Result<Option<bool>> {
    guarded(|| {
        let text = units(&text)?;
        Ok(is_chinese(char::decode_utf16(text).flatten()))
    })
}
