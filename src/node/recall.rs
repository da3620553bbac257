//! Computes the handles of tool results, for the recall tool.

use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use super::read::{Batch, Rows};
use crate::context::facts::handle::Handle;
use crate::context::facts::measure::{Raw, RawRole};

/// Computes the handle of each message on a worker thread; empty for a message that is no tool result.
#[napi(ts_return_type = "Promise<Array<string>>")]
pub fn handles(rows: Rows<'_>) -> Result<Promise<Vec<String>>> {
    guarded(|| {
        let batch = Batch::take(&rows)?;
        Ok(blocking(move || {
            let handle = |raw: &Raw<'_>| match raw.role {
                RawRole::ToolResult { call_id, .. } => Handle::of(call_id, &raw.joined_text()).to_string(),
                _ => String::new(),
            };
            Ok(batch.messages()?.iter().map(handle).collect())
        }))
    })
}
