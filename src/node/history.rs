//! The pipeline's history for JavaScript: opened at the first use, always on a worker thread.

use std::sync::Arc;

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use crate::sessions::history::{ChatId, History, NewRow, Tables};
use crate::sessions::sqlite;

/// The database behind one `SqliteProvider`.
#[napi]
pub struct HistoryStore {
    state: Arc<Mutex<State>>,
}

struct State {
    path: String,
    tables: Tables,
    history: Option<History>,
    set_aside: Option<String>,
    is_closed: bool,
}

/// A message about to be stored.
#[napi(object)]
pub struct HistoryEntry {
    /// The conversation.
    pub chat_id: Either<f64, String>,
    /// Who speaks.
    pub role: String,
    /// The text.
    pub text: String,
    /// The rest beside text, as JSON.
    pub extra: Option<String>,
}

/// A stored message.
#[napi(object)]
pub struct HistoryRow {
    /// Who speaks.
    pub role: String,
    /// The text.
    pub text: String,
    /// The rest beside text, as JSON.
    pub extra: Option<String>,
}

/// The rows that were read of a conversation.
#[napi(object)]
pub struct HistoryRows {
    /// Messages, oldest first.
    pub rows: Vec<HistoryRow>,
    /// Rows that are no messages.
    pub skipped: u32,
}

/// A job for the history.
enum Job {
    Append(Vec<NewRow>),
    Newest { chat_id: ChatId, limit: u32 },
    Record { kind: String, chat_id: Option<ChatId>, payload: String },
    Close,
}

/// Its outcome.
pub enum Outcome {
    /// Ids of the stored rows.
    Ids(Vec<i64>),
    /// Messages, oldest first.
    Rows(HistoryRows),
    /// Nothing to tell.
    Done,
}

#[napi]
impl HistoryStore {
    /// Remembers the path; no file is touched yet.
    #[napi(constructor)]
    pub fn new(path: String, history_table: String, events_table: String) -> Result<Self> {
        guarded(|| {
            let tables = Tables { history: history_table, events: events_table };
            let state = State { path, tables, history: None, set_aside: None, is_closed: false };
            Ok(Self { state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Stores messages in one transaction; resolves with their ids.
    #[napi(ts_return_type = "Promise<number[]>")]
    pub fn append(&self, entries: Vec<HistoryEntry>) -> Result<Promise<Answer>> {
        guarded(|| {
            let rows = entries.into_iter().map(|entry| NewRow {
                chat_id: chat_id(entry.chat_id),
                role: entry.role,
                text: entry.text,
                extra: entry.extra,
            });
            Ok(self.task(Job::Append(rows.collect())))
        })
    }

    /// The newest messages of a conversation, oldest first.
    #[napi(ts_return_type = "Promise<HistoryRows>")]
    pub fn newest(&self, chat: Either<f64, String>, limit: u32) -> Result<Promise<Answer>> {
        guarded(|| Ok(self.task(Job::Newest { chat_id: chat_id(chat), limit })))
    }

    /// Stores an event.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn record(
        &self,
        kind: String,
        chat: Option<Either<f64, String>>,
        payload: String,
    ) -> Result<Promise<Answer>> {
        guarded(|| Ok(self.task(Job::Record { kind, chat_id: chat.map(chat_id), payload })))
    }

    /// Closes the file; whatever is asked afterwards fails.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> Result<Promise<Answer>> {
        guarded(|| Ok(self.task(Job::Close)))
    }

    /// The new place of a damaged file, told once.
    #[napi]
    pub fn take_set_aside(&self) -> Result<Option<String>> {
        guarded(|| Ok(self.state.lock().set_aside.take()))
    }

    fn task(&self, job: Job) -> Promise<Answer> {
        let state = self.state.clone();
        blocking(None, move |_| {
            Ok(match state.lock().run(&job)? {
                Outcome::Ids(ids) => Some(Either::A(ids)),
                Outcome::Rows(rows) => Some(Either::B(rows)),
                Outcome::Done => None,
            })
        })
    }
}

/// An outcome as JavaScript gets it.
type Answer = Option<Either<Vec<i64>, HistoryRows>>;

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
                let newest = history.newest(chat_id, *limit)?;
                let rows = newest.rows.into_iter();
                let rows = rows.map(|row| HistoryRow { role: row.role, text: row.text, extra: row.extra });
                Ok(Outcome::Rows(HistoryRows { rows: rows.collect(), skipped: newest.skipped }))
            }
            Job::Record { kind, chat_id, payload } => {
                history.record(kind, chat_id.as_ref(), payload).map(|()| Outcome::Done)
            }
            Job::Close => Ok(Outcome::Done),
        }
    }

    fn history(&mut self) -> std::result::Result<&History, sqlite::Error> {
        if self.is_closed {
            return Err(sqlite::Kind::Closed.into());
        }
        if self.history.is_none() {
            let (history, set_aside) = History::open(&self.path, self.tables.clone())?;
            self.set_aside = set_aside.map(|path| path.display().to_string());
            self.history = Some(history);
        }
        self.history.as_ref().ok_or_else(|| sqlite::Kind::Closed.into())
    }
}

/// Whole numbers come as numbers.
fn chat_id(given: Either<f64, String>) -> ChatId {
    match given {
        Either::A(number) => ChatId::Number(number as i64),
        Either::B(text) => ChatId::Text(text),
    }
}
