//! One change to one session, within the transaction of its caller.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use super::NewMessage;
use super::rows::{Change, ImportedMessage, ImportedState, Outcome, Stamp, SummaryRow};
use super::words::{delete_row, delete_session, index_words};
use crate::sessions::sqlite::rusqlite::{self, OptionalExtension as _, Transaction, params};

pub(super) type Sql<T> = Result<T, rusqlite::Error>;

/// A session as the statements here need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) stamp: Stamp,
    pub(super) last_seq: i64,
}

/// A transaction under way.
pub(super) struct Changing<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    /// ms since 1970.
    pub(super) now: i64,
    /// Whether words are indexed with each message.
    pub(super) indexes: bool,
    /// The newest row whose words are in the index.
    pub(super) indexed: i64,
    /// In memory: the number of the next row. Some are given before their rows are written.
    pub(super) next_row: Option<&'a AtomicI64>,
}

impl Changing<'_> {
    pub(super) fn apply(&self, namespace: &str, key: &str, change: &Change) -> Sql<Outcome> {
        let head = self.head(namespace, key)?;
        match change {
            Change::Append { messages } => {
                let head = self.or_new(head, namespace, key)?;
                self.append(head, messages)
            }
            Change::Fields { fields, prompt, prompt_if_absent } => {
                let head = self.or_new(head, namespace, key)?;
                self.set_fields(head, fields, prompt.as_deref(), *prompt_if_absent)
            }
            Change::Compress { session, revision, let_go, forget, summary, digest, tokens_saved } => {
                match head {
                    Some(head) if (head.stamp.session, head.stamp.revision) == (*session, *revision) => {
                        self.compress(head, let_go, *forget, summary, digest, *tokens_saved)
                    }
                    _ => Ok(unchanged(head)),
                }
            }
            Change::Delete { ids } => match head {
                Some(head) => self.delete(head, ids),
                None => Ok(Outcome::default()),
            },
            Change::Clear {} => match head {
                Some(head) => self.clear(head),
                None => Ok(Outcome::default()),
            },
            Change::Import { state, messages } => match head {
                Some(_) => Ok(unchanged(head)),
                None => self.import(namespace, key, state, messages),
            },
        }
    }

    pub(super) fn head(&self, namespace: &str, key: &str) -> Sql<Option<Head>> {
        self.transaction
            .prepare_cached(
                "SELECT number, version, revision, created_at, updated_at, last_seq
                 FROM sessions WHERE namespace = ?1 AND key = ?2",
            )?
            .query_row([namespace, key], |row| {
                let stamp = Stamp {
                    session: row.get(0)?,
                    version: row.get(1)?,
                    revision: row.get(2)?,
                    created_at: row.get(3)?,
                    updated_at: row.get(4)?,
                };
                Ok(Head { stamp, last_seq: row.get(5)? })
            })
            .optional()
    }

    pub(super) fn or_new(&self, head: Option<Head>, namespace: &str, key: &str) -> Sql<Head> {
        if let Some(head) = head {
            return Ok(head);
        }
        self.transaction
            .prepare_cached(
                "INSERT INTO sessions(namespace, key, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)",
            )?
            .execute(params![namespace, key, self.now])?;
        let session = self.transaction.last_insert_rowid();
        let stamp = Stamp { session, version: 0, revision: 0, created_at: self.now, updated_at: self.now };
        Ok(Head { stamp, last_seq: 0 })
    }

    /// Writes down what the session is after a change.
    fn changed(&self, head: Head) -> Sql<Stamp> {
        let stamp = Stamp { version: head.stamp.version + 1, updated_at: self.now, ..head.stamp };
        self.write_head(stamp, head.last_seq)?;
        Ok(stamp)
    }

    pub(super) fn write_head(&self, stamp: Stamp, last_seq: i64) -> Sql<()> {
        self.transaction
            .prepare_cached(
                "UPDATE sessions SET version = ?2, revision = ?3, updated_at = ?4, last_seq = ?5 WHERE number = ?1",
            )?
            .execute([stamp.session, stamp.version, stamp.revision, stamp.updated_at, last_seq])?;
        Ok(())
    }

    fn append(&self, mut head: Head, messages: &[NewMessage]) -> Sql<Outcome> {
        let mut seqs = Vec::with_capacity(messages.len());
        for message in messages {
            let seq = head.last_seq + 1;
            if self.insert(&head, Row::appended(message, seq, self.now))? {
                head.last_seq = seq;
                seqs.push(seq);
            } else {
                let there = self
                    .transaction
                    .prepare_cached("SELECT seq FROM messages WHERE session = ?1 AND id = ?2")?
                    .query_row(params![head.stamp.session, message.id], |row| row.get(0))?;
                seqs.push(there);
            }
        }
        let stamp = self.changed(head)?;
        Ok(Outcome { applied: true, stamp: Some(stamp), seqs: Some(seqs), prompt: None })
    }

    /// False if the id is there already.
    fn insert(&self, head: &Head, message: Row<'_>) -> Sql<bool> {
        let number = self.next_row.map(|next| next.fetch_add(1, Ordering::Relaxed));
        self.insert_as(number, head, message)
    }

    /// `insert` as the row of that number; of the next one without.
    pub(super) fn insert_as(&self, number: Option<i64>, head: &Head, message: Row<'_>) -> Sql<bool> {
        let Row { id, seq, place, at, body, flags } = message;
        let inserted = self
            .transaction
            .prepare_cached(
                "INSERT INTO messages(row, session, id, seq, place, live, summary, at, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(session, id) DO NOTHING",
            )?
            .execute(params![
                number,
                head.stamp.session,
                id,
                seq,
                place,
                flags.live,
                flags.summary,
                at,
                body
            ])?;
        if inserted > 0 && self.indexes && !flags.summary {
            index_words(self.transaction, self.transaction.last_insert_rowid(), body)?;
        }
        Ok(inserted > 0)
    }

    fn set_fields(
        &self,
        head: Head,
        changes: &BTreeMap<String, Option<String>>,
        prompt: Option<&str>,
        only_if_absent: bool,
    ) -> Sql<Outcome> {
        let (before, there): (String, Option<String>) = self
            .transaction
            .prepare_cached("SELECT fields, prompt FROM sessions WHERE number = ?1")?
            .query_row([head.stamp.session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut fields = super::read::fields_of(&before);
        for (name, value) in changes {
            match value {
                Some(value) => fields.insert(name.clone(), value.clone()),
                None => fields.remove(name),
            };
        }
        let keeps = only_if_absent && there.is_some();
        let prompt = if keeps { there } else { prompt.map(str::to_owned).or(there) };
        self.transaction
            .prepare_cached("UPDATE sessions SET fields = ?2, prompt = ?3 WHERE number = ?1")?
            .execute(params![head.stamp.session, to_json(&fields), prompt])?;
        let stamp = self.changed(head)?;
        let prompt = prompt.filter(|_| only_if_absent);
        Ok(Outcome { applied: true, stamp: Some(stamp), seqs: None, prompt })
    }

    fn compress(
        &self,
        mut head: Head,
        let_go: &[String],
        forget: bool,
        summary: &SummaryRow,
        digest: &str,
        tokens_saved: i64,
    ) -> Sql<Outcome> {
        let mut find = self
            .transaction
            .prepare_cached("SELECT row, place FROM messages WHERE session = ?1 AND id = ?2 AND live = 1")?;
        let mut place = None;
        for id in let_go {
            let found = find
                .query_row(params![head.stamp.session, id], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                })
                .optional()?;
            let Some((row, its_place)) = found else { continue };
            place = place.max(Some(its_place));
            if forget {
                delete_row(self.transaction, row, self.indexed)?;
            } else {
                self.transaction
                    .prepare_cached("UPDATE messages SET live = 0 WHERE row = ?1")?
                    .execute([row])?;
            }
        }
        head.last_seq += 1;
        head.stamp.revision += 1;
        let place = place.unwrap_or(head.last_seq);
        let row = Row {
            id: &summary.id,
            seq: head.last_seq,
            place,
            at: self.now,
            body: &summary.body,
            flags: Flags { live: true, summary: true },
        };
        self.insert(&head, row)?;
        self.transaction
            .prepare_cached(
                "UPDATE sessions SET digest = ?2, compressions = compressions + 1, tokens_saved = tokens_saved + ?3
                 WHERE number = ?1",
            )?
            .execute(params![head.stamp.session, digest, tokens_saved])?;
        let stamp = self.changed(head)?;
        Ok(Outcome { applied: true, stamp: Some(stamp), ..Outcome::default() })
    }

    fn delete(&self, mut head: Head, ids: &[String]) -> Sql<Outcome> {
        let mut find =
            self.transaction.prepare_cached("SELECT row FROM messages WHERE session = ?1 AND id = ?2")?;
        for id in ids {
            let row = find.query_row(params![head.stamp.session, id], |row| row.get(0)).optional()?;
            if let Some(row) = row {
                delete_row(self.transaction, row, self.indexed)?;
            }
        }
        head.stamp.revision += 1;
        let stamp = self.changed(head)?;
        Ok(Outcome { applied: true, stamp: Some(stamp), ..Outcome::default() })
    }

    fn clear(&self, head: Head) -> Sql<Outcome> {
        delete_session(self.transaction, head.stamp.session, self.indexed)?;
        Ok(Outcome { applied: true, ..Outcome::default() })
    }

    fn import(
        &self,
        namespace: &str,
        key: &str,
        state: &ImportedState,
        messages: &[ImportedMessage],
    ) -> Sql<Outcome> {
        let mut head = self.or_new(None, namespace, key)?;
        for message in messages {
            let &ImportedMessage { ref id, seq, place, ref body, is_live: live, is_summary: summary } =
                message;
            let flags = Flags { live, summary };
            self.insert(&head, Row { id, seq, place, at: self.now, body, flags })?;
            head.last_seq = head.last_seq.max(message.seq).max(message.place);
        }
        self.transaction
            .prepare_cached(
                "UPDATE sessions SET prompt = ?2, fields = ?3, digest = ?4, compressions = ?5, tokens_saved = ?6
                 WHERE number = ?1",
            )?
            .execute(params![
                head.stamp.session,
                state.prompt,
                to_json(&state.fields),
                state.digest,
                state.compressions,
                state.tokens_saved
            ])?;
        let stamp = self.changed(head)?;
        Ok(Outcome { applied: true, stamp: Some(stamp), ..Outcome::default() })
    }
}

/// A message as its table has it.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    id: &'a str,
    seq: i64,
    place: i64,
    /// When it was written, in ms since 1970.
    at: i64,
    body: &'a str,
    flags: Flags,
}

impl<'a> Row<'a> {
    /// A new one, behind all others.
    pub(super) fn appended(message: &'a NewMessage, seq: i64, at: i64) -> Self {
        let flags = Flags { live: true, summary: false };
        Self { id: &message.id, seq, place: seq, at, body: &message.body, flags }
    }
}

/// What kind of row a message is.
#[derive(Clone, Copy)]
struct Flags {
    live: bool,
    summary: bool,
}

fn unchanged(head: Option<Head>) -> Outcome {
    Outcome { stamp: head.map(|head| head.stamp), ..Outcome::default() }
}

fn to_json(fields: &BTreeMap<String, String>) -> String {
    serde_json::to_string(fields).unwrap_or_else(|_| "{}".to_owned())
}
