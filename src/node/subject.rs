//! Finds the subject of a tool call, for the summaries of sessions.

use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use crate::context::facts::traits::calls::Subject;

/// Returns the subject of a call: `["file", path]`, `["command", text]` or an empty list. `arguments` is JSON.
#[napi]
pub fn call_subject(tool: String, arguments: String) -> Result<Vec<String>> {
    guarded(|| {
        Ok(match Subject::of(&tool, &arguments) {
            Subject::File(path) => vec!["file".to_owned(), path],
            Subject::Command(text) => vec!["command".to_owned(), text],
            Subject::Nothing => Vec::new(),
        })
    })
}
