//! Conversations in a database of the host's: appended in order, read back newest first.
//!
//! Rows flow in and out of the tables `history` and `events`; what becomes of them (compressing, assembling) is the
//! business of whoever asks. A host may have made `history` itself, with more columns than these.

use crate::sqlite::{self, Error, Schema, rusqlite};

/// Where the time of a row comes from: UTC, to the millisecond, sortable as text.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

const SCHEMA: Schema = Schema {
    tables: &[
        ("history", &["id", "chat_id", "role", "text", "created_at"]),
        ("events", &["id", "type", "payload", "created_at"]),
    ],
    create: "
        CREATE TABLE IF NOT EXISTS history(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            chat_id INTEGER NOT NULL,
            role TEXT NOT NULL,
            text TEXT NOT NULL,
            created_at TEXT NOT NULL);
        CREATE INDEX IF NOT EXISTS history_by_chat ON history(chat_id, id);
        CREATE TABLE IF NOT EXISTS events(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            type TEXT NOT NULL,
            payload TEXT NOT NULL,
            created_at TEXT NOT NULL);",
    joins_others: true,
};

/// An open history.
#[derive(Debug)]
pub struct History(rusqlite::Connection);

/// A message about to be stored.
#[derive(Clone, Debug)]
pub struct NewRow {
    /// The conversation.
    pub chat_id: i64,
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub text: String,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Who speaks.
    pub role: String,
    /// What is said.
    pub text: String,
}

impl History {
    /// Opens or makes the history at `location`; says where a damaged file was put, if there was one.
    ///
    /// # Errors
    /// As [`sqlite::open`].
    pub fn open(location: &str) -> Result<(Self, Option<std::path::PathBuf>), Error> {
        let opened = sqlite::open(location, &SCHEMA)?;
        Ok((Self(opened.connection), opened.set_aside))
    }

    /// Stores rows in one transaction and returns their ids: all of them or, on an error, none.
    ///
    /// # Errors
    /// Locked, read-only, full, damaged.
    pub fn append(&self, rows: &[NewRow]) -> Result<Vec<i64>, Error> {
        let transaction = self.begin()?;
        let ids = {
            let mut insert = transaction.prepare_cached(&format!(
                "INSERT INTO history(chat_id, role, text, created_at) VALUES (?1, ?2, ?3, {NOW})"
            ))?;
            let ids = rows.iter().map(|row| insert.insert((row.chat_id, &row.role, &row.text)));
            ids.collect::<Result<Vec<_>, _>>()?
        };
        transaction.commit()?;
        Ok(ids)
    }

    /// The newest `limit` messages of a conversation, oldest first.
    ///
    /// # Errors
    /// Locked, damaged.
    pub fn newest(&self, chat_id: i64, limit: u32) -> Result<Vec<Row>, Error> {
        let mut select = self
            .0
            .prepare_cached("SELECT role, text FROM history WHERE chat_id = ?1 ORDER BY id DESC LIMIT ?2")?;
        let rows =
            select.query_map((chat_id, limit), |row| Ok(Row { role: row.get(0)?, text: row.get(1)? }))?;
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        rows.reverse();
        Ok(rows)
    }

    /// Stores an event with its JSON payload.
    ///
    /// # Errors
    /// Locked, read-only, full, damaged.
    pub fn record(&self, kind: &str, payload: &str) -> Result<(), Error> {
        let transaction = self.begin()?;
        transaction
            .prepare_cached(&format!("INSERT INTO events(type, payload, created_at) VALUES (?1, ?2, {NOW})"))?
            .execute((kind, payload))?;
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that takes the write lock at once: waiting for it later could fail half-way.
    fn begin(&self) -> Result<rusqlite::Transaction<'_>, Error> {
        Ok(rusqlite::Transaction::new_unchecked(&self.0, rusqlite::TransactionBehavior::Immediate)?)
    }
}
