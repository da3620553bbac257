//! Statements of a caller's own, each with its values in JSON.

use std::borrow::Cow;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Error, Kind};
use crate::fault;

/// A statement and its values: texts, an array in JSON among them, whole numbers, and null.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Statement(pub Cow<'static, str>, pub Vec<Value>);

/// The rows that a statement answers, by the names of its columns.
pub type Rows = Vec<Map<String, Value>>;

/// Runs statements in one transaction, all or none, and gives the rows of each. A text that is no UTF-8 and a blob are
/// null.
///
/// # Errors
/// As the database fails; [`Kind::Other`] for values that no column can hold.
pub fn run(connection: &Connection, statements: &[Statement], writes: bool) -> Result<Vec<Rows>, Error> {
    // Waiting for the lock later could fail half-way.
    let behavior = if writes { TransactionBehavior::Immediate } else { TransactionBehavior::Deferred };
    let transaction = Transaction::new_unchecked(connection, behavior)?;
    let rows = |statement| {
        query(&transaction, statement, |row| {
            let names = row.as_ref().column_names().enumerate();
            names.map(|(at, name)| Ok((name.to_owned(), column(row.get_ref(at)?)))).collect()
        })
    };
    let answers = statements.iter().map(rows).collect::<Result<_, Error>>()?;
    transaction.commit()?;
    Ok(answers)
}

/// Runs a statement, and reads each row that it answers.
///
/// # Errors
/// As the database and `read` fail; [`Kind::Other`] for values that no column can hold.
pub fn query<T>(
    connection: &Connection,
    Statement(sql, values): &Statement,
    read: impl Fn(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    fault::step();
    let mut statement = connection.prepare_cached(sql)?;
    let values = values.iter().map(parameter).collect::<Result<Vec<_>, _>>()?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut answers = Vec::new();
    while let Some(row) = rows.next()? {
        answers.push(read(row)?);
    }
    Ok(answers)
}

fn parameter(value: &Value) -> Result<ToSqlOutput<'_>, Error> {
    Ok(match value {
        Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        Value::String(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        number => ToSqlOutput::from(number.as_i64().ok_or(Kind::Other)?),
    })
}

fn column(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) => str::from_utf8(bytes).map_or(Value::Null, Value::from),
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(connection: &Connection, script: &Value) -> Result<Value, Kind> {
        let statements: Vec<Statement> = serde_json::from_value(script.clone()).expect("a script");
        let answers = run(connection, &statements, true).map_err(|error| error.kind())?;
        Ok(serde_json::to_value(answers).expect("JSON"))
    }

    #[test]
    fn values_come_back_as_they_were_or_as_nothing() {
        let connection = Connection::open_in_memory().expect("opens");
        let script = serde_json::json!([
            ["CREATE TABLE t (a, b)", []],
            ["INSERT INTO t VALUES ($1, $2), ($3, x'ff'), (CAST(x'ff' AS TEXT), NULL)", ["é", 7, "a\u{0}b"]],
            ["SELECT a, b FROM t", []],
        ]);
        let rows = ran(&connection, &script).expect("runs");
        let expected =
            serde_json::json!([{"a": "é", "b": 7}, {"a": "a\u{0}b", "b": null}, {"a": null, "b": null}]);
        assert_eq!(rows.get(2), Some(&expected));
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let connection = Connection::open_in_memory().expect("opens");
        ran(&connection, &serde_json::json!([["CREATE TABLE t (a NOT NULL)", []]])).expect("runs");
        let script =
            serde_json::json!([["INSERT INTO t VALUES (1)", []], ["INSERT INTO t VALUES ($1)", [null]]]);
        assert!(ran(&connection, &script).is_err());
        assert_eq!(
            ran(&connection, &serde_json::json!([["INSERT INTO t VALUES ($1)", [[1]]]])),
            Err(Kind::Other)
        );
        let count = ran(&connection, &serde_json::json!([["SELECT count(*) AS n FROM t", []]]));
        assert_eq!(count, Ok(serde_json::json!([[{ "n": 0 }]])));
    }
}
