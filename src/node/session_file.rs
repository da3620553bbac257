//! Recorded sessions for the command-line tool: a file is read on a worker, its messages are handed out one by one.

use std::fs::File;
use std::io::{BufReader, Read as _};

use napi_derive::napi;
use serde_json::json;

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::replay::{Format, MAX_BYTES, Recording};

/// A recorded session.
#[napi]
pub struct SessionFile {
    recording: Recording,
}

#[napi]
impl SessionFile {
    /// Everything but the messages, as JSON: `lib/cli/recording.mjs` has the names.
    #[napi]
    pub fn index(&self) -> Result<String> {
        guarded(|| {
            let recording = &self.recording;
            let format = match recording.format() {
                Format::Pi { version } => format!("pi session, version {version}"),
                Format::ClaudeCode => "Claude Code transcript".to_owned(),
                Format::Messages => "messages".to_owned(),
            };
            let index = json!({
                "format": format, "length": recording.messages().len(), "problems": recording.problems(),
                "stretches": recording.stretches(), "answers": recording.answers(), "unplayed": recording.unplayed(),
            });
            Ok(index.to_string())
        })
    }

    /// Message number `number` as JSON, in pi's shape.
    #[napi]
    pub fn message(&self, number: u32) -> Result<String> {
        guarded(|| {
            let message = self.recording.messages().get(number as usize);
            Ok(message.ok_or_else(|| Failure::invalid("there is no message of that number"))?.to_string())
        })
    }
}

/// Opens a recorded session and finds its messages, on a worker thread.
#[napi(ts_return_type = "Promise<SessionFile>")]
pub fn open_session(path: String) -> Result<Promise<SessionFile>> {
    guarded(|| {
        Ok(blocking(None, move |_| {
            let file = File::open(&path).map_err(|error| unreadable(&error))?;
            let size = file.metadata().map_err(|error| unreadable(&error))?.len();
            if size > MAX_BYTES {
                return Err(Failure::invalid("the file is larger than 1 GiB; a recorded session never is"));
            }
            let recording = Recording::read(BufReader::new(file.take(MAX_BYTES)));
            Ok(SessionFile { recording: recording.map_err(|error| unreadable(&error))? })
        }))
    })
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::invalid(error.to_string())
}
