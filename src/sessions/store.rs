//! The file that sessions are stored in: messages in order, those a session has let go beside those it keeps, and an
//! index of their words.
//!
//! Operations flow in and are committed together; what was committed survives the death of the process. Keys, states
//! and bodies are text of the caller's (JSON) and are never looked into. Writing and reading have a connection each,
//! so that a reader never waits for a writer, here or in another process.

use parking_lot::Mutex;

use super::search::{index_form, match_query};
use crate::fault;
use crate::sqlite::rusqlite::{
    self, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params,
};
use crate::sqlite::{BUSY_TIMEOUT, Connection, Error, Kind, Schema, open};

const SCHEMA: Schema = Schema {
    tables: &[
        ("session", &["id", "key", "state"]),
        ("message", &["id", "session", "position", "live", "body"]),
        ("message_text", &["text"]),
    ],
    create: "
        CREATE TABLE IF NOT EXISTS session(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL);
        CREATE TABLE IF NOT EXISTS message(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session INTEGER NOT NULL,
            position INTEGER NOT NULL,
            live INTEGER NOT NULL,
            body TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS message_by_session ON message(session, live, position);
        CREATE VIRTUAL TABLE IF NOT EXISTS message_text USING fts5(
            text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');",
    joins_others: false,
};

/// A change to what is stored.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Makes the session if there is none, else replaces its state.
    SetState {
        /// The session.
        key: String,
        /// Its state.
        state: String,
    },
    /// A message at the end of a session, which is made if there is none.
    Append {
        /// The session.
        key: String,
        /// The message.
        body: String,
        /// Its words, for searching.
        text: String,
    },
    /// A summary in place of messages that the session lets go. They can still be found.
    Replace {
        /// The session.
        key: String,
        /// Ids of the messages.
        ids: Vec<i64>,
        /// The summary.
        body: String,
        /// The session's state from now on.
        state: String,
    },
    /// The session is forgotten, with all it ever had.
    Clear {
        /// The session.
        key: String,
    },
}

/// What is stored of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its state.
    pub state: String,
    /// The messages it keeps, in order, with their ids.
    pub messages: Vec<(i64, String)>,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its session.
    pub key: String,
    /// The message.
    pub body: String,
    /// Whether the session still keeps it.
    pub is_live: bool,
}

/// An open file.
#[derive(Debug)]
pub struct Store {
    writer: Mutex<Option<Connection>>,
    reader: Mutex<Option<Connection>>,
}

impl Store {
    /// Opens or makes the file at `path`. With it comes where a damaged file was put, if there was one.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(path: &str) -> Result<(Self, Option<String>), Error> {
        let opened = open(path, &SCHEMA)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(std::path::absolute(path)?, flags)?;
        reader.busy_timeout(BUSY_TIMEOUT)?;
        reader.pragma_update(None, "query_only", true)?;
        let store = Self { writer: Mutex::new(Some(opened.connection)), reader: Mutex::new(Some(reader)) };
        Ok((store, opened.set_aside.map(|path| path.display().to_string())))
    }

    /// Commits all operations or none. The answer has for each the id of the message it made; `None` where it made
    /// none, as a `Replace` does when a message it would let go was let go before, by another process.
    ///
    /// # Errors
    /// [`Kind`] says which; nothing is changed then.
    pub fn apply(&self, operations: &[Operation]) -> Result<Vec<Option<i64>>, Error> {
        let writer = self.writer.lock();
        let writer = writer.as_ref().ok_or(Kind::Closed)?;
        let transaction = Transaction::new_unchecked(writer, TransactionBehavior::Immediate)?;
        let made = operations
            .iter()
            .map(|operation| {
                fault::step();
                apply_one(&transaction, operation)
            })
            .collect::<Result<_, rusqlite::Error>>()?;
        fault::step();
        transaction.commit()?;
        Ok(made)
    }

    /// What is stored of a session.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn load(&self, key: &str) -> Result<Option<Stored>, Error> {
        self.read(|reader| {
            // One snapshot for both statements.
            let reader = reader.unchecked_transaction()?;
            let session = reader
                .prepare_cached("SELECT id, state FROM session WHERE key = ?1")?
                .query_row([key], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))
                .optional()?;
            let Some((id, state)) = session else { return Ok(None) };
            let messages = reader
                .prepare_cached(
                    "SELECT id, body FROM message WHERE session = ?1 AND live = 1 ORDER BY position, id",
                )?
                .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            Ok(Some(Stored { state, messages }))
        })
    }

    /// The keys of all sessions, the oldest first.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn keys(&self) -> Result<Vec<String>, Error> {
        self.read(|reader| {
            reader
                .prepare_cached("SELECT key FROM session ORDER BY id")?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    /// The newest `limit` messages that hold all of `query`, in one session or in all, the newest first.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn search(&self, query: &str, key: Option<&str>, limit: u32) -> Result<Vec<Hit>, Error> {
        let Some(query) = match_query(query) else { return Ok(Vec::new()) };
        self.read(|reader| {
            reader
                .prepare_cached(
                    "SELECT session.key, message.body, message.live
                     FROM message_text
                     JOIN message ON message.id = message_text.rowid
                     JOIN session ON session.id = message.session
                     WHERE message_text MATCH ?1 AND (?2 IS NULL OR session.key = ?2)
                     ORDER BY message_text.rowid DESC LIMIT ?3",
                )?
                .query_map(params![query, key, limit], |row| {
                    Ok(Hit { key: row.get(0)?, body: row.get(1)?, is_live: row.get(2)? })
                })?
                .collect()
        })
    }

    /// A number that changes when another process has written; `None` while this one is writing.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn foreign_writes(&self) -> Result<Option<i64>, Error> {
        let Some(writer) = self.writer.try_lock() else { return Ok(None) };
        let writer = writer.as_ref().ok_or(Kind::Closed)?;
        let version = writer.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(Some(version))
    }

    /// Closes the file, after what is being written. Closing twice does nothing.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn close(&self) -> Result<(), Error> {
        for connection in [self.reader.lock().take(), self.writer.lock().take()].into_iter().flatten() {
            connection.close().map_err(|(_, error)| error)?;
        }
        Ok(())
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, rusqlite::Error>) -> Result<T, Error> {
        let reader = self.reader.lock();
        Ok(work(reader.as_ref().ok_or(Kind::Closed)?)?)
    }
}

fn apply_one(transaction: &Transaction<'_>, operation: &Operation) -> Result<Option<i64>, rusqlite::Error> {
    match operation {
        Operation::SetState { key, state } => set_state(transaction, key, state).map(|()| None),
        Operation::Append { key, body, text } => append(transaction, key, body, text).map(Some),
        Operation::Replace { key, ids, body, state } => replace(transaction, key, ids, body, state),
        Operation::Clear { key } => clear(transaction, key).map(|()| None),
    }
}

fn set_state(transaction: &Transaction<'_>, key: &str, state: &str) -> Result<(), rusqlite::Error> {
    transaction
        .prepare_cached(
            "INSERT INTO session(key, state) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET state = ?2",
        )?
        .execute([key, state])?;
    Ok(())
}

fn append(transaction: &Transaction<'_>, key: &str, body: &str, text: &str) -> Result<i64, rusqlite::Error> {
    transaction
        .prepare_cached("INSERT INTO session(key, state) VALUES (?1, '{}') ON CONFLICT(key) DO NOTHING")?
        .execute([key])?;
    transaction
        .prepare_cached(
            "INSERT INTO message(session, position, live, body)
             SELECT id, 1 + coalesce((SELECT max(position) FROM message WHERE session = session.id AND live = 1), 0), 1, ?2
             FROM session WHERE key = ?1",
        )?
        .execute([key, body])?;
    let id = transaction.last_insert_rowid();
    transaction
        .prepare_cached("INSERT INTO message_text(rowid, text) VALUES (?1, ?2)")?
        .execute(params![id, index_form(text)])?;
    Ok(id)
}

fn replace(
    transaction: &Transaction<'_>,
    key: &str,
    ids: &[i64],
    body: &str,
    state: &str,
) -> Result<Option<i64>, rusqlite::Error> {
    let mut is_live = transaction.prepare_cached(
        "SELECT message.position FROM message JOIN session ON session.id = message.session
         WHERE message.id = ?1 AND message.live = 1 AND session.key = ?2",
    )?;
    let mut last_position = None;
    for id in ids {
        let position: Option<i64> = is_live.query_row(params![id, key], |row| row.get(0)).optional()?;
        let Some(position) = position else { return Ok(None) };
        last_position = last_position.max(Some(position));
    }
    let mut let_go = transaction.prepare_cached("UPDATE message SET live = 0 WHERE id = ?1")?;
    for id in ids {
        let_go.execute([id])?;
    }
    transaction
        .prepare_cached(
            "INSERT INTO message(session, position, live, body) SELECT id, ?2, 1, ?3 FROM session WHERE key = ?1",
        )?
        .execute(params![key, last_position, body])?;
    let id = transaction.last_insert_rowid();
    set_state(transaction, key, state)?;
    Ok(Some(id))
}

fn clear(transaction: &Transaction<'_>, key: &str) -> Result<(), rusqlite::Error> {
    let statements = [
        "DELETE FROM message_text WHERE rowid IN
            (SELECT message.id FROM message JOIN session ON session.id = message.session WHERE session.key = ?1)",
        "DELETE FROM message WHERE session = (SELECT id FROM session WHERE key = ?1)",
        "DELETE FROM session WHERE key = ?1",
    ];
    for statement in statements {
        transaction.prepare_cached(statement)?.execute([key])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
