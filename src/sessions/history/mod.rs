//! Conversations in a database of the host's: appended in order, read back newest first.
//!
//! What becomes of the messages (compressing, assembling) is the business of whoever asks. A host may have made the
//! tables itself, under other names and with more columns: only what is read or written must be there.

mod tables;

use crate::fault;
use crate::sessions::sqlite::{self, Error, rusqlite};
use rusqlite::types::{Value, ValueRef};
use std::time::Duration;

pub use self::tables::Tables;
use self::tables::{Columns, kind_column};

/// The time of a row: UTC, to the millisecond, sortable as text.
const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
/// Time for which the row of an event waits for another process: nobody's task is to wait for bookkeeping.
const RECORD_TIMEOUT: Duration = Duration::from_millis(250);

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: rusqlite::Connection,
    tables: Tables,
    columns: Columns,
}

/// The name of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatId {
    /// A whole number, as Telegram's.
    Number(i64),
    /// Anything else.
    Text(String),
}

impl ChatId {
    fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Integer(*number),
            Self::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// A message about to be stored.
#[derive(Clone, Debug)]
pub struct NewRow {
    /// The conversation.
    pub chat_id: ChatId,
    /// Who speaks.
    pub role: String,
    /// The text.
    pub text: String,
    /// The rest beside text, as JSON.
    pub extra: Option<String>,
}

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Who speaks.
    pub role: String,
    /// The text.
    pub text: String,
    /// The rest beside text, as JSON.
    pub extra: Option<String>,
}

/// The rows that were read of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newest {
    /// The messages, oldest first.
    pub rows: Vec<Row>,
    /// Rows that are no messages (no role, no text, bytes that are none) and were passed over.
    pub skipped: u32,
}

impl History {
    /// Opens or makes the history at `location`; says where a damaged file was put, if there was one.
    ///
    /// # Errors
    /// As [`sqlite::open`].
    pub fn open(location: &str, tables: Tables) -> Result<(Self, Option<std::path::PathBuf>), Error> {
        let create = tables.create();
        let wanted = tables.wanted();
        let (set_up, version) = (|_: &rusqlite::Connection| Ok(()), None);
        let schema = sqlite::Schema { tables: &wanted, create: &create, set_up, version, joins_others: true };
        let opened = sqlite::open(location, &schema)?;
        let connection = opened.connection;
        let columns = Columns::of(&connection, &tables.history)?;
        Ok((Self { connection, tables, columns }, opened.set_aside))
    }

    /// Stores rows in one transaction and returns their ids: all of them or, on an error, none.
    ///
    /// # Errors
    /// Locked, read-only, full, damaged; foreign where a row has more than text and the host's table no column for it.
    pub fn append(&self, rows: &[NewRow]) -> Result<Vec<i64>, Error> {
        let history = &self.tables.history;
        let has_extra = self.columns.has("extra");
        if !has_extra && rows.iter().any(|row| row.extra.is_some()) {
            return Err(Error::foreign(format!(
                "its table {history} has no column for tool calls and images; ALTER TABLE {history} ADD COLUMN extra TEXT"
            )));
        }
        let transaction = self.begin()?;
        let ids = {
            let (created_column, now) = if self.columns.has("created_at") {
                (", created_at", format!(", {NOW}"))
            } else {
                ("", String::new())
            };
            let (extra_column, extra) = if has_extra { (", extra", ", ?4") } else { ("", "") };
            let mut insert = transaction.prepare_cached(&format!(
                "INSERT INTO \"{history}\"(chat_id, role, text{extra_column}{created_column})
                 VALUES (?1, ?2, ?3{extra}{now})"
            ))?;
            let ids = rows.iter().map(|row| {
                fault::step();
                let chat_id = row.chat_id.value();
                if has_extra {
                    insert.insert((chat_id, &row.role, &row.text, &row.extra))
                } else {
                    insert.insert((chat_id, &row.role, &row.text))
                }
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
    pub fn newest(&self, chat_id: &ChatId, limit: u32) -> Result<Newest, Error> {
        let mut newest = Newest::default();
        let extra = if self.columns.has("extra") { "extra" } else { "NULL" };
        let history = &self.tables.history;
        let mut select = self.connection.prepare_cached(&format!(
            "SELECT role, text, {extra} FROM \"{history}\" WHERE chat_id = ?1 ORDER BY id DESC"
        ))?;
        let mut rows = select.query([chat_id.value()])?;
        while newest.rows.len() < limit as usize {
            let Some(row) = rows.next()? else { break };
            match (text(row.get_ref(0)?), text(row.get_ref(1)?)) {
                (Some(role), Some(said)) => {
                    newest.rows.push(Row { role, text: said, extra: text(row.get_ref(2)?) });
                }
                _ => newest.skipped = newest.skipped.saturating_add(1),
            }
        }
        newest.rows.reverse();
        Ok(newest)
    }

    /// Stores an event with its JSON payload. Waits for other processes for a moment only.
    ///
    /// # Errors
    /// Locked, read-only, full, damaged; foreign where the host's table of events cannot take it.
    pub fn record(&self, kind: &str, chat_id: Option<&ChatId>, payload: &str) -> Result<(), Error> {
        self.connection.busy_timeout(RECORD_TIMEOUT)?;
        let recorded = self.record_now(kind, chat_id, payload);
        self.connection.busy_timeout(sqlite::BUSY_TIMEOUT)?;
        recorded
    }

    fn record_now(&self, kind: &str, chat_id: Option<&ChatId>, payload: &str) -> Result<(), Error> {
        let transaction = self.begin()?;
        let events = &self.tables.events;
        let mut columns = Columns::of(&transaction, events)?;
        if columns.is_empty() {
            transaction.execute_batch(&self.tables.create_events())?;
            columns = Columns::of(&transaction, events)?;
        }
        let kind_column = kind_column(&columns, events)?;
        let mut names = vec![kind_column, "payload"];
        let mut values = vec![Value::Text(kind.into()), Value::Text(payload.into())];
        if columns.has("chat_id") {
            names.push("chat_id");
            values.push(chat_id.map_or(Value::Null, ChatId::value));
        }
        let now = if columns.has("created_at") {
            (", created_at", format!(", {NOW}"))
        } else {
            ("", String::new())
        };
        let marks = vec!["?"; values.len()].join(", ");
        let insert =
            format!("INSERT INTO \"{events}\"({}{}) VALUES ({marks}{})", names.join(", "), now.0, now.1);
        transaction.prepare_cached(&insert)?.execute(rusqlite::params_from_iter(values))?;
        fault::step();
        transaction.commit()?;
        Ok(())
    }

    /// A transaction that takes the write lock at once: waiting for it later could fail half-way.
    fn begin(&self) -> Result<rusqlite::Transaction<'_>, Error> {
        Ok(rusqlite::Transaction::new_unchecked(&self.connection, rusqlite::TransactionBehavior::Immediate)?)
    }
}

/// A value that is text, in UTF-8.
fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::sqlite::{Connection, IN_MEMORY, Kind};
    use std::path::PathBuf;

    fn row(chat_id: i64, text: &str) -> NewRow {
        NewRow { chat_id: ChatId::Number(chat_id), role: "user".into(), text: text.into(), extra: None }
    }

    fn texts(history: &History, chat_id: i64, limit: u32) -> Vec<String> {
        newest(history, chat_id, limit).rows.into_iter().map(|row| row.text).collect()
    }

    fn newest(history: &History, chat_id: i64, limit: u32) -> Newest {
        history.newest(&ChatId::Number(chat_id), limit).expect("reads")
    }

    fn open(location: &str) -> History {
        History::open(location, Tables::default()).expect("opens").0
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
        let history = open(IN_MEMORY);
        let ids = history.append(&[row(1, "a"), row(2, "b"), row(1, "c"), row(1, "d")]).expect("stores");
        assert_eq!(ids, [1, 2, 3, 4]);
        assert_eq!(texts(&history, 1, 2), ["c", "d"]);
        assert_eq!(texts(&history, 2, 9), ["b"]);
        assert!(texts(&history, -7, 9).is_empty());
    }

    #[test]
    fn the_newest_are_found_by_the_index() {
        let history = open(IN_MEMORY);
        let plan: String = history
            .connection
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
        let history = open(file.location());
        history.append(&[row(5, "after")]).expect("stores");
        assert_eq!(texts(&history, 5, 9), ["before", "after"]);
        host.execute_batch("DROP TABLE history; CREATE TABLE history(id, visited_url)").expect("creates");
        assert_eq!(
            History::open(file.location(), Tables::default()).map_err(|error| error.kind()).err(),
            Some(Kind::Foreign)
        );
    }

    #[test]
    fn a_failed_batch_leaves_nothing_behind() {
        let history = open(IN_MEMORY);
        history.append(&[row(1, "a")]).expect("stores");
        history.connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())).expect("limits");
        let rows = [row(1, "b"), row(1, &"x".repeat(1 << 20))];
        assert_eq!(history.append(&rows).map_err(|error| error.kind()).err(), Some(Kind::Full));
        assert_eq!(texts(&history, 1, 9), ["a"]);
    }

    #[test]
    fn rows_that_are_no_messages_are_passed_over() {
        let history = open(IN_MEMORY);
        history
            .connection
            .execute_batch(
                "CREATE TABLE other(id INTEGER PRIMARY KEY, chat_id, role, text);
                 INSERT INTO other(chat_id, role, text) VALUES (1, 'user', 'a'), (1, NULL, 'b'), (1, 'user', x'ff'),
                    (1, 'user', 7), (1, 'user', CAST(x'ff' AS TEXT)), (1, 'user', 'z');",
            )
            .expect("creates");
        let tables = Tables { history: "other".into(), ..Tables::default() };
        let columns = Columns::of(&history.connection, "other").expect("reads");
        let history = History { tables, columns, ..history };
        let read = newest(&history, 1, 2);
        assert_eq!((texts(&history, 1, 2), read.skipped), (vec!["a".to_owned(), "z".to_owned()], 4));
    }

    #[test]
    fn an_events_table_of_the_host_is_used_or_left_alone() {
        let columns = [
            "id INTEGER PRIMARY KEY, chat_id, event_type, payload",
            "id, type TEXT, payload TEXT",
            "id, what",
        ];
        for (given, fits) in columns.into_iter().zip([true, true, false]) {
            let file = File::new("events");
            let host = Connection::open(&file.0).expect("opens");
            host.execute_batch(&format!("CREATE TABLE events({given})")).expect("creates");
            let history = open(file.location());
            history.append(&[row(5, "a")]).expect("stores");
            assert_eq!(texts(&history, 5, 9), ["a"]);
            let recorded = history.record("context.compressed", Some(&ChatId::Number(5)), "{}");
            assert_eq!(
                recorded.map_err(|error| error.kind()).err(),
                (!fits).then_some(Kind::Foreign),
                "{given}"
            );
        }
    }

    #[test]
    fn numbers_and_texts_are_chats_of_their_own() {
        let history = open(IN_MEMORY);
        let of = |text: &str| NewRow { chat_id: ChatId::Text(text.into()), ..row(0, text) };
        history.append(&[row(7, "number"), of("007"), of("7a")]).expect("stores");
        assert_eq!(texts(&history, 7, 9), ["number"]);
        let read = history.newest(&ChatId::Text("007".into()), 9).expect("reads");
        assert_eq!(read.rows.len(), 1);
    }
}
