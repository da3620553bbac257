//! Finds the subject of a tool call, for the summaries of sessions.

use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use crate::context::facts::traits::calls::subject_of;

/// Returns the subject of a call: `["file", path]`, `["command", text]` or an empty list. `arguments` is JSON.
#[napi]
pub fn call_subject(tool: String, arguments: String) -> Result<Vec<String>> {
    guarded(|| {
        let subject = subject_of(&tool, &arguments);
        Ok(subject.map_or_else(Vec::new, |(kind, text)| vec![kind.to_owned(), text]))
    })
}
