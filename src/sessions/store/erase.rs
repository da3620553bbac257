//! Erases what is gone already but still stands in the file: messages of cleared sessions and their words, and what
//! retention takes. In transactions of some ms, with pauses, so that nobody here or in another process has to wait.

use std::time::{Duration, Instant};

use super::rows::Pruned;
use super::{Store, Transaction};
use crate::fault;
use crate::sessions::sqlite::rusqlite::{OptionalExtension as _, params};
use crate::sessions::sqlite::{Error, Kind};

/// Longest time of one transaction: others notice no more than a slow disk.
const SLICE: Duration = Duration::from_millis(20);
/// Rows deleted between two looks at the clock.
const ROWS: i64 = 64;
/// Rows looked at between two looks at the clock, where few are to be deleted.
const LOOKED_AT: i64 = 2048;
/// Pages of the index of words that are merged between two looks at the clock.
const MERGED_PAGES: i64 = 64;
/// To take a message's words out of the index, one by one and for good, takes about this many times as long as to write it
/// anew without them (`cargo test --release --lib what_is_cleared_is_erased -- --nocapture`).
const REWRITING_GAIN: i64 = 8;
/// Sessions taken from the list at once by retention.
const SESSIONS: i64 = 1000;

/// The work of one transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Slice {
    rows: i64,
    is_last: bool,
}

impl Store {
    /// Erases what is left of cleared sessions. Says how many messages that were.
    ///
    /// # Errors
    /// [`Kind`](crate::sessions::sqlite::Kind) says which; the next call or the next opening goes on.
    pub fn erase(&self) -> Result<i64, Error> {
        let is_read_only = self.writer.lock().as_ref().ok_or(Kind::Closed)?.is_readonly("main")?;
        if is_read_only { Ok(0) } else { self.in_slices(erase_some) }
    }

    /// Forgets sessions that nothing was done to since `before`, and what others let go before that.
    ///
    /// # Errors
    /// [`Kind`](crate::sessions::sqlite::Kind) says which; what was taken until then is gone.
    pub fn prune(&self, namespace: &str, before: i64) -> Result<Pruned, Error> {
        let statement = |name| self.dialect().find(name).unwrap_or_default();
        let mut messages = 0;
        let sessions = self.in_slices(|transaction| {
            let old = params![namespace, before, SESSIONS];
            let mut its = transaction.prepare_cached(statement("count_old"))?;
            messages += its.query_row(old, |row| row.get::<_, i64>(0))?;
            let rows = transaction.prepare_cached(statement("prune_sessions"))?.execute(old)?;
            let rows = count_of(rows);
            Ok(Slice { rows, is_last: rows < SESSIONS })
        })?;
        let mut next = 0;
        let let_go = self.in_slices(|transaction| {
            let looked_at = next;
            let mut gone = transaction.prepare_cached(statement("prune_let_go"))?;
            let rows =
                count_of(gone.execute(params![namespace, before, looked_at, looked_at + LOOKED_AT])?);
            next += LOOKED_AT;
            let newest: Option<i64> =
                transaction.query_row("SELECT max(number) FROM strata_message", [], |row| row.get(0))?;
            Ok(Slice { rows, is_last: newest.is_none_or(|newest| next >= newest) })
        })?;
        self.erase()?;
        Ok(Pruned { sessions, messages: messages + let_go })
    }

    /// Repeats `work` to its end, each time for [`SLICE`], and says how many rows it was about.
    fn in_slices(
        &self,
        mut work: impl FnMut(&Transaction<'_>) -> Result<Slice, Error>,
    ) -> Result<i64, Error> {
        let mut rows = 0;
        loop {
            let started = Instant::now();
            let slice = self.write(|transaction| {
                let mut rows = 0;
                loop {
                    fault::step();
                    let part = work(transaction)?;
                    rows += part.rows;
                    if part.is_last || started.elapsed() >= SLICE {
                        return Ok(Slice { rows, is_last: part.is_last });
                    }
                }
            });
            let slice = match slice {
                // Others write without a pause; this can wait.
                Err(error) if error.kind() == Kind::Locked => continue,
                outcome => outcome?,
            };
            rows += slice.rows;
            if slice.is_last {
                break;
            }
            // Who waits in another process looks again at times of its own.
            std::thread::sleep(started.elapsed() / 2);
        }
        if rows > 0 {
            self.checkpoint();
        }
        Ok(rows)
    }
}

fn count_of(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn erase_some(transaction: &Transaction<'_>) -> Result<Slice, Error> {
    let next = transaction
        .prepare_cached("SELECT session, bulk FROM strata_cleared ORDER BY session LIMIT 1")?
        .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<bool>>(1)?)))
        .optional()?;
    let Some((session, bulk)) = next else { return Ok(Slice { rows: 0, is_last: true }) };
    let bulk = bulk.map_or_else(|| is_bulk(transaction, session), Ok)?;
    if bulk {
        secure_words(transaction, false)?;
    }
    let mut gone = transaction.prepare_cached(
        "DELETE FROM strata_message WHERE number IN (SELECT number FROM strata_message WHERE session = ?1 LIMIT ?2)",
    )?;
    let rows = count_of(gone.execute([session, ROWS])?);
    if bulk {
        secure_words(transaction, true)?;
    }
    if rows < ROWS && (!bulk || is_merged(transaction)?) {
        transaction.prepare_cached("DELETE FROM strata_cleared WHERE session = ?1")?.execute([session])?;
    }
    Ok(Slice { rows, is_last: false })
}

/// Returns `true` if the session is so much of all that the index of words is better written anew, and notes that. In memory
/// there is no such index.
fn is_bulk(transaction: &Transaction<'_>, session: i64) -> Result<bool, Error> {
    let bulk = transaction.query_row(
        "WITH counted(its, total) AS (SELECT
             (SELECT count(*) FROM strata_message WHERE session = ?1), (SELECT count(*) FROM strata_message))
         UPDATE strata_cleared SET bulk = (SELECT its > ?2 AND its * ?3 > total FROM counted)
             AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'strata_words')
         WHERE session = ?1 RETURNING bulk",
        [session, ROWS, REWRITING_GAIN],
        |row| row.get(0),
    )?;
    Ok(bulk)
}

/// Says if deleted words are taken out of the index for good, or noted as deleted until it is written anew.
fn secure_words(transaction: &Transaction<'_>, is_secure: bool) -> Result<(), Error> {
    transaction
        .prepare_cached("INSERT INTO strata_words(strata_words, rank) VALUES ('secure-delete', ?1)")?
        .execute([is_secure])?;
    Ok(())
}

/// Writes some of the index anew; true if nothing was left to do.
fn is_merged(transaction: &Transaction<'_>) -> Result<bool, Error> {
    let changes = || transaction.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
    let before = changes()?;
    transaction
        .prepare_cached("INSERT INTO strata_words(strata_words, rank) VALUES ('merge', ?1)")?
        .execute([-MERGED_PAGES])?;
    // FTS5's own way to tell: a merge that had nothing to do changes less than two rows.
    Ok(changes()? - before < 2)
}
