//! A database file for JavaScript, which says what its tables are and what is done with them: opened at the first use,
//! always on a worker thread.

use std::sync::Arc;

use napi_derive::napi;
use parking_lot::Mutex;
use serde::Deserialize;

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use super::json::{json, parsed, promised};
use crate::sessions::sqlite::{self, BUSY_TIMEOUT, Connection, Schema, Statement};

/// A database in a file or in memory.
#[napi]
pub struct DatabaseFile(Arc<Mutex<Option<State>>>);

/// While it is not closed.
struct State {
    path: String,
    tables: Tables,
    connection: Option<Connection>,
    set_aside: Option<String>,
}

/// The tables that a database must have: made where they are not there, else with these columns at least.
#[derive(Deserialize)]
struct Tables {
    create: String,
    columns: Vec<(String, Vec<String>)>,
}

#[napi]
impl DatabaseFile {
    /// Remembers the path; no file is touched yet. `tables` is JSON: `{ create, columns: [table, [name]][] }`.
    #[napi(constructor)]
    pub fn new(path: String, tables: String) -> Result<Self> {
        guarded(|| {
            let state = State { path, tables: parsed(&tables)?, connection: None, set_aside: None };
            Ok(Self(Arc::new(Mutex::new(Some(state)))))
        })
    }

    /// Runs statements, the JSON of `[sql, values][]`, in one transaction that waits at most `busy_ms` for other
    /// processes. The JSON of `{ rows, setAside }`: the rows of each, and the new place of a damaged file, told once.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn run(&self, statements: String, writes: bool, busy_ms: Option<u32>) -> Result<Promise<String>> {
        guarded(|| {
            let state = self.0.clone();
            promised(move || {
                let statements: Vec<Statement> = parsed(&statements)?;
                let mut state = state.lock();
                let state = state.as_mut().ok_or(sqlite::Error::from(sqlite::Kind::Closed))?;
                let connection = state.opened()?;
                let busy = busy_ms.map(|ms| std::time::Duration::from_millis(ms.into()));
                connection.busy_timeout(busy.unwrap_or(BUSY_TIMEOUT)).map_err(sqlite::Error::from)?;
                let rows = sqlite::run(connection, &statements, writes)?;
                json(&serde_json::json!({ "rows": rows, "setAside": state.set_aside.take() }))
            })
        })
    }

    /// Closes the file; whatever is asked afterwards fails.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> Result<Promise<()>> {
        guarded(|| {
            let state = self.0.clone();
            Ok(blocking(None, move |_| {
                *state.lock() = None;
                Ok(())
            }))
        })
    }
}

impl State {
    fn opened(&mut self) -> std::result::Result<&Connection, sqlite::Error> {
        let connection = if let Some(open) = self.connection.take() {
            open
        } else {
            let columns: Vec<(&str, Vec<&str>)> = self
                .tables
                .columns
                .iter()
                .map(|(table, columns)| (table.as_str(), columns.iter().map(String::as_str).collect()))
                .collect();
            let tables: Vec<(&str, &[&str])> =
                columns.iter().map(|(table, columns)| (*table, columns.as_slice())).collect();
            let create = &self.tables.create;
            let schema = Schema { tables: &tables, create, set_up: |_| Ok(()), version: None };
            let opened = sqlite::open(&self.path, &schema)?;
            self.set_aside = opened.set_aside.map(|path| path.display().to_string());
            opened.connection
        };
        Ok(self.connection.insert(connection))
    }
}
