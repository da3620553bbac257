//! Sessions in SQLite: rows in order, those a session has let go beside those it keeps, and an index of their words.
//! What was committed survives the death of the process. Nothing here decides what a session may let go, and bodies are
//! looked into for their words alone.
//!
//! In a file, writing and reading have connections of their own, so that a reader never waits for a writer, here or in
//! another process, and one who cannot wait never for one who reads long. In memory there is one connection, and words are
//! indexed when somebody searches.

mod change;
mod migrate;
mod pending;
mod read;
mod rows;
mod words;
mod write;

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use self::pending::{Name, Pending};

pub use self::rows::{
    Change, Hit, ImportedMessage, ImportedState, ListQuery, Listed, NewMessage, Operation, Order, Outcome,
    Page, Pruned, SearchQuery, Sessions, Stamp, Stored, StoredMessage, SummaryRow,
};
use crate::sessions::sqlite::rusqlite::{self, OpenFlags, Transaction, TransactionBehavior};
use crate::sessions::sqlite::{
    self, BUSY_TIMEOUT, Connection, Error, IN_MEMORY, Kind, Opened, Schema, open_unchecked, replace_damaged,
};

/// The tables of a new file.
const CREATE: &str = include_str!("tables.sql");

const SCHEMA: Schema = Schema {
    tables: &[
        ("session_schema", &["version"]),
        (
            "sessions",
            &["number", "namespace", "key", "prompt", "fields", "digest", "version", "revision", "last_seq"],
        ),
        ("messages", &["row", "session", "id", "seq", "place", "live", "summary", "at", "body"]),
        ("message_words", &["words"]),
    ],
    create: CREATE,
    joins_others: false,
};

/// How long a caller that cannot wait waits for a writer, here or in another process: the most that Node's main thread is to
/// be held.
const SOON: Duration = Duration::from_millis(4);

/// Sessions in one file or in memory. Opened by the first use.
#[derive(Debug)]
pub struct Store {
    location: String,
    writer: Mutex<Slot>,
    /// For those who cannot wait, and for those who can.
    readers: [Mutex<Option<Connection>>; 2],
    /// Changes when a damaged file was replaced.
    generation: AtomicI64,
    /// The foreign writes that were last seen.
    seen: AtomicI64,
    /// Of a damaged file, until it was told.
    replaced: Mutex<Replaced>,
    /// In memory: the newest row whose words are indexed.
    indexed: AtomicI64,
    /// In memory: the number of the next row.
    next_row: AtomicI64,
    /// In memory: what was appended and is not in the tables yet. Locked after the writer.
    pending: Mutex<Pending>,
}

#[derive(Debug)]
enum Slot {
    Unopened,
    Open(Connection),
    Closed,
}

/// A damaged file that was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replaced {
    /// Where it is now.
    pub moved_to: Option<String>,
    /// Messages of it that could be read; they are in the new one.
    pub salvaged: u64,
}

impl Store {
    /// The store at `location`, a path or [`IN_MEMORY`]. Nothing is opened yet.
    #[must_use]
    pub fn new(location: &str) -> Self {
        Self {
            location: location.to_owned(),
            writer: Mutex::new(Slot::Unopened),
            readers: [Mutex::new(None), Mutex::new(None)],
            generation: AtomicI64::new(0),
            seen: AtomicI64::new(0),
            replaced: Mutex::new(Replaced::default()),
            indexed: AtomicI64::new(0),
            next_row: AtomicI64::new(1),
            pending: Mutex::new(Pending::default()),
        }
    }

    /// Opens or makes the file, looks at every page, and replaces it with what can be read of it where one is damaged.
    ///
    /// # Errors
    /// As [`sqlite::open`].
    pub fn open(&self) -> Result<Replaced, Error> {
        self.open_now()?;
        if self.is_in_memory() {
            return Ok(Replaced::default());
        }
        // A connection of its own: nobody waits for the check.
        let verdict = self.connect().and_then(|checker| sqlite::check(&checker, &self.location));
        match verdict {
            Err(error) if error.kind() == Kind::Corrupt => self.replace()?,
            outcome => outcome?,
        }
        Ok(std::mem::take(&mut *self.replaced.lock()))
    }

    /// Opens the file without looking at its pages.
    ///
    /// # Errors
    /// As [`sqlite::open`].
    pub fn open_now(&self) -> Result<(), Error> {
        self.open_slot(&mut self.writer.lock())
    }

    fn open_slot(&self, writer: &mut Slot) -> Result<(), Error> {
        match writer {
            Slot::Open(_) => return Ok(()),
            Slot::Closed => return Err(Kind::Closed.into()),
            Slot::Unopened => {}
        }
        let opened = open_unchecked(&self.location, &SCHEMA, BUSY_TIMEOUT)?;
        self.take(writer, opened)
    }

    /// The writer for a caller that cannot wait.
    fn writer_now(&self) -> Result<MutexGuard<'_, Slot>, Error> {
        let mut writer = self.writer.try_lock_for(SOON).ok_or(Kind::Locked)?;
        self.open_slot(&mut writer)?;
        Ok(writer)
    }

    fn take(&self, writer: &mut Slot, opened: Opened) -> Result<(), Error> {
        let Opened { connection, set_aside, .. } = opened;
        if let Some(aside) = &set_aside {
            let salvaged = migrate::after_salvage(aside, &connection)?;
            *self.replaced.lock() = Replaced { moved_to: Some(aside.display().to_string()), salvaged };
        }
        migrate::to_newest(&connection)?;
        if self.is_in_memory() {
            // A session's rows are found by their ids too, and a list of what fits in memory is soon sorted.
            connection.execute_batch("DROP INDEX messages_in_order; DROP INDEX sessions_by_update")?;
        } else if !connection.is_readonly("main")? {
            connection.pragma_update(None, "secure_delete", true)?;
        }
        *writer = Slot::Open(connection);
        Ok(())
    }

    fn replace(&self) -> Result<(), Error> {
        let mut writer = self.writer.lock();
        *writer = Slot::Unopened;
        for reader in &self.readers {
            *reader.lock() = None;
        }
        let opened = replace_damaged(&self.location, &SCHEMA, BUSY_TIMEOUT)?;
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.take(&mut writer, opened)
    }

    fn connect(&self) -> Result<Connection, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = Connection::open_with_flags(std::path::absolute(&self.location)?, flags)?;
        reader.busy_timeout(BUSY_TIMEOUT)?;
        reader.pragma_update(None, "query_only", true)?;
        Ok(reader)
    }

    fn is_in_memory(&self) -> bool {
        self.location == IN_MEMORY
    }

    /// A number that changes when another process has written. Never waits: what is being written here is looked past.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn foreign_writes(&self) -> Result<i64, Error> {
        let writer = if self.is_in_memory() { None } else { self.writer.try_lock() };
        let Some(writer) = writer else { return Ok(self.seen.load(Ordering::Relaxed)) };
        let version: i64 = match &*writer {
            Slot::Unopened => 0,
            Slot::Closed => return Err(Kind::Closed.into()),
            // The writer's own commits do not count.
            Slot::Open(writer) => {
                writer.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?
            }
        };
        let seen = version + (self.generation.load(Ordering::Relaxed) << 32);
        self.seen.store(seen, Ordering::Relaxed);
        Ok(seen)
    }

    /// Closes the file, after what is being written. Closing twice does nothing.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn close(&self) -> Result<(), Error> {
        let mut writer = self.writer.lock();
        let slot = std::mem::replace(&mut *writer, Slot::Closed);
        let connection = if let Slot::Open(connection) = slot { Some(connection) } else { None };
        let readers = self.readers.iter().filter_map(|reader| reader.lock().take());
        for connection in readers.chain(connection) {
            connection.close().map_err(|(_, error)| error)?;
        }
        Ok(())
    }

    /// Runs `work` on the writer's connection, in a transaction of its own, after what waits of the sessions that
    /// `operations` name; of all without.
    fn write<T>(
        &self,
        operations: Option<&[Operation]>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.open_now()?;
        let writer = self.writer.lock();
        self.settle(&writer, operations.map(names_of).as_deref())?;
        transact(&writer, work)
    }

    /// `write` for a caller that cannot wait.
    fn write_now<T>(
        &self,
        operations: &[Operation],
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let writer = self.writer_now()?;
        self.settle(&writer, Some(&names_of(operations)))?;
        connection_of(&writer)?.busy_timeout(SOON)?;
        let outcome = transact(&writer, work);
        connection_of(&writer)?.busy_timeout(BUSY_TIMEOUT)?;
        outcome
    }

    /// To read with: for a caller that cannot wait, or for one that can.
    #[must_use]
    pub fn reading(&self, when: When) -> Reading<'_> {
        let [now, later] = &self.readers;
        Reading { store: self, reader: if when == When::Now { now } else { later } }
    }
}

/// Whether a caller can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// It holds Node's main thread.
    Now,
    /// It has a thread of its own.
    Later,
}

/// Reads a store, one snapshot for each question.
#[derive(Debug)]
pub struct Reading<'a> {
    store: &'a Store,
    reader: &'a Mutex<Option<Connection>>,
}

impl Reading<'_> {
    /// Runs `work`, about the session named or about all, on the connection, in one snapshot. Does not wait for what is being
    /// written.
    fn read<T>(
        &self,
        named: Option<Name<'_>>,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Self { store, reader } = self;
        if store.is_in_memory() {
            store.open_now()?;
            let writer = store.writer.lock();
            store.settle(&writer, named.as_ref().map(std::slice::from_ref))?;
            return work(connection_of(&writer)?);
        }
        let mut reader = reader.lock();
        if reader.is_none() {
            drop(reader);
            store.open_now()?;
            reader = self.reader.lock();
            *reader = Some(store.connect()?);
        }
        let snapshot = reader.as_ref().ok_or(Kind::Closed)?.unchecked_transaction()?;
        work(&snapshot)
    }
}

fn names_of(operations: &[Operation]) -> Vec<Name<'_>> {
    operations.iter().map(|(namespace, key, _)| (namespace.as_str(), key.as_str())).collect()
}

fn transact<T>(
    writer: &MutexGuard<'_, Slot>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = Transaction::new_unchecked(connection_of(writer)?, TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    crate::fault::step();
    transaction.commit()?;
    Ok(done)
}

fn connection_of<'a>(slot: &'a MutexGuard<'_, Slot>) -> Result<&'a Connection, Error> {
    match &**slot {
        Slot::Open(connection) => Ok(connection),
        Slot::Unopened | Slot::Closed => Err(Kind::Closed.into()),
    }
}

/// Whether a path can be that of a store, as far as that shows without opening it.
///
/// # Errors
/// [`Kind::BadPath`], or [`Kind::CannotOpen`] where its folder is missing or it is one itself.
pub fn check_place(location: &str) -> Result<(), Error> {
    if location == IN_MEMORY {
        return Ok(());
    }
    if location.is_empty() || location.contains('\0') {
        return Err(Kind::BadPath.into());
    }
    let path = std::path::absolute(location)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    if path.is_dir() || !folder.is_dir() { Err(Kind::CannotOpen.into()) } else { Ok(()) }
}

/// ms since 1970.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn is_there(connection: &Connection, table: &str, column: &str) -> Result<bool, rusqlite::Error> {
    connection
        .prepare_cached("SELECT count(*) > 0 FROM pragma_table_info(?1) WHERE name = ?2")?
        .query_row([table, column], |row| row.get(0))
}

#[cfg(test)]
mod tests;
