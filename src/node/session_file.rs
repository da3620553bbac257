//! Recorded sessions for the command-line tool, read on a worker.

use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;
use serde_json::json;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use crate::replay::{Format, Recording};

/// Reads a recorded session's file: JSON, in the names of `lib/cli/recording.mjs`.
#[napi(ts_return_type = "Promise<string>")]
pub fn read_session(file: Uint8ArraySlice<'_>) -> Result<Promise<String>> {
    guarded(|| {
        let file = file.to_vec();
        Ok(blocking(None, move |_| Ok(json_of(&Recording::read(&file)))))
    })
}

fn json_of(recording: &Recording) -> String {
    let Recording { format, timeline, problems, unplayed } = recording;
    let format = match format {
        Format::Pi { version } => format!("pi session, version {version}"),
        Format::ClaudeCode => "Claude Code transcript".to_owned(),
        Format::Messages => "messages".to_owned(),
    };
    let read = json!({
        "format": format, "problems": problems, "stretches": timeline.stretches,
        "answers": timeline.answers, "unplayed": unplayed,
    });
    // The messages are JSON already.
    format!(r#"{{"messages":[{}],"read":{read}}}"#, timeline.messages.join(","))
}
