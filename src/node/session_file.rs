//! Recorded sessions for the command-line tool: bytes in, messages out as JSON.

use napi::bindgen_prelude::{AsyncTask, Uint8ArraySlice};
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;

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
pub fn parse_session(bytes: Uint8ArraySlice<'_>) -> Result<AsyncTask<ParseTask>> {
    guarded(|| Ok(AsyncTask::new(ParseTask(bytes.to_vec()))))
}

/// Reading under way.
pub struct ParseTask(Vec<u8>);

impl Task for ParseTask {
    type Output = RecordedSession;
    type JsValue = RecordedSession;

    fn compute(&mut self) -> Result<RecordedSession> {
        guarded(|| recorded(parse(&self.0)))
    }

    fn resolve(&mut self, _env: Env, session: RecordedSession) -> Result<RecordedSession> {
        guarded(|| Ok(session))
    }
}

fn recorded(session: Session) -> Result<RecordedSession> {
    let format = match session.format {
        Format::Pi { version } => format!("pi session, version {version}"),
        Format::ClaudeCode => "Claude Code transcript".to_owned(),
        Format::Messages => "messages".to_owned(),
    };
    let messages = serde_json::to_string(&session.messages)
        .map_err(|error| Error::new(Status::GenericFailure, error.to_string()))?;
    let problems = session
        .problems
        .into_iter()
        .map(|problem| LineProblem { line: problem.line as u32, message: problem.message });
    Ok(RecordedSession { format, messages, problems: problems.collect() })
}
