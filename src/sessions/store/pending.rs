//! In memory: messages that were appended and stand in no table yet. Whoever reads, or changes their session in another way,
//! has them written first, so that many appends are one change of the tables. A file never waits: there every commit counts.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use super::change::{Changing, Head, Row, Sql};
use super::rows::{NewMessage, Stamp};
use super::{Error, Slot, Store, connection_of, now_ms};
use crate::sessions::sqlite::Kind;
use crate::sessions::sqlite::rusqlite::{Transaction, TransactionBehavior};

/// Messages that may wait; with more, a session that is appended to is written at once.
const MAX_MESSAGES: usize = 1 << 14;

/// A session's namespace and key.
pub(super) type Name<'a> = (&'a str, &'a str);

/// What waits, by namespace and key.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sessions: HashMap<String, HashMap<String, Appended>>,
    messages: usize,
}

/// A session that was appended to: what it is with the messages, and they.
#[derive(Debug)]
struct Appended {
    head: Head,
    messages: Vec<Waiting>,
}

/// A row to be. Its number is given at once, because a search tells by it what was appended last.
#[derive(Debug)]
struct Waiting {
    row: i64,
    seq: i64,
    at: i64,
    message: NewMessage,
}

impl Pending {
    fn find(&mut self, namespace: &str, key: &str) -> Option<&mut Appended> {
        self.sessions.get_mut(namespace)?.get_mut(key)
    }
}

impl Store {
    /// Appends, in memory, a message whose id no other message of the session has. The session afterwards, and the
    /// message's place in it.
    ///
    /// # Errors
    /// [`Kind::Locked`] where another thread works with the tables; [`Kind::Other`] of a file.
    pub fn append_new(&self, namespace: &str, key: &str, message: NewMessage) -> Result<(Stamp, i64), Error> {
        if !self.is_in_memory() {
            return Err(Kind::Other.into());
        }
        let writer = self.writer_now()?;
        let mut pending = self.pending.lock();
        if pending.find(namespace, key).is_none() {
            let head = self.head_of(&writer, namespace, key)?;
            let appended = Appended { head, messages: Vec::new() };
            pending.sessions.entry(namespace.to_owned()).or_default().insert(key.to_owned(), appended);
        }
        let appended = pending.find(namespace, key).ok_or(Kind::Other)?;
        let head = &mut appended.head;
        head.last_seq += 1;
        head.stamp.version += 1;
        head.stamp.updated_at = now_ms();
        let (stamp, seq) = (head.stamp, head.last_seq);
        let row = self.next_row.fetch_add(1, Ordering::Relaxed);
        appended.messages.push(Waiting { row, seq, at: stamp.updated_at, message });
        pending.messages += 1;
        let is_full = pending.messages >= MAX_MESSAGES;
        drop(pending);
        if is_full {
            self.settle(&writer, Some(&[(namespace, key)]))?;
        }
        Ok((stamp, seq))
    }

    fn head_of(&self, writer: &MutexGuard<'_, Slot>, namespace: &str, key: &str) -> Result<Head, Error> {
        let connection = connection_of(writer)?;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let change = self.changing(&transaction);
        let head = change.head(namespace, key).and_then(|head| change.or_new(head, namespace, key))?;
        transaction.commit()?;
        Ok(head)
    }

    /// Writes what waits into the tables: of the sessions named, or of all.
    pub(super) fn settle(
        &self,
        writer: &MutexGuard<'_, Slot>,
        sessions: Option<&[Name<'_>]>,
    ) -> Result<(), Error> {
        let mut pending = self.pending.lock();
        if pending.messages == 0 {
            return Ok(());
        }
        let owned = |(namespace, key): &Name<'_>| ((*namespace).to_owned(), (*key).to_owned());
        let names: Vec<(String, String)> = if let Some(sessions) = sessions {
            sessions.iter().map(owned).collect()
        } else {
            let all = pending.sessions.iter();
            all.flat_map(|(space, keys)| keys.keys().map(|key| (space.clone(), key.clone()))).collect()
        };
        let transaction = Transaction::new_unchecked(connection_of(writer)?, TransactionBehavior::Immediate)?;
        let change = self.changing(&transaction);
        for (namespace, key) in &names {
            if let Some(appended) = pending.find(namespace, key) {
                write_down(&change, appended)?;
            }
        }
        transaction.commit()?;
        for (namespace, key) in &names {
            let gone = pending.sessions.get_mut(namespace).and_then(|keys| keys.remove(key));
            pending.messages -= gone.map_or(0, |appended| appended.messages.len());
        }
        Ok(())
    }
}

fn write_down(change: &Changing<'_>, Appended { head, messages }: &Appended) -> Sql<()> {
    for Waiting { row, seq, at, message } in messages {
        change.insert_as(Some(*row), head, Row::appended(message, *seq, *at))?;
    }
    change.write_head(head.stamp, head.last_seq)
}
