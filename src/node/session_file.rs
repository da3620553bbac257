//! Recorded sessions for the command-line tool: bytes in, messages out as JSON.

use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::session_file::{Format, Session, parse};

/// A recorded session.
#[napi(object)]
pub struct RecordedSession {
    /// Who wrote it, in words.
    pub format: String,
    /// A JSON array of messages in pi's shapes.
    pub messages: String,
    /// The lines that were left out.
    pub problems: Vec<LineProblem>,
}

/// A line that could not be used.
#[napi(object)]
pub struct LineProblem {
    /// Number of the line in the file, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub message: String,
}

/// Reads a recorded session, on a worker thread.
#[napi(ts_return_type = "Promise<RecordedSession>")]
pub fn parse_session(bytes: Uint8ArraySlice<'_>) -> Result<Promise<RecordedSession>> {
    guarded(|| {
        let bytes = bytes.to_vec();
        Ok(blocking(None, move |_| recorded(parse(&bytes))))
    })
}

fn recorded(session: Session) -> Result<RecordedSession> {
    let format = match session.format {
        Format::Pi { version } => format!("pi session, version {version}"),
        Format::ClaudeCode => "Claude Code transcript".to_owned(),
        Format::Messages => "messages".to_owned(),
    };
    let messages =
        serde_json::to_string(&session.messages).map_err(|error| Failure::internal(error.to_string()))?;
    let problems = session
        .problems
        .into_iter()
        .map(|problem| LineProblem { line: problem.line as u32, message: problem.message });
    Ok(RecordedSession { format, messages, problems: problems.collect() })
}
