//! Sessions in a database: the statements that change and read them, the same for `SQLite` and Postgres, and `SQLite` to run
//! them. What was committed survives the death of the process. Nothing here decides what a session may let go, and bodies
//! are looked into for their words alone. Postgres is spoken to by JavaScript, which has the driver.
//!
//! In a file, writing and reading have connections of their own, so that a reader never waits for a writer, here or in
//! another process. In memory there is one connection.

mod dialect;
mod erase;
mod rows;
mod script;

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;

pub use self::dialect::Dialect;
pub use self::rows::{
    AnswerRow, Change, ImportedMessage, NewMessage, Operation, Order, Outcome, Page, Pruned, Question, Stamp,
};
pub use self::script::{asked, outcomes, script, words_of};
use crate::fault;
use crate::sessions::sqlite::rusqlite::functions::FunctionFlags;
use crate::sessions::sqlite::rusqlite::{self, Transaction, TransactionBehavior};
use crate::sessions::sqlite::{self, Connection, Error, IN_MEMORY, Kind, Opened, Schema, Statement, query};

const TABLES: &[(&str, &[&str])] = &[
    ("strata_session", &["number", "namespace", "key", "prompt", "fields", "digest", "version", "revision"]),
    (
        "strata_message",
        &["number", "namespace", "session", "id", "seq", "place", "is_live", "is_summary", "body"],
    ),
    ("strata_cleared", &["session", "bulk"]),
];

const IN_MEMORY_SCHEMA: Schema =
    Schema { tables: TABLES, create: include_str!("tables.sql"), set_up: add_functions, version: Some(1) };
const FILE_SCHEMA: Schema =
    Schema { create: concat!(include_str!("tables.sql"), include_str!("words.sql")), ..IN_MEMORY_SCHEMA };

/// Sessions in one file or in memory.
#[derive(Debug)]
pub struct Store {
    location: String,
    /// The connections, while it is open.
    writer: Mutex<Option<Connection>>,
    reader: Mutex<Option<Connection>>,
}

/// A damaged file that was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replaced {
    /// Its place now.
    pub moved_to: Option<String>,
    /// Messages of it that could be read; they are in the new one.
    pub salvaged: i64,
}

impl Store {
    /// The store at `location`, a path or [`IN_MEMORY`]. Nothing is opened yet.
    #[must_use]
    pub fn new(location: &str) -> Self {
        Self { location: location.to_owned(), writer: Mutex::new(None), reader: Mutex::new(None) }
    }

    /// Opens or makes the file, replaces it with what can be read of it where it is damaged, and erases what is left of
    /// sessions that were cleared. Does nothing where it is open.
    ///
    /// # Errors
    /// As [`sqlite::open`].
    pub fn open(&self) -> Result<Replaced, Error> {
        let mut writer = self.writer.lock();
        let mut replaced = Replaced::default();
        if writer.is_some() {
            return Ok(replaced);
        }
        let schema = if self.is_in_memory() { &IN_MEMORY_SCHEMA } else { &FILE_SCHEMA };
        let Opened { connection, set_aside } = sqlite::open(&self.location, schema)?;
        if let Some(aside) = set_aside {
            replaced.moved_to = Some(aside.display().to_string());
            replaced.salvaged = after_salvage(&connection)?;
        }
        if !self.is_in_memory() {
            if !connection.is_readonly("main")? {
                connection.pragma_update(None, "secure_delete", true)?;
            }
            *self.reader.lock() = Some(sqlite::open_reader(&self.location, schema)?);
        }
        *writer = Some(connection);
        drop(writer);
        self.erase()?;
        Ok(replaced)
    }

    fn is_in_memory(&self) -> bool {
        self.location == IN_MEMORY
    }

    fn dialect(&self) -> Dialect {
        if self.is_in_memory() { Dialect::Memory } else { Dialect::File }
    }

    /// Closes the file, after what is being written. Closing twice does nothing.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn close(&self) -> Result<(), Error> {
        let writer = self.writer.lock().take();
        let reader = self.reader.lock().take();
        for connection in [reader, writer].into_iter().flatten() {
            connection.close().map_err(|(_, error)| error)?;
        }
        Ok(())
    }

    /// Commits all operations or none; one outcome for each. Sessions that are cleared are gone; what is left of them in a
    /// file is for [`Store::erase`].
    ///
    /// # Errors
    /// [`Kind`] says which; nothing is changed then.
    pub fn apply(&self, operations: &[Operation]) -> Result<Vec<Outcome>, Error> {
        let script = script(self.dialect(), operations);
        let outcomes = self.write(|transaction| {
            let rows =
                script.iter().map(|steps| steps.iter().map(|step| answers(transaction, step)).collect());
            outcomes(operations, &rows.collect::<Result<Vec<_>, _>>()?)
        })?;
        if operations.iter().any(|(_, _, change)| matches!(change, Change::Delete { .. })) {
            self.checkpoint();
        }
        Ok(outcomes)
    }

    /// Answers a question from one snapshot, in rows of JSON. Does not wait for what is being written.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn ask(&self, question: &Question) -> Result<Vec<AnswerRow>, Error> {
        let Some(step) = asked(self.dialect(), question)? else { return Ok(Vec::new()) };
        let slot = if self.is_in_memory() { &self.writer } else { &self.reader };
        answers(slot.lock().as_ref().ok_or(Kind::Closed)?, &step)
    }

    /// Runs `work` on the writer's connection, in a transaction of its own.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let writer = self.writer.lock();
        // A transaction that takes the write lock at once: waiting for it later could fail half-way.
        let transaction =
            Transaction::new_unchecked(writer.as_ref().ok_or(Kind::Closed)?, TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        fault::step();
        transaction.commit()?;
        // Whoever has waited longest comes next.
        MutexGuard::unlock_fair(writer);
        Ok(done)
    }

    /// Takes the log into the file and empties it, so that nothing of what was deleted stays on disk. Where another
    /// process reads just now, its own end or the next checkpoint does that.
    fn checkpoint(&self) {
        if !self.is_in_memory()
            && let Some(writer) = &*self.writer.lock()
        {
            let _ = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

/// The rows of a statement; none of one that gives none.
fn answers(connection: &Connection, statement: &Statement) -> Result<Vec<AnswerRow>, Error> {
    query(connection, statement, |row| {
        // A damaged row may hold anything.
        let json = row.get_ref(0)?.as_str().map_err(|_| Kind::Corrupt)?.to_owned();
        Ok(AnswerRow(RawValue::from_string(json).map_err(|_| Kind::Corrupt)?))
    })
}

/// `words_of(body)`: what `tables.sql` and a search in memory ask for.
fn add_functions(connection: &Connection) -> Result<(), rusqlite::Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("words_of", 1, flags, |context| {
        Ok(words_of(context.get_raw(0).as_str().unwrap_or_default()))
    })
}

/// Makes whole what was salvaged table by table: sessions for messages that lost theirs, but not for those of cleared ones.
/// Says how many messages there are.
fn after_salvage(connection: &Connection) -> Result<i64, Error> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "UPDATE strata_message SET namespace = coalesce(
             (SELECT namespace FROM strata_session s WHERE s.number = strata_message.session), namespace);
         INSERT OR IGNORE INTO strata_session(number, namespace, key, created_at, updated_at, version, last_seq)
         SELECT session, max(namespace), '\"recovered session ' || session || '\"', min(at), max(at), 1, max(seq)
         FROM strata_message m
         WHERE session NOT IN (SELECT number FROM strata_session) AND session NOT IN (SELECT session FROM strata_cleared)
         GROUP BY session",
    )?;
    let salvaged = transaction.query_row("SELECT count(*) FROM strata_message", [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(salvaged)
}

#[cfg(test)]
mod tests;
