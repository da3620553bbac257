//! Changes and questions as statements with their values, and the answers back as what became of each. Whoever runs the
//! statements of one script does so in one transaction, in this order.

use std::collections::HashMap;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::Serialize;
use serde_json::json;

use super::dialect::Dialect;
use super::rows::{AnswerRow, Change, NewMessage, Operation, Order, Outcome, Question, Stamp, Stamped};
use crate::sessions::message::Said;
use crate::sessions::search::{match_query, search_form};
use crate::sessions::sqlite::rusqlite;
use crate::sessions::sqlite::{Error, Kind};

/// A statement and its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step(pub &'static str, pub Vec<Value>);

/// A question's statement, made for it, and its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked(pub String, pub Vec<Value>);

/// A value of a statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A text, or an array in JSON.
    Text(String),
    /// A number that JavaScript can hold.
    Number(i64),
    /// Nothing.
    Null,
}

/// The greatest number that JavaScript can hold.
const MAX_NUMBER: i64 = (1 << 53) - 1;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        Self::Text(json.to_string())
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Number(number) => ToSqlOutput::from(*number),
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        })
    }
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(Value::from($value)),*] };
}

/// Operations that share statements: appends in a row, or one of any other kind.
fn groups(operations: &[Operation]) -> impl Iterator<Item = &[Operation]> {
    operations.chunk_by(|(_, _, before), (_, _, after)| {
        matches!((before, after), (Change::Append { .. }, Change::Append { .. }))
    })
}

/// The statements that commit all operations, in the order given.
#[must_use]
pub fn script(dialect: Dialect, operations: &[Operation]) -> Vec<Step> {
    let statements = dialect.statements();
    let mut steps = Vec::new();
    // One statement that takes its locks in order needs no other.
    if let Some(lock) = &statements.lock
        && groups(operations).nth(1).is_some()
    {
        let sessions = Sessions::of(operations);
        steps.push(Step(lock, values![sessions.json()]));
    }
    for group in groups(operations) {
        if let [(namespace, key, change)] = group
            && !matches!(change, Change::Append { .. })
        {
            one(dialect, (namespace, key), change, &mut steps);
        } else {
            append(dialect, group, &mut steps);
        }
    }
    steps
}

/// The sessions that operations name, numbered, and how many of them name each.
struct Sessions<'a> {
    numbers: HashMap<(&'a str, &'a str), usize>,
    named: Vec<(&'a str, &'a str, usize)>,
}

impl<'a> Sessions<'a> {
    fn of(operations: &'a [Operation]) -> Self {
        let mut sessions = Self { numbers: HashMap::new(), named: Vec::new() };
        for (namespace, key, _) in operations {
            let number = *sessions.numbers.entry((namespace, key)).or_insert_with(|| {
                sessions.named.push((namespace, key, 0));
                sessions.named.len() - 1
            });
            if let Some((_, _, count)) = sessions.named.get_mut(number) {
                *count += 1;
            }
        }
        sessions
    }

    fn json(&self) -> serde_json::Value {
        let named = self.named.iter().enumerate();
        named
            .map(|(i, (namespace, key, operations))| {
                json!({ "i": i, "namespace": namespace, "key": key, "operations": operations })
            })
            .collect()
    }
}

fn append(dialect: Dialect, group: &[Operation], steps: &mut Vec<Step>) {
    let sessions = Sessions::of(group);
    let (mut said, mut ids) = (Vec::new(), Vec::new());
    for (namespace, key, change) in group {
        let Change::Append { messages } = change else { continue };
        let number = sessions.numbers.get(&(namespace.as_str(), key.as_str()));
        for NewMessage { id, body, text } in messages {
            crate::fault::step();
            let words = (dialect == Dialect::Postgres).then(|| words_of(text.as_deref(), body));
            said.push(json!({ "i": number, "id": id, "body": body, "words": words }));
            ids.push(json!({ "i": number, "id": id }));
        }
    }
    let [said, ids] = [said, ids].map(|list| Value::from(serde_json::Value::from(list)));
    let sessions = Value::from(sessions.json());
    let [touch, insert, number, seqs] = &dialect.statements().append;
    steps.push(Step(touch, vec![sessions.clone()]));
    steps.push(Step(insert, vec![sessions.clone(), said]));
    steps.push(Step(number, vec![sessions.clone()]));
    steps.push(Step(seqs, vec![sessions, ids]));
}

/// Words as a search compares them, each with a space before it.
#[must_use]
pub fn words_of(text: Option<&str>, body: &str) -> String {
    let form = text.map_or_else(|| search_form(&Said::from_json(body).text), search_form);
    format!(" {form}")
}

fn one(dialect: Dialect, (namespace, key): (&str, &str), change: &Change, steps: &mut Vec<Step>) {
    let statements = dialect.statements();
    match change {
        Change::Append { .. } => {}
        Change::Fields { fields, prompt, prompt_if_absent } => {
            let asked =
                values![namespace, key, json!(fields), prompt.as_deref(), i64::from(*prompt_if_absent)];
            steps.push(Step(&statements.fields, asked));
        }
        Change::Compress { session, revision, let_go, forget, summary, digest, tokens_saved } => {
            let [insert, gone, moved] =
                if *forget { &statements.compress_forgetting } else { &statements.compress_keeping };
            let unmoved = values![namespace, key, *session, *revision];
            let which = [unmoved.clone(), values![json!(let_go)]].concat();
            steps.push(Step(
                insert,
                [which.clone(), values![summary.id.as_str(), summary.body.as_str()]].concat(),
            ));
            steps.push(Step(gone, which));
            steps.push(Step(moved, [unmoved, values![digest.as_str(), *tokens_saved]].concat()));
        }
        Change::Delete { ids } => {
            let [messages, moved] = &statements.delete;
            steps.push(Step(messages, values![namespace, key, json!(ids)]));
            steps.push(Step(moved, values![namespace, key]));
        }
        Change::Clear {} => {
            steps.extend(statements.clear.iter().map(|sql| Step(sql, values![namespace, key])));
        }
        Change::Import { state, messages } => {
            let [begun, said, done] = &statements.import;
            let messages: Vec<_> = messages
                .iter()
                .map(|message| {
                    let searched = dialect == Dialect::Postgres && !message.is_summary;
                    json!({
                        "id": message.id, "body": message.body, "seq": message.seq, "place": message.place,
                        "isLive": i64::from(message.is_live), "isSummary": i64::from(message.is_summary),
                        "words": searched.then(|| words_of(message.text.as_deref(), &message.body)),
                    })
                })
                .collect();
            steps.push(Step(begun, values![namespace, key, json!([state])]));
            steps.push(Step(said, values![namespace, key, json!(messages)]));
            steps.push(Step(done, values![namespace, key]));
        }
    }
    // Without a change, the session as it is.
    if matches!(change, Change::Compress { .. } | Change::Import { .. }) {
        steps.push(Step(&statements.stamp, values![namespace, key]));
    }
}

/// The outcome of each operation, from the rows of each step.
///
/// # Errors
/// [`Kind::Other`] where the rows are not those of the script.
pub fn outcomes(
    dialect: Dialect,
    operations: &[Operation],
    rows: &[Vec<AnswerRow>],
) -> Result<Vec<Outcome>, Error> {
    let mut steps = rows
        .iter()
        .skip(usize::from(dialect.statements().lock.is_some() && groups(operations).nth(1).is_some()));
    let mut outcomes = Vec::with_capacity(operations.len());
    for group in groups(operations) {
        let mut next = || steps.next().ok_or(Kind::Other);
        match group {
            [(_, _, change)] if !matches!(change, Change::Append { .. }) => {
                for _ in 0..steps_before(dialect, change) {
                    next()?;
                }
                let done = next()?.first().map(AnswerRow::stamped).transpose()?;
                let applied = done.is_some();
                let there = if matches!(change, Change::Compress { .. } | Change::Import { .. }) {
                    next()?.first().map(AnswerRow::stamped).transpose()?
                } else {
                    None
                };
                let Stamped { stamp, prompt } = done.or(there).unwrap_or_default();
                let is_asked = matches!(change, Change::Fields { prompt_if_absent: true, .. });
                outcomes.push(Outcome { applied, stamp, seqs: None, prompt: prompt.filter(|_| is_asked) });
            }
            appends => {
                let (_, _, stamps, seqs) = (next()?, next()?, next()?, next()?);
                appended(appends, stamps, seqs, &mut outcomes)?;
            }
        }
    }
    Ok(outcomes)
}

/// Steps of a change before the one that answers.
fn steps_before(dialect: Dialect, change: &Change) -> usize {
    match change {
        Change::Append { .. } | Change::Fields { .. } => 0,
        Change::Delete { .. } => 1,
        Change::Clear {} => dialect.statements().clear.len() - 1,
        Change::Compress { .. } | Change::Import { .. } => 2,
    }
}

fn appended(
    group: &[Operation],
    stamps: &[AnswerRow],
    seqs: &[AnswerRow],
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Error> {
    let stamps = stamps.iter().map(AnswerRow::named).collect::<Result<HashMap<_, _>, _>>()?;
    let mut seqs = seqs.iter();
    // The stamps are those after the last operation on each session.
    let mut later = Sessions::of(group).named;
    let numbers = Sessions::of(group).numbers;
    for (namespace, key, change) in group {
        let Change::Append { messages } = change else { continue };
        let number = numbers.get(&(namespace.as_str(), key.as_str())).copied().unwrap_or_default();
        let left = later.get_mut(number).map_or(0, |(_, _, count)| {
            *count -= 1;
            *count
        });
        let stamp = stamps.get(&(namespace.clone(), key.clone())).ok_or(Kind::Other)?;
        let stamp = Stamp { version: stamp.version - i64::try_from(left).unwrap_or(0), ..*stamp };
        let places = seqs.by_ref().take(messages.len()).map(AnswerRow::number);
        let places = places.collect::<Result<Vec<_>, _>>()?;
        outcomes.push(Outcome { applied: true, stamp: Some(stamp), seqs: Some(places), prompt: None });
    }
    Ok(())
}

/// The statement of a question.
///
/// # Errors
/// [`Kind::BadCursor`].
pub fn asked(dialect: Dialect, question: &Question) -> Result<Option<Asked>, Error> {
    let statements = dialect.statements();
    let of = |sql: &str, values| Some(Asked(sql.to_owned(), values));
    Ok(match question {
        Question::Load(namespace, key) => of(&statements.load, values![namespace.as_str(), key.as_str()]),
        Question::Stamp(namespace, key) => of(&statements.stamp, values![namespace.as_str(), key.as_str()]),
        Question::Read(namespace, key, page) => {
            let (sql, after) = if page.newest {
                (&statements.read_newest, None)
            } else {
                (&statements.read_oldest, page.after)
            };
            of(sql, values![namespace.as_str(), key.as_str(), after.unwrap_or(-MAX_NUMBER), page.limit])
        }
        Question::List(query) => {
            let (sql, first) = match query.order {
                Order::Created => (&statements.list_created, 0),
                Order::Updated => (&statements.list_updated, MAX_NUMBER),
            };
            let (time, number) = match &query.cursor {
                Some(cursor) => parse_cursor(cursor).ok_or(Kind::BadCursor)?,
                None => (first, first),
            };
            of(sql, values![query.namespace.as_str(), time, number, query.limit])
        }
        Question::Search(query) => {
            let phrases: Vec<_> = query.phrases.iter().map(|phrase| search_form(phrase)).collect();
            let Some(wanted) = match_query(&phrases) else { return Ok(None) };
            let mut values = values![query.namespace.as_str(), query.key.as_deref(), query.limit];
            match dialect {
                Dialect::File => values.push(Value::Text(wanted)),
                Dialect::Memory => {
                    values.extend(phrases.iter().map(|phrase| Value::Text(format!(" {phrase}"))));
                }
                Dialect::Postgres => {
                    values.extend(phrases.iter().map(|phrase| Value::Text(format!("% {phrase}%"))));
                }
            }
            Some(Asked(dialect.search(phrases.len(), query.key.is_some()), values))
        }
        Question::PruneSessions(namespace, before, limit) => {
            of(&statements.prune_sessions, values![namespace.as_str(), *before, *limit])
        }
        Question::PruneLetGo(namespace, before, limit) => {
            of(&statements.prune_let_go, values![namespace.as_str(), *before, *limit])
        }
    })
}

/// `updatedAt.number` of the last session of the page before.
fn parse_cursor(cursor: &str) -> Option<(i64, i64)> {
    let (time, number) = cursor.split_once('.')?;
    Some((time.parse().ok()?, number.parse().ok()?))
}
