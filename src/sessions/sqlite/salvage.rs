//! Reads the rest of a damaged database: row by row, past the pages that cannot.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params_from_iter};

use super::error::Error;
use super::{Schema, columns, file};

/// Rows looked for one by one behind one that cannot be read, before the next is sought at twice the distance.
const PATIENCE: i64 = 64;
/// Farthest row number sought where the file does not say which was the last.
const MAX_ROW: i64 = i64::MAX / 4;

/// Copies the rows of the tables of `schema` that can be read in the damaged file at `aside` into `into`, which has the same
/// tables.
///
/// # Errors
/// Only those of `into`: what cannot be read is left out.
pub(super) fn salvage(aside: &Path, into: &Connection, schema: &Schema<'_>) -> Result<(), Error> {
    // Reading takes the log in, which would change the file: it is kept as it was found.
    let Ok(copy) = file::copy_to_read(aside) else { return Ok(()) };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let outcome = Connection::open_with_flags(&copy, flags).map_or(Ok(()), |damaged| {
        schema.tables.iter().try_for_each(|(table, _)| copy_table(&damaged, into, table))
    });
    file::remove_all(&copy);
    outcome
}

fn copy_table(damaged: &Connection, into: &Connection, table: &str) -> Result<(), Error> {
    let wanted = columns(into, table)?;
    let found = columns(damaged, table).unwrap_or_default();
    let shared: Vec<_> = wanted.into_iter().filter(|column| found.contains(column)).collect();
    if shared.is_empty() {
        return Ok(());
    }
    let quoted: Vec<_> = shared.iter().map(|column| format!("\"{}\"", column.replace('"', "\"\""))).collect();
    let names = quoted.join(", ");
    let places = vec!["?"; shared.len()].join(", ");
    let mut insert = into.prepare(&format!("INSERT OR IGNORE INTO {table}({names}) VALUES ({places})"))?;
    // NOT INDEXED: a damaged index must not hide a sound row.
    let next = format!(
        "SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid > ?1 AND rowid <= ?2 ORDER BY rowid LIMIT 1"
    );
    let end = last_row(damaged, table);
    let row_after = |after: i64| {
        let read = |row: &Row<'_>| {
            let values = (1..=shared.len()).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            Ok::<(i64, Vec<Value>), rusqlite::Error>((row.get(0)?, values))
        };
        damaged.prepare_cached(&next)?.query_row([after, end], read).optional()
    };
    let (mut after, mut misses) = (0i64, 0i64);
    while after < end {
        match row_after(after) {
            // Of a row whose number is damaged, the tree does not know: it must not lead past sound ones.
            Ok(Some((row, values))) if row == after + 1 || is_at(damaged, table, row) => {
                // A row may have been read in part: one that the tables' own rules refuse is none.
                let _ = insert.execute(params_from_iter(values));
                (after, misses) = (row, 0);
            }
            _ => {
                misses += 1;
                let doublings = (misses / PATIENCE).min(60) as u32;
                after = after.saturating_add(1i64 << doublings);
            }
        }
    }
    Ok(())
}

fn is_at(damaged: &Connection, table: &str, row: i64) -> bool {
    let sql = format!("SELECT 1 FROM {table} NOT INDEXED WHERE rowid = ?1");
    damaged.prepare_cached(&sql).and_then(|mut exact| exact.exists([row])).unwrap_or(false)
}

fn last_row(damaged: &Connection, table: &str) -> i64 {
    let told =
        damaged.query_row("SELECT seq FROM sqlite_sequence WHERE name = ?1", [table], |row| row.get(0));
    let newest = || damaged.query_row(&format!("SELECT max(rowid) FROM {table}"), [], |row| row.get(0));
    told.or_else(|_| newest()).unwrap_or(MAX_ROW)
}
