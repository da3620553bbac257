//! Rows of messages with their words: the index knows a word as long as a row has it, and no longer.

use super::change::Sql;
use crate::fault;
use crate::sessions::message::Said;
use crate::sessions::search::search_form;
use crate::sessions::sqlite::rusqlite::{self, OptionalExtension as _, Transaction, params};

/// What a statement gives in its only column.
pub(super) fn numbers(
    transaction: &Transaction<'_>,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Sql<Vec<i64>> {
    transaction.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect()
}

/// Indexes the words of the message that `body` holds.
pub(super) fn index_words(connection: &rusqlite::Connection, row: i64, body: &str) -> Sql<()> {
    let words = search_form(&Said::from_json(body).text);
    connection
        .prepare_cached("INSERT INTO message_words(rowid, words) VALUES (?1, ?2)")?
        .execute(params![row, words])?;
    Ok(())
}

/// Deletes a message with its words. Rows after `indexed` have none in the index.
pub(super) fn delete_row(transaction: &Transaction<'_>, row: i64, indexed: i64) -> Sql<()> {
    let found = transaction
        .prepare_cached("SELECT body, summary FROM messages WHERE row = ?1")?
        .query_row([row], |found| Ok((found.get::<_, String>(0)?, found.get::<_, bool>(1)?)))
        .optional()?;
    if let Some((body, false)) = found.filter(|_| row <= indexed) {
        let words = search_form(&Said::from_json(&body).text);
        transaction
            .prepare_cached(
                "INSERT INTO message_words(message_words, rowid, words) VALUES ('delete', ?1, ?2)",
            )?
            .execute(params![row, words])?;
    }
    transaction.prepare_cached("DELETE FROM messages WHERE row = ?1")?.execute([row])?;
    Ok(())
}

/// Deletes a session with all it ever had.
pub(super) fn delete_session(transaction: &Transaction<'_>, number: i64, indexed: i64) -> Sql<()> {
    for row in numbers(transaction, "SELECT row FROM messages WHERE session = ?1", &[&number])? {
        fault::step();
        delete_row(transaction, row, indexed)?;
    }
    transaction.prepare_cached("DELETE FROM sessions WHERE number = ?1")?.execute([number])?;
    Ok(())
}
