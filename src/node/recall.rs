//! The recall tool's look into the transcript, on a worker thread.

use napi::bindgen_prelude::{Array, Float64ArraySlice, Utf16String};
use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use super::read::Batch;
use crate::context::handle::Handle;
use crate::context::measure::RawRole;
use crate::context::recall::{Query, read};
use crate::text::Utf16Len;

/// The finds in one batch of messages.
#[napi(object)]
pub struct Recalled {
    /// The answer, if one of the messages has the handle.
    pub found: Option<Found>,
    /// The handles of these messages, in their order.
    pub handles: Vec<String>,
}

/// An answer for the model.
#[napi(object)]
pub struct Found {
    /// The page, or the matches.
    pub text: Utf16String,
    /// The tool whose result it is.
    pub tool_name: String,
    /// Length of the whole result in UTF-16 units.
    pub chars: f64,
    /// Offset to go on at; nothing at the end.
    pub next: Option<f64>,
    /// Matches shown, if there was a pattern.
    pub matches: Option<u32>,
}

/// Looks a handle, or the id of the call itself, up among tool results. The question of the model is already made sound by
/// `lib/tools/recall.js`: a page of `limit` UTF-16 units from `offset` on, or the matches of a pattern from there.
#[napi(ts_return_type = "Promise<Recalled>")]
pub fn recall(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    handle: String,
    offset: u32,
    limit: u32,
    pattern: Option<String>,
) -> Result<Promise<Recalled>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        let (offset, limit) = (Utf16Len(offset as usize), Utf16Len(limit as usize));
        let query = Query { offset, limit, pattern };
        Ok(blocking(None, move |_| looked_up(&batch, &handle, &query)))
    })
}

fn looked_up(batch: &Batch, wanted: &str, query: &Query) -> Result<Recalled> {
    let mut recalled = Recalled { found: None, handles: Vec::new() };
    for message in batch.messages()? {
        let RawRole::ToolResult { call_id, tool_name, .. } = message.raw.role else { continue };
        let text = message.raw.joined_text();
        let handle = Handle::of(call_id, &text).to_string();
        let is_wanted = handle == wanted || String::from_utf16_lossy(call_id) == wanted;
        recalled.handles.push(handle);
        if is_wanted {
            recalled.found = Some(answer(&text, tool_name, query));
            break;
        }
    }
    Ok(recalled)
}

fn answer(text: &[u16], tool_name: &[u16], query: &Query) -> Found {
    let answer = read(text, query);
    Found {
        text: Utf16String::from(answer.text),
        tool_name: String::from_utf16_lossy(tool_name),
        chars: text.len() as f64,
        next: answer.next.map(|next| next.0 as f64),
        matches: answer.matches.map(|matches| matches as u32),
    }
}
