//! Opens the embedded database that sessions and history are kept in.
//!
//! The connection has the tables its caller needs, write-ahead logging, a busy timeout, and a file that its owner alone
//! may read. A damaged file is set aside, never deleted. What is stored there, and every statement but the opening ones,
//! is its callers' business.

mod error;
mod file;
mod salvage;
mod script;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::error::{Error, Kind};
use self::salvage::salvage;
pub use self::script::{Rows, Statement, query, run};
pub use rusqlite::{self, Connection};
use rusqlite::{OpenFlags, Transaction, TransactionBehavior};

/// The name that asks for a database in memory, as `SQLite` has it.
pub const IN_MEMORY: &str = ":memory:";
/// Time for which a statement waits for another process. Five seconds, the default of most bindings.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two attempts at what `SQLite` does not wait for by itself.
const RETRY_PAUSE: Duration = Duration::from_millis(10);
/// Prepared statements kept per connection: more than any caller here has.
const CACHED_STATEMENTS: usize = 64;
/// Memory for pages, in KiB: enough for the hot part of an index over a million rows; `SQLite`'s own 2 MB is not.
const PAGE_CACHE_KIB: i32 = 8 * 1024;
/// Pages of log before they are copied into the file. `SQLite`'s own 1000 copy an index page that many conversations
/// share at nearly every batch: with a million rows that took most of the time of appending.
const CHECKPOINT_PAGES: i32 = 4000;
/// Marks files made here ("pist" in ASCII), so that those of other programs are told apart.
pub(crate) const APPLICATION_ID: i32 = 0x7069_7374;
/// Files up to this size are checked page by page when opened: some tenths of a second at most.
const FULL_CHECK_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The needs of a caller from a database.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// Tables with the columns each must have, at least.
    pub tables: &'a [(&'a str, &'a [&'a str])],
    /// Makes what is not there yet: `CREATE … IF NOT EXISTS` only.
    pub create: &'a str,
    /// Gives a connection what the tables ask of it.
    pub set_up: fn(&Connection) -> Result<(), rusqlite::Error>,
    /// Of the tables, as the file says it (`user_version`); a newer one is refused. Tables without one may live in a database
    /// that another program made.
    pub version: Option<i32>,
}

/// An open database.
#[derive(Debug)]
pub struct Opened {
    /// The connection; one thread at a time may use it.
    pub connection: Connection,
    /// The new place of a damaged file, in whose place this one was made.
    pub set_aside: Option<PathBuf>,
}

/// Opens or makes the database at `location` with the tables of `schema`, and looks at every page of a file of up to 64 MB.
///
/// A damaged file is renamed to `*.corrupt-N` together with its log; a new one takes its place, with every row that could
/// still be read. A file that this process may only read is opened for reading while another process, which may write,
/// has it open: its log cannot be made here. It waits at most [`BUSY_TIMEOUT`] for other processes, now and at every later
/// statement.
///
/// # Errors
/// [`Kind`] says which: locked, read-only, full, of another program, or not to be opened at all.
pub fn open(location: &str, schema: &Schema<'_>) -> Result<Opened, Error> {
    if location == IN_MEMORY {
        let connection = Connection::open_in_memory()?;
        prepare(&connection, schema)?;
        return Ok(Opened { connection, set_aside: None });
    }
    let path = file::absolute(location)?;
    let sound = attempt(&path, schema).and_then(|connection| {
        check(&connection, &path)?;
        Ok(Opened { connection, set_aside: None })
    });
    let opened = match sound {
        Err(error) if error.kind() == Kind::Corrupt => replace_damaged(&path, schema),
        outcome => outcome,
    };
    opened.map_err(|error| read_only_if_readable(error, &path).at(&path))
}

/// Checks that a path can be that of a database, as far as that shows without opening it.
///
/// # Errors
/// [`Kind::BadPath`], or [`Kind::CannotOpen`] where its folder is missing or it is one itself.
pub fn check_place(location: &str) -> Result<(), Error> {
    if location == IN_MEMORY {
        return Ok(());
    }
    let path = file::absolute(location)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    if path.is_dir() || !folder.is_dir() { Err(Kind::CannotOpen.into()) } else { Ok(()) }
}

/// Sets a damaged file aside and makes a new one of what can be read of it.
fn replace_damaged(path: &Path, schema: &Schema<'_>) -> Result<Opened, Error> {
    if file::is_text(path)? {
        return Err(Error::foreign("it is a text"));
    }
    let set_aside = file::set_aside(path)?;
    let connection = attempt(path, schema)?;
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
    salvage(&set_aside, &transaction, schema)?;
    transaction.commit()?;
    Ok(Opened { connection, set_aside: Some(set_aside) })
}

/// Says "read-only" of a file that can be read but not opened as a database: `SQLite` may not write beside it.
fn read_only_if_readable(error: Error, path: &Path) -> Error {
    let is_readable = path.is_file() && std::fs::File::open(path).is_ok();
    if error.kind() == Kind::CannotOpen && is_readable { Kind::ReadOnly.into() } else { error }
}

/// A connection that only reads, to a file that was opened before.
///
/// # Errors
/// As [`open`].
pub fn open_reader(location: &str, schema: &Schema<'_>) -> Result<Connection, Error> {
    let reader = connect(&file::absolute(location)?)?;
    set_up(&reader, schema)?;
    reader.pragma_update(None, "query_only", true)?;
    Ok(reader)
}

fn attempt(path: &Path, schema: &Schema<'_>) -> Result<Connection, Error> {
    file::create_private(path)?;
    let connection = connect(path)?;
    prepare(&connection, schema)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, Error> {
    // The path is absolute, so it can never be taken for a `file:` URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    if connection.is_readonly("main")? && !can_read(&connection)? {
        return open_immutable(path);
    }
    Ok(connection)
}

/// False of a file with a log of its own, where nothing may be written beside it.
fn can_read(connection: &Connection) -> Result<bool, Error> {
    match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(Error::from) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), Kind::CannotOpen | Kind::ReadOnly) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file that nobody can write to, without the log that cannot be made beside it.
fn open_immutable(path: &Path) -> Result<Connection, Error> {
    // Changes in the log alone would be missing.
    if file::has_log(path) {
        return Err(Kind::ReadOnly.into());
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(file::immutable_uri(path)?, flags)?)
}

fn set_up(connection: &Connection, schema: &Schema<'_>) -> Result<(), Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok((schema.set_up)(connection)?)
}

fn prepare(connection: &Connection, schema: &Schema<'_>) -> Result<(), Error> {
    set_up(connection, schema)?;
    if connection.is_readonly("main")? {
        check_version(connection, schema)?;
        return if absent(connection, schema)?.is_none() { Ok(()) } else { Err(Kind::ReadOnly.into()) };
    }
    // First of all, because another program's file must be left as it is.
    patiently(|| create_tables(connection, schema))?;
    // Two processes that open one new file at once: SQLite refuses the switch to WAL without waiting.
    // On a file system that cannot do it (a network share), it stays with its rollback journal, which is safe too.
    patiently(|| Ok(connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?))?;
    // A commit then survives the death of the process, though not always that of the power supply.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -PAGE_CACHE_KIB)?;
    connection.query_row(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"), [], |_| Ok(()))?;
    Ok(())
}

fn check_version(connection: &Connection, schema: &Schema<'_>) -> Result<(), Error> {
    let Some(known) = schema.version else { return Ok(()) };
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > known { Err(Kind::Version.into()) } else { Ok(()) }
}

/// In one transaction, so that of two processes one creates and the other finds.
fn create_tables(connection: &Connection, schema: &Schema<'_>) -> Result<(), Error> {
    check_version(connection, schema)?;
    if absent(connection, schema)?.is_none() {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let is_empty = transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let application_id: i32 = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if is_empty {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    } else if application_id != APPLICATION_ID && schema.version.is_some() {
        return Err(Error::foreign("it belongs to another program"));
    }
    let created = transaction.execute_batch(schema.create).map_err(Error::from);
    if created.as_ref().is_err_and(|error| error.kind() != Kind::Other) {
        return created;
    }
    // An index over columns that another program's table lacks cannot be made: what is wrong then is the table.
    if let Some(missing) = absent(&transaction, schema)? {
        return Err(Error::foreign(format!("its table {missing} has other columns")));
    }
    created?;
    if let Some(version) = schema.version {
        transaction.pragma_update(None, "user_version", version)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The first table of `schema` that is not there with all its columns.
fn absent<'a>(connection: &Connection, schema: &Schema<'a>) -> Result<Option<&'a str>, Error> {
    for (table, wanted) in schema.tables {
        let found = columns(connection, table)?;
        if !wanted.iter().all(|column| found.iter().any(|name| name == column)) {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, rusqlite::Error> {
    connection
        .prepare_cached("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

/// Looks at every page of a file of up to 64 MB.
fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    if std::fs::metadata(path)?.len() > FULL_CHECK_MAX_BYTES {
        return Ok(());
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(Kind::Corrupt.into()) }
}

/// Repeats `work` while another process holds the lock, until [`BUSY_TIMEOUT`] is over.
fn patiently(work: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
    let started = Instant::now();
    loop {
        match work() {
            Err(error) if error.kind() == Kind::Locked && started.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(RETRY_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests;
