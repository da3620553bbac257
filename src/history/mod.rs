//! Conversations in a database of the host's: appended in order, read back newest first.
//!
//! The tables are `history` and `events`. Compressing and assembling what was read is the caller's business. A host may
//! have made `history` itself, with more columns than these.

use crate::fault;
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
            let ids = rows.iter().map(|row| {
                fault::step();
                insert.insert((row.chat_id, &row.role, &row.text))
            });
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
        fault::step();
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that takes the write lock at once: waiting for it later could fail half-way.
    fn begin(&self) -> Result<rusqlite::Transaction<'_>, Error> {
        Ok(rusqlite::Transaction::new_unchecked(&self.0, rusqlite::TransactionBehavior::Immediate)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{Connection, IN_MEMORY, Kind};
    use std::path::PathBuf;

    fn row(chat_id: i64, text: &str) -> NewRow {
        NewRow { chat_id, role: "user".into(), text: text.into() }
    }

    fn texts(history: &History, chat_id: i64, limit: u32) -> Vec<String> {
        history.newest(chat_id, limit).expect("reads").into_iter().map(|row| row.text).collect()
    }

    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("pi-strata-{}-{name}.db", std::process::id())))
        }

        fn location(&self) -> &str {
            self.0.to_str().expect("UTF-8")
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn the_newest_come_in_reading_order_and_chats_stay_apart() {
        let (history, _) = History::open(IN_MEMORY).expect("opens");
        let ids = history.append(&[row(1, "a"), row(2, "b"), row(1, "c"), row(1, "d")]).expect("stores");
        assert_eq!(ids, [1, 2, 3, 4]);
        assert_eq!(texts(&history, 1, 2), ["c", "d"]);
        assert_eq!(texts(&history, 2, 9), ["b"]);
        assert!(texts(&history, -7, 9).is_empty());
    }

    #[test]
    fn the_newest_are_found_by_the_index() {
        let (history, _) = History::open(IN_MEMORY).expect("opens");
        let plan: String = history
            .0
            .query_row(
                "EXPLAIN QUERY PLAN SELECT role FROM history WHERE chat_id = 1 ORDER BY id DESC LIMIT 2",
                [],
                |row| row.get(3),
            )
            .expect("a plan");
        assert!(plan.contains("history_by_chat"), "{plan}");
    }

    #[test]
    fn a_table_the_host_made_is_joined_and_one_of_another_shape_is_refused() {
        let file = File::new("joined");
        let host = Connection::open(&file.0).expect("opens");
        host.execute_batch(
            "CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id INTEGER, role TEXT, text TEXT,
                created_at TEXT DEFAULT CURRENT_TIMESTAMP, seen INTEGER DEFAULT 0);
             INSERT INTO history(chat_id, role, text) VALUES (5, 'user', 'before');",
        )
        .expect("creates");
        let (history, _) = History::open(file.location()).expect("joins");
        history.append(&[row(5, "after")]).expect("stores");
        assert_eq!(texts(&history, 5, 9), ["before", "after"]);
        host.execute_batch("DROP TABLE history; CREATE TABLE history(id, visited_url)").expect("creates");
        assert_eq!(History::open(file.location()).map_err(|error| error.kind()).err(), Some(Kind::Foreign));
    }

    #[test]
    fn a_failed_batch_leaves_nothing_behind() {
        let (history, _) = History::open(IN_MEMORY).expect("opens");
        history.append(&[row(1, "a")]).expect("stores");
        history.0.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())).expect("limits");
        let rows = [row(1, "b"), row(1, &"x".repeat(1 << 20))];
        assert_eq!(history.append(&rows).map_err(|error| error.kind()).err(), Some(Kind::Full));
        assert_eq!(texts(&history, 1, 9), ["a"]);
    }
}
