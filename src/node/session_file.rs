//! Recorded sessions for the command-line tool: a file is read and indexed on a worker, its messages are handed out one by
//! one.

use std::fs::File;
use std::io::Read as _;

use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::replay::{Format, MAX_BYTES, Recording, Stretch, UnreadLine};

/// A recorded session.
#[napi]
pub struct SessionFile {
    recording: Recording<'static>,
}

/// A line that could not be used.
#[napi(object)]
pub struct LineProblem {
    /// Number of the line in the file, from 1.
    pub line: u32,
    /// The problem.
    pub message: String,
}

/// Messages that grew one after the other, from one rewriting of the past to the next.
#[napi(object)]
pub struct RecordedStretch {
    /// "start", "compaction" or "edit".
    pub cause: String,
    /// Numbers of the messages it opens with.
    pub opening: Vec<u32>,
    /// Number of the first message that came in it.
    pub from: u32,
    /// One more than the number of the last one.
    pub to: u32,
}

/// Recorded calls that are no part of the conversation.
#[napi(object)]
pub struct UnplayedCalls {
    /// On branches that were left.
    pub abandoned: u32,
    /// Made by sub-agents.
    pub sub_agents: u32,
}

#[napi]
impl SessionFile {
    /// Who wrote it, in words.
    #[napi(getter)]
    pub fn format(&self) -> Result<String> {
        guarded(|| {
            Ok(match self.recording.format() {
                Format::Pi { version } => format!("pi session, version {version}"),
                Format::ClaudeCode => "Claude Code transcript".to_owned(),
                Format::Messages => "messages".to_owned(),
            })
        })
    }

    /// Number of messages it holds.
    #[napi(getter)]
    pub fn length(&self) -> Result<u32> {
        guarded(|| Ok(self.recording.len() as u32))
    }

    /// The lines that were left out.
    #[napi(getter)]
    pub fn problems(&self) -> Result<Vec<LineProblem>> {
        guarded(|| {
            let of = |problem: &UnreadLine| LineProblem {
                line: problem.line as u32,
                message: problem.message.clone(),
            };
            Ok(self.recording.problems().iter().map(of).collect())
        })
    }

    /// The stretches of the conversation.
    #[napi(getter)]
    pub fn stretches(&self) -> Result<Vec<RecordedStretch>> {
        guarded(|| {
            let of = |stretch: &Stretch| RecordedStretch {
                cause: stretch.cause.as_str().to_owned(),
                opening: stretch.opening.iter().map(|&number| number as u32).collect(),
                from: stretch.from as u32,
                to: stretch.to as u32,
            };
            Ok(self.recording.stretches().iter().map(of).collect())
        })
    }

    /// Numbers of the messages the model answered with.
    #[napi(getter)]
    pub fn answers(&self) -> Result<Vec<u32>> {
        guarded(|| Ok(self.recording.answers().map(|number| number as u32).collect()))
    }

    /// The calls that are recorded in the file but not part of the conversation.
    #[napi(getter)]
    pub fn unplayed(&self) -> Result<UnplayedCalls> {
        guarded(|| {
            let unplayed = self.recording.unplayed();
            Ok(UnplayedCalls { abandoned: unplayed.abandoned as u32, sub_agents: unplayed.sub_agents as u32 })
        })
    }

    /// Message number `number` as JSON, in pi's shape.
    #[napi]
    pub fn message(&self, number: u32) -> Result<String> {
        guarded(|| {
            let message = self.recording.message(number as usize);
            let message = message.ok_or_else(|| Failure::invalid("there is no message of that number"))?;
            serde_json::to_string(&message).map_err(|error| Failure::internal(error.to_string()))
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
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
            Ok(SessionFile { recording: Recording::read(bytes) })
        }))
    })
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::invalid(error.to_string())
}
