//! Detects the language of a text.

use napi::JsString;
use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use super::read::units;
use crate::text::is_chinese;

/// Returns `true` if a text is Chinese, and nothing for a text without letters.
#[napi]
pub fn chinese(text: JsString<'_>) -> Result<Option<bool>> {
    guarded(|| {
        let text = units(&text)?;
        Ok(is_chinese(char::decode_utf16(text).flatten()))
    })
}
