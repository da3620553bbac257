//! From older tables to the newest, forward and in one transaction; and from a damaged file what its tables alone say.

use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::words::index_words;
use super::{Error, is_there, now_ms};
use crate::fault;
use crate::sessions::message::Said;
use crate::sessions::sqlite::rusqlite::{
    self, Connection, OptionalExtension as _, Transaction, TransactionBehavior, params,
};
use crate::sessions::sqlite::{Kind, salvage};

/// Of the tables in `tables.sql`.
const VERSION: i64 = 2;

/// The tables of version 1, which said neither namespace nor order, and kept a session's state as one text.
const CREATE_1: &str = "
    CREATE TABLE IF NOT EXISTS session(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS message(
        id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, position INTEGER NOT NULL,
        live INTEGER NOT NULL, body TEXT NOT NULL);";

/// Takes what an older version kept into the newest tables, under the lock of one transaction.
///
/// # Errors
/// [`Kind::Version`] where a newer version made the tables; what writing fails with.
pub(super) fn to_newest(connection: &Connection) -> Result<(), Error> {
    let version = |connection: &Connection| {
        connection.query_row("SELECT version FROM session_schema", [], |row| row.get::<_, i64>(0)).optional()
    };
    match version(connection)? {
        Some(VERSION) => return Ok(()),
        Some(newer) if newer > VERSION => return Err(Kind::Version.into()),
        _ => {}
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)?.is_none() {
        if is_there(&transaction, "session", "state")? {
            from_1(&transaction)?;
        }
        transaction.execute("INSERT INTO session_schema(version) VALUES (?1)", [VERSION])?;
    }
    transaction.commit()?;
    Ok(())
}

/// Makes whole what was salvaged table by table: sessions for messages that lost theirs, words for all. Of a file of
/// version 1, its tables are salvaged first. Says how many messages there are.
///
/// # Errors
/// What writing fails with.
pub(super) fn after_salvage(aside: &Path, connection: &Connection) -> Result<u64, Error> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute("DELETE FROM session_schema", [])?;
    transaction.execute_batch(CREATE_1)?;
    let old = salvage(aside, &transaction, &["session", "message"])?;
    if old > 0 {
        transaction.execute_batch(
            "INSERT OR IGNORE INTO session(id, key, state)
             SELECT DISTINCT session, '\"recovered session ' || session || '\"', '{}' FROM message
             WHERE session NOT IN (SELECT id FROM session)",
        )?;
        from_1(&transaction)?;
    } else {
        transaction.execute_batch("DROP TABLE session; DROP TABLE message")?;
        transaction.execute("INSERT INTO session_schema(version) VALUES (?1)", [VERSION])?;
        transaction.execute(
            "INSERT OR IGNORE INTO sessions(number, namespace, key, created_at, updated_at, version, last_seq)
             SELECT session, '', '\"recovered session ' || session || '\"', min(at), max(at), 1, max(seq) FROM messages
             WHERE session NOT IN (SELECT number FROM sessions) GROUP BY session",
            [],
        )?;
        let mut rows = transaction.prepare("SELECT row, body FROM messages WHERE summary = 0")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            index_words(&transaction, row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default())?;
        }
    }
    if old > 0 {
        transaction.execute("INSERT INTO session_schema(version) VALUES (?1)", [VERSION])?;
    }
    let salvaged = transaction.query_row("SELECT count(*) FROM messages", [], |row| row.get::<_, i64>(0))?;
    transaction.commit()?;
    Ok(u64::try_from(salvaged).unwrap_or(0))
}

struct Old {
    id: i64,
    key: String,
    state: String,
}

fn from_1(transaction: &Transaction<'_>) -> Result<(), Error> {
    let sessions = transaction
        .prepare("SELECT id, key, state FROM session ORDER BY id")?
        .query_map([], |row| Ok(Old { id: row.get(0)?, key: row.get(1)?, state: row.get(2)? }))?
        .collect::<Result<Vec<_>, _>>()?;
    for session in &sessions {
        fault::step();
        session_from_1(transaction, session)?;
    }
    transaction.execute_batch("DROP TABLE IF EXISTS message_text; DROP TABLE message; DROP TABLE session")?;
    Ok(())
}

fn session_from_1(transaction: &Transaction<'_>, old: &Old) -> Result<(), rusqlite::Error> {
    let state: Value = serde_json::from_str(&old.state).unwrap_or_default();
    let metadata = state.get("metadata").cloned().unwrap_or_default();
    let field = |name: &str| metadata.get(name).filter(|value| value.is_string()).map(Value::to_string);
    let fields = ["goal", "planId"].iter().filter_map(|name| Some(((*name).to_owned(), field(name)?)));
    let fields: std::collections::BTreeMap<String, String> = fields.collect();
    let number = |name: &str| state.get(name).and_then(Value::as_i64).unwrap_or(0);
    let now = now_ms();
    let created = time_ms(metadata.get("createdAt")).unwrap_or(now);
    let updated = time_ms(metadata.get("updatedAt")).unwrap_or(created);
    transaction.execute(
        "INSERT OR REPLACE INTO sessions(number, namespace, key, fields, digest, compressions, tokens_saved,
                                         created_at, updated_at)
         VALUES (?1, '', ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            old.id,
            old.key,
            serde_json::to_string(&fields).unwrap_or_else(|_| "{}".to_owned()),
            state.get("digest").and_then(Value::as_str).unwrap_or_default(),
            number("compressions"),
            number("tokensSaved"),
            created,
            updated
        ],
    )?;
    let mut messages = transaction
        .prepare_cached("SELECT id, position, live, body FROM message WHERE session = ?1 ORDER BY id")?;
    let mut messages = messages.query([old.id])?;
    let mut last = 0;
    let mut prompt: Option<String> = None;
    while let Some(row) = messages.next()? {
        let (id, position, live): (i64, i64, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Ok(entry) = serde_json::from_str::<Entry<'_>>(row.get_ref(3)?.as_str().unwrap_or_default())
        else {
            continue;
        };
        let is_summary = entry.is_summary;
        let body = with_id(entry.message, id);
        if prompt.is_none() && Said::from_json(&body).role == "system" {
            prompt = Some(body);
            continue;
        }
        last = last.max(id);
        transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO messages(session, id, seq, place, live, summary, at, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![old.id, format!("v1-{id}"), id, position, live, is_summary, updated, body])?;
        last = last.max(position);
        if !is_summary {
            index_words(transaction, transaction.last_insert_rowid(), &body)?;
        }
    }
    transaction
        .prepare_cached("UPDATE sessions SET prompt = ?2, last_seq = ?3, version = 1 WHERE number = ?1")?
        .execute(params![old.id, prompt, last])?;
    Ok(())
}

/// A message of version 1. Its JSON is passed on as it is: JavaScript may have written half surrogate pairs.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(default)]
    is_summary: bool,
}

fn with_id(message: &RawValue, id: i64) -> String {
    let fields = message.get().trim_start().strip_prefix('{').unwrap_or("}");
    format!("{{\"id\":\"v1-{id}\",{fields}")
}

fn time_ms(value: Option<&Value>) -> Option<i64> {
    let time = humantime::parse_rfc3339_weak(value?.as_str()?).ok()?;
    i64::try_from(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis()).ok()
}
