//! The tables of a history, under the names a host gave them: what must be there, what is made, what older releases
//! lacked.

use crate::sessions::sqlite::{APPLICATION_ID, Error, rusqlite};

/// The statements, by part; the package publishes the same file.
const SQL: &str = include_str!("tables.sql");
/// The columns of the tables that releases before 0.2 made.
const OLD_HISTORY: [&str; 5] = ["id", "chat_id", "role", "text", "created_at"];
const OLD_EVENTS: [&str; 4] = ["id", "type", "payload", "created_at"];

/// The names of the tables: letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The messages.
    pub history: String,
    /// What happened to them.
    pub events: String,
}

impl Default for Tables {
    fn default() -> Self {
        Self { history: "history".into(), events: "events".into() }
    }
}

impl Tables {
    /// Tables with the columns each must have. Events need none: without them the messages can be read all the same.
    pub(super) fn wanted(&self) -> [(&str, &[&str]); 2] {
        [(&self.history, &["id", "chat_id", "role", "text"]), (&self.events, &[])]
    }

    /// Makes both tables where they are not there.
    pub(super) fn create(&self) -> String {
        self.named(&format!("{}{}", part("history"), part("events")))
    }

    pub(super) fn create_events(&self) -> String {
        self.named(part("events"))
    }

    /// Gives the tables of an older release, and no others, their newer columns.
    ///
    /// # Errors
    /// Locked, full, damaged. A file that may only be read stays as it is.
    pub(super) fn migrate(&self, connection: &rusqlite::Connection) -> Result<(), Error> {
        if self.outdated(connection)?.is_empty() || connection.is_readonly("main")? {
            return Ok(());
        }
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        for name in self.outdated(&transaction)? {
            transaction.execute_batch(&self.named(part(name)))?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// The parts of the SQL that tables made here still need.
    fn outdated(&self, connection: &rusqlite::Connection) -> Result<Vec<&'static str>, Error> {
        let application_id: i32 =
            connection.query_row("SELECT application_id FROM pragma_application_id", [], |row| row.get(0))?;
        if application_id != APPLICATION_ID {
            return Ok(Vec::new());
        }
        let mut parts = Vec::new();
        if Columns::of(connection, &self.history)?.are(&OLD_HISTORY) {
            parts.push("history 2");
        }
        if Columns::of(connection, &self.events)?.are(&OLD_EVENTS) {
            parts.push("events 2");
        }
        Ok(parts)
    }

    fn named(&self, sql: &str) -> String {
        sql.replace("\"history\"", &format!("\"{}\"", self.history))
            .replace("\"history_by_chat\"", &format!("\"{}_by_chat\"", self.history))
            .replace("\"events\"", &format!("\"{}\"", self.events))
    }
}

/// A part of the SQL file; empty if there is none of that name.
fn part(name: &str) -> &'static str {
    let mut parts = SQL.split("-- @");
    parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n')).unwrap_or("")
}

/// The columns of a table; none where there is no such table.
#[derive(Debug)]
pub(super) struct Columns(Vec<String>);

impl Columns {
    pub(super) fn of(connection: &rusqlite::Connection, table: &str) -> Result<Self, Error> {
        let mut columns = connection.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
        let names = columns.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(Self(names))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column == name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn are(&self, names: &[&str]) -> bool {
        self.0 == names
    }
}

/// What a table of events calls the kind of an event.
pub(super) fn kind_column(columns: &Columns, table: &str) -> Result<&'static str, Error> {
    let found = ["event_type", "type"].into_iter().find(|name| columns.has(name));
    match found {
        Some(name) if columns.has("payload") => Ok(name),
        _ => Err(Error::foreign(format!("its table {table} has no columns event_type and payload"))),
    }
}
