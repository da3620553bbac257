//! Reading: sessions, pages of their messages, lists, and messages by their words. Each in one snapshot.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use super::rows::{Hit, ListQuery, Listed, Order, Page, SearchQuery, Sessions, Stamp, Stored, StoredMessage};
use super::words::index_words;
use super::{Connection, Error, Reading, Store, connection_of};
use crate::fault;
use crate::sessions::search::match_query;
use crate::sessions::sqlite::Kind;
use crate::sessions::sqlite::rusqlite::{self, OptionalExtension as _, Row, params};

/// Bytes of messages whose words are indexed at once: some tenths of a second, which one who adds meanwhile spends in the
/// queue; smaller parts are more commits.
const PART_BYTES: usize = 1 << 20;
const STAMP: &str = "number, version, revision, created_at, updated_at";
const MESSAGE: &str = "id, seq, place, live, summary, body, at";

impl Reading<'_> {
    /// A session as it is now.
    ///
    /// # Errors
    /// [`Kind`] says which.
    pub fn load(&self, namespace: &str, key: &str) -> Result<Option<Stored>, Error> {
        self.read(Some((namespace, key)), |reader| {
            fault::step();
            let sql = format!(
                "SELECT {STAMP}, prompt, fields, digest, compressions, tokens_saved
                 FROM sessions WHERE namespace = ?1 AND key = ?2"
            );
            let session = reader.prepare_cached(&sql)?.query_row([namespace, key], stored).optional()?;
            let Some(mut session) = session else { return Ok(None) };
            let sql =
                format!("SELECT {MESSAGE} FROM messages WHERE session = ?1 AND live = 1 ORDER BY place, seq");
            let mut messages = reader.prepare_cached(&sql)?;
            session.messages =
                messages.query_map([session.stamp.session], message)?.collect::<Result<_, _>>()?;
            Ok(Some(session))
        })
    }

    /// What a session is, without its messages.
    ///
    /// # Errors
    /// As [`Reading::load`].
    pub fn stamp(&self, namespace: &str, key: &str) -> Result<Option<Stamp>, Error> {
        self.read(Some((namespace, key)), |reader| {
            let sql = format!("SELECT {STAMP} FROM sessions WHERE namespace = ?1 AND key = ?2");
            Ok(reader.prepare_cached(&sql)?.query_row([namespace, key], stamp).optional()?)
        })
    }

    /// A page of the messages of a session, those let go too, in the order they were appended.
    ///
    /// # Errors
    /// As [`Reading::load`].
    pub fn page(&self, namespace: &str, key: &str, page: &Page) -> Result<Vec<StoredMessage>, Error> {
        let (after, order) = if page.newest { (None, "DESC") } else { (page.after, "ASC") };
        let sql = format!(
            "SELECT {MESSAGE} FROM messages
             WHERE session = (SELECT number FROM sessions WHERE namespace = ?1 AND key = ?2) AND seq > ?3
             ORDER BY seq {order} LIMIT ?4"
        );
        self.read(Some((namespace, key)), |reader| {
            let mut found = reader
                .prepare_cached(&sql)?
                .query_map(params![namespace, key, after.unwrap_or(i64::MIN), page.limit], message)?
                .collect::<Result<Vec<_>, _>>()?;
            if page.newest {
                found.reverse();
            }
            Ok(found)
        })
    }

    /// A page of sessions.
    ///
    /// # Errors
    /// As [`Reading::load`]; [`Kind::BadCursor`].
    pub fn list(&self, query: &ListQuery) -> Result<Sessions, Error> {
        let (condition, order) = match query.order {
            Order::Created => ("number > ?3", "number"),
            Order::Updated => ("(updated_at, number) < (?2, ?3)", "updated_at DESC, number DESC"),
        };
        let (time, number) = match (&query.cursor, query.order) {
            (Some(cursor), _) => parse_cursor(cursor).ok_or(Kind::BadCursor)?,
            (None, Order::Created) => (0, 0),
            (None, Order::Updated) => (i64::MAX, i64::MAX),
        };
        let sql = format!(
            "SELECT key, created_at, updated_at, fields, number,
                    (SELECT count(*) FROM messages WHERE session = number AND live = 1)
             FROM sessions WHERE namespace = ?1 AND {condition} AND (?2 IS NOT NULL) ORDER BY {order} LIMIT ?4"
        );
        self.read(None, |reader| {
            let rows = reader
                .prepare_cached(&sql)?
                .query_map(params![query.namespace, time, number, query.limit], |row| {
                    let fields: String = row.get(3)?;
                    let listed = Listed {
                        key: row.get(0)?,
                        created_at: row.get(1)?,
                        updated_at: row.get(2)?,
                        messages: row.get(5)?,
                        fields: fields_of(&fields),
                    };
                    Ok((listed, row.get::<_, i64>(4)?))
                })?
                .collect::<Result<Vec<_>, _>>()?;
            let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= query.limit);
            let cursor = rows
                .last()
                .filter(|_| is_full)
                .map(|(listed, number)| format!("{}.{number}", listed.updated_at));
            Ok(Sessions { sessions: rows.into_iter().map(|(listed, _)| listed).collect(), cursor })
        })
    }

    /// The newest messages that hold all phrases.
    ///
    /// # Errors
    /// As [`Reading::load`].
    pub fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        let Some(wanted) = match_query(&query.phrases) else { return Ok(Vec::new()) };
        if self.store.is_in_memory() {
            self.store.index_rest()?;
        }
        self.read(None, |reader| {
            fault::step();
            let mut hits = reader.prepare_cached(
                "SELECT sessions.key, messages.id, messages.body, messages.live
                 FROM message_words
                 JOIN messages ON messages.row = message_words.rowid
                 JOIN sessions ON sessions.number = messages.session
                 WHERE message_words MATCH ?1 AND sessions.namespace = ?2 AND (?3 IS NULL OR sessions.key = ?3)
                 ORDER BY message_words.rowid DESC LIMIT ?4",
            )?;
            let hits = hits.query_map(params![wanted, query.namespace, query.key, query.limit], |row| {
                Ok(Hit { key: row.get(0)?, id: row.get(1)?, body: row.get(2)?, is_live: row.get(3)? })
            })?;
            Ok(hits.collect::<Result<_, _>>()?)
        })
    }
}

impl Store {
    /// Indexes the words of what came since the last search. Whoever adds meanwhile waits for one part of it at most.
    fn index_rest(&self) -> Result<(), Error> {
        loop {
            self.open_now()?;
            let writer = self.writer.lock();
            self.settle(&writer, None)?;
            let is_done = self.index_part(connection_of(&writer)?)?;
            MutexGuard::unlock_fair(writer);
            if is_done {
                return Ok(());
            }
        }
    }

    /// True if no more is left.
    fn index_part(&self, connection: &Connection) -> Result<bool, Error> {
        let transaction = connection.unchecked_transaction()?;
        let mut newest = self.indexed.load(Ordering::Relaxed);
        let mut bytes = 0;
        {
            let mut rest = transaction
                .prepare_cached("SELECT row, body, summary FROM messages WHERE row > ?1 ORDER BY row")?;
            let mut rest = rest.query([newest])?;
            while bytes < PART_BYTES
                && let Some(row) = rest.next()?
            {
                fault::step();
                newest = row.get(0)?;
                let body = row.get_ref(1)?.as_str().unwrap_or_default();
                bytes += body.len();
                if !row.get::<_, bool>(2)? {
                    index_words(&transaction, newest, body)?;
                }
            }
        }
        transaction.commit()?;
        self.indexed.store(newest, Ordering::Relaxed);
        Ok(bytes < PART_BYTES)
    }
}

fn parse_cursor(cursor: &str) -> Option<(i64, i64)> {
    let (time, number) = cursor.split_once('.')?;
    Some((time.parse().ok()?, number.parse().ok()?))
}

/// The fields of a session; none where they cannot be read.
pub(super) fn fields_of(json: &str) -> BTreeMap<String, String> {
    serde_json::from_str(json).unwrap_or_default()
}

fn stamp(row: &Row<'_>) -> Result<Stamp, rusqlite::Error> {
    Ok(Stamp {
        session: row.get(0)?,
        version: row.get(1)?,
        revision: row.get(2)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
    })
}

fn stored(row: &Row<'_>) -> Result<Stored, rusqlite::Error> {
    let fields: String = row.get(6)?;
    Ok(Stored {
        stamp: stamp(row)?,
        prompt: row.get(5)?,
        fields: fields_of(&fields),
        digest: row.get(7)?,
        compressions: row.get(8)?,
        tokens_saved: row.get(9)?,
        messages: Vec::new(),
    })
}

fn message(row: &Row<'_>) -> Result<StoredMessage, rusqlite::Error> {
    Ok(StoredMessage {
        id: row.get(0)?,
        seq: row.get(1)?,
        place: row.get(2)?,
        is_live: row.get(3)?,
        is_summary: row.get(4)?,
        body: row.get(5)?,
        at: row.get(6)?,
    })
}
