//! Questions about single texts: the language they are in, their beginning, and their ends.

use napi::JsString;
use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use super::read::units;
use crate::context::guard::cap;
use crate::text::{Utf16Len, clip, is_chinese};

/// A text of at most `max` UTF-16 units: its beginning and an ellipsis, where it is longer.
#[napi]
pub fn clip_text(text: JsString<'_>, max: u32) -> Result<Utf16String> {
    guarded(|| Ok(Utf16String::from(clip(&units(&text)?, Utf16Len(max as usize)))))
}

/// Head and tail of a text over `max` UTF-16 units; nothing if it is not cut.
#[napi]
pub fn cut_to_ends(text: JsString<'_>, max: u32, head: u32, tail: u32) -> Result<Option<Utf16String>> {
    guarded(|| {
        let cap = cap(Utf16Len(max as usize), Utf16Len(head as usize), Utf16Len(tail as usize));
        Ok(cap.cut(&units(&text)?).map(Utf16String::from))
    })
}

/// True if a text is Chinese; nothing where it has no letter.
#[napi]
pub fn chinese(text: JsString<'_>) -> Result<Option<bool>> {
    guarded(|| {
        let text = units(&text)?;
        Ok(is_chinese(char::decode_utf16(text).flatten()))
    })
}
