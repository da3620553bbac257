//! Changes: each call of `apply` is one transaction.

use std::sync::atomic::Ordering;

use super::change::{Changing, Sql};
use super::rows::{Change, Operation, Outcome, Pruned};
use super::words::{delete_row, delete_session, numbers};
use super::{Error, Store, now_ms};
use crate::fault;
use crate::sessions::sqlite::rusqlite::{Transaction, params};

impl Store {
    /// Commits all operations or none; one outcome for each.
    ///
    /// # Errors
    /// [`Kind`](crate::sessions::sqlite::Kind) says which; nothing is changed then.
    pub fn apply(&self, operations: &[Operation]) -> Result<Vec<Outcome>, Error> {
        let outcomes =
            self.write(Some(operations), |transaction| apply_all(&self.changing(transaction), operations))?;
        if operations.iter().any(|(_, _, change)| matches!(change, Change::Clear {} | Change::Delete { .. }))
        {
            self.checkpoint();
        }
        Ok(outcomes)
    }

    /// `apply` for a caller that cannot wait. What was deleted stays in a file's log until the next `apply` that deletes.
    ///
    /// # Errors
    /// [`Kind::Locked`](crate::sessions::sqlite::Kind::Locked) at once where another process writes; else as [`Store::apply`].
    pub fn apply_now(&self, operations: &[Operation]) -> Result<Vec<Outcome>, Error> {
        self.write_now(operations, |transaction| apply_all(&self.changing(transaction), operations))
    }

    /// To change sessions with, in `transaction`.
    pub(super) fn changing<'a>(&'a self, transaction: &'a Transaction<'a>) -> Changing<'a> {
        Changing {
            transaction,
            now: now_ms(),
            indexes: !self.is_in_memory(),
            indexed: self.indexed(),
            next_row: self.is_in_memory().then_some(&self.next_row),
        }
    }

    /// Forgets sessions that nothing was done to since `before`, and what others let go before that.
    ///
    /// # Errors
    /// [`Kind`](crate::sessions::sqlite::Kind) says which; nothing is changed then.
    pub fn prune(&self, namespace: &str, before: i64) -> Result<Pruned, Error> {
        let pruned = self.write(None, |transaction| {
            let mut pruned = Pruned::default();
            let sql = "SELECT number FROM sessions WHERE namespace = ?1 AND updated_at < ?2";
            for number in numbers(transaction, sql, params![namespace, before])? {
                let count = "SELECT count(*) FROM messages WHERE session = ?1";
                pruned.messages += transaction.query_row(count, [number], |row| row.get::<_, i64>(0))?;
                delete_session(transaction, number, self.indexed())?;
                pruned.sessions += 1;
            }
            let sql = "SELECT row FROM messages WHERE live = 0 AND at < ?2
                       AND session IN (SELECT number FROM sessions WHERE namespace = ?1)";
            for row in numbers(transaction, sql, params![namespace, before])? {
                delete_row(transaction, row, self.indexed())?;
                pruned.messages += 1;
            }
            Ok(pruned)
        })?;
        self.checkpoint();
        Ok(pruned)
    }

    /// The newest row whose words are in the index.
    fn indexed(&self) -> i64 {
        if self.is_in_memory() { self.indexed.load(Ordering::Relaxed) } else { i64::MAX }
    }

    /// Takes the log into the file and empties it, so that nothing of what was deleted stays on disk. Where another
    /// process reads just now, its own end or the next checkpoint does that.
    fn checkpoint(&self) {
        if !self.is_in_memory()
            && let Ok(writer) = super::connection_of(&self.writer.lock())
        {
            let _ = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

fn apply_all(change: &Changing<'_>, operations: &[Operation]) -> Result<Vec<Outcome>, Error> {
    let outcomes = operations.iter().map(|(namespace, key, operation)| {
        fault::step();
        change.apply(namespace, key, operation)
    });
    Ok(outcomes.collect::<Sql<_>>()?)
}
