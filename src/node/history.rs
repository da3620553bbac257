//! The pipeline's history for JavaScript: opened at the first use, always on a worker thread.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;
use parking_lot::Mutex;

use super::guarded::guarded;
use crate::history::{History, NewRow};
use crate::sqlite;

/// The database behind one `SqliteProvider`.
#[napi]
pub struct HistoryStore {
    state: Arc<Mutex<State>>,
}

struct State {
    path: String,
    history: Option<History>,
    set_aside: Option<String>,
    is_closed: bool,
}

/// A message about to be stored.
#[napi(object)]
pub struct HistoryEntry {
    /// The conversation.
    pub chat_id: f64,
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub content: String,
}

/// A message as the pipeline hands it on.
#[napi(object)]
pub struct HistoryMessage {
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub content: String,
}

/// What to do with the history.
enum Job {
    Append(Vec<NewRow>),
    Newest { chat_id: i64, limit: u32 },
    Record { kind: String, payload: String },
    Close,
}

/// What came of it.
pub enum Outcome {
    /// Ids of the stored rows.
    Ids(Vec<i64>),
    /// Messages, oldest first.
    Rows(Vec<HistoryMessage>),
    /// Nothing to tell.
    Done,
}

#[napi]
impl HistoryStore {
    /// Remembers the path; no file is touched yet.
    #[napi(constructor)]
    #[must_use]
    pub fn new(path: String) -> Self {
        let state = State { path, history: None, set_aside: None, is_closed: false };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Stores messages in one transaction; resolves with their ids.
    #[napi(ts_return_type = "Promise<number[]>")]
    #[must_use]
    pub fn append(&self, entries: Vec<HistoryEntry>) -> AsyncTask<HistoryTask> {
        let rows = entries.into_iter().map(|entry| NewRow {
            chat_id: entry.chat_id as i64,
            role: entry.role,
            text: entry.content,
        });
        self.task(Job::Append(rows.collect()))
    }

    /// The newest messages of a conversation, oldest first.
    #[napi(ts_return_type = "Promise<HistoryMessage[]>")]
    #[must_use]
    pub fn newest(&self, chat_id: f64, limit: u32) -> AsyncTask<HistoryTask> {
        self.task(Job::Newest { chat_id: chat_id as i64, limit })
    }

    /// Stores an event.
    #[napi(ts_return_type = "Promise<void>")]
    #[must_use]
    pub fn record(&self, kind: String, payload: String) -> AsyncTask<HistoryTask> {
        self.task(Job::Record { kind, payload })
    }

    /// Closes the file; whatever is asked afterwards fails.
    #[napi(ts_return_type = "Promise<void>")]
    #[must_use]
    pub fn close(&self) -> AsyncTask<HistoryTask> {
        self.task(Job::Close)
    }

    /// Where a damaged file was put, once.
    #[napi]
    #[must_use]
    pub fn take_set_aside(&self) -> Option<String> {
        self.state.lock().set_aside.take()
    }

    fn task(&self, job: Job) -> AsyncTask<HistoryTask> {
        AsyncTask::new(HistoryTask { state: self.state.clone(), job })
    }
}

/// A job under way.
pub struct HistoryTask {
    state: Arc<Mutex<State>>,
    job: Job,
}

impl Task for HistoryTask {
    type Output = Outcome;
    type JsValue = Option<napi::Either<Vec<i64>, Vec<HistoryMessage>>>;

    fn compute(&mut self) -> Result<Outcome> {
        guarded(|| self.state.lock().run(&self.job).map_err(|error| coded(&error)))
    }

    fn resolve(&mut self, _env: Env, outcome: Outcome) -> Result<Self::JsValue> {
        Ok(match outcome {
            Outcome::Ids(ids) => Some(napi::Either::A(ids)),
            Outcome::Rows(rows) => Some(napi::Either::B(rows)),
            Outcome::Done => None,
        })
    }
}

impl State {
    fn run(&mut self, job: &Job) -> std::result::Result<Outcome, sqlite::Error> {
        if let Job::Close = job {
            self.is_closed = true;
            self.history = None;
            return Ok(Outcome::Done);
        }
        let history = self.history()?;
        match job {
            Job::Append(rows) => history.append(rows).map(Outcome::Ids),
            Job::Newest { chat_id, limit } => {
                let rows = history.newest(*chat_id, *limit)?.into_iter();
                let rows = rows.map(|row| HistoryMessage { role: row.role, content: row.text });
                Ok(Outcome::Rows(rows.collect()))
            }
            Job::Record { kind, payload } => history.record(kind, payload).map(|()| Outcome::Done),
            Job::Close => Ok(Outcome::Done),
        }
    }

    fn history(&mut self) -> std::result::Result<&History, sqlite::Error> {
        if self.is_closed {
            return Err(sqlite::Kind::Closed.into());
        }
        if self.history.is_none() {
            let (history, set_aside) = History::open(&self.path)?;
            self.set_aside = set_aside.map(|path| path.display().to_string());
            self.history = Some(history);
        }
        self.history.as_ref().ok_or_else(|| sqlite::Kind::Closed.into())
    }
}

/// An error as `lib/database-error.js` takes it apart: the code, then the sentence.
pub(super) fn coded(error: &sqlite::Error) -> Error {
    Error::new(Status::GenericFailure, format!("{}: {error}", error.kind().code()))
}
