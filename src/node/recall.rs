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

/// The question of the model, already made sound by `lib/tools/recall.js`.
#[napi(object)]
pub struct RecallQuery {
    /// The handle in the marker, or the id of the call.
    pub handle: String,
    /// First UTF-16 unit of the page, or where the search begins.
    pub offset: u32,
    /// Length of the page.
    pub limit: u32,
    /// Show matches of this in place of a page.
    pub pattern: Option<String>,
}

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

/// Looks a handle, or the id of the call itself, up among tool results.
#[napi(ts_return_type = "Promise<Recalled>")]
pub fn recall(
    numbers: Float64ArraySlice<'_>,
    strings: Array<'_>,
    query: RecallQuery,
) -> Result<Promise<Recalled>> {
    guarded(|| {
        let batch = Batch::take(&numbers, &strings)?;
        Ok(blocking(None, move |_| looked_up(&batch, &query)))
    })
}

fn looked_up(batch: &Batch, query: &RecallQuery) -> Result<Recalled> {
    let mut recalled = Recalled { found: None, handles: Vec::new() };
    for message in batch.messages()? {
        let RawRole::ToolResult { call_id, tool_name, .. } = message.raw.role else { continue };
        let text = message.raw.joined_text();
        let handle = Handle::of(call_id, &text).to_string();
        let is_wanted = handle == query.handle || String::from_utf16_lossy(call_id) == query.handle;
        recalled.handles.push(handle);
        if is_wanted {
            recalled.found = Some(answer(&text, tool_name, query));
            break;
        }
    }
    Ok(recalled)
}

fn answer(text: &[u16], tool_name: &[u16], query: &RecallQuery) -> Found {
    let answer = read(
        text,
        &Query {
            offset: Utf16Len(query.offset as usize),
            limit: Utf16Len(query.limit as usize),
            pattern: query.pattern.clone(),
        },
    );
    Found {
        text: Utf16String::from(answer.text),
        tool_name: String::from_utf16_lossy(tool_name),
        chars: text.len() as f64,
        next: answer.next.map(|next| next.0 as f64),
        matches: answer.matches.map(|matches| matches as u32),
    }
}
