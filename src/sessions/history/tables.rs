//! The tables of a history, under the names a host gave them: what must be there, and what is made.

use crate::sessions::sqlite::{Error, rusqlite};

/// The statements, by part.
const SQL: &str = include_str!("tables.sql");
/// The names of the tables: letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The messages.
    pub history: String,
    /// The event that happened to them.
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
}

/// Names that a table of events has for the kind of an event.
pub(super) fn kind_column(columns: &Columns, table: &str) -> Result<&'static str, Error> {
    let found = ["event_type", "type"].into_iter().find(|name| columns.has(name));
    match found {
        Some(name) if columns.has("payload") => Ok(name),
        _ => Err(Error::foreign(format!("its table {table} has no columns event_type and payload"))),
    }
}
