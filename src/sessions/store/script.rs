//! Changes and questions as statements with their values, and the answers back as what became of each. Whoever runs the
//! statements of one script does so in one transaction, in this order.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::rows::{AnswerRow, Change, NewMessage, Operation, Order, Outcome, Page, Question, Stamp};
use crate::sessions::message::read;
use crate::sessions::search::search_form;
use crate::sessions::sqlite::{Error, Kind, Statement};

/// The greatest number that JavaScript can hold.
const MAX_NUMBER: i64 = (1 << 53) - 1;

macro_rules! values {
    ($($value:expr),*) => { vec![$(json!($value)),*] };
}

/// Operations that share statements: appends in a row, or one of any other kind.
fn groups(operations: &[Operation]) -> impl Iterator<Item = &[Operation]> {
    operations.chunk_by(|(_, _, before), (_, _, after)| {
        matches!((before, after), (Change::Append { .. }, Change::Append { .. }))
    })
}

/// The statements that commit all operations, in the order given; those of a group together.
#[must_use]
pub fn script(dialect: Dialect, operations: &[Operation]) -> Vec<Vec<Statement>> {
    // One statement that takes its locks in order needs no other.
    let lock = dialect.find("lock").filter(|_| groups(operations).nth(1).is_some());
    let lock = lock.map(|_| vec![dialect.statement("lock", values![Sessions::of(operations).json()])]);
    lock.into_iter().chain(groups(operations).map(|group| steps(dialect, group))).collect()
}

/// The sessions that operations name: the number of each, and how many name it.
struct Sessions<'a>(HashMap<(&'a str, &'a str), (usize, usize)>);

impl<'a> Sessions<'a> {
    fn of(operations: &'a [Operation]) -> Self {
        let mut sessions = HashMap::new();
        for (namespace, key, _) in operations {
            let next = sessions.len();
            sessions.entry((namespace.as_str(), key.as_str())).or_insert((next, 0)).1 += 1;
        }
        Self(sessions)
    }

    /// In any order: the statements set their own.
    fn json(&self) -> String {
        let named = self.0.iter().map(|((namespace, key), (i, operations))| {
            json!({ "i": i, "namespace": namespace, "key": key, "operations": operations })
        });
        named.collect::<Value>().to_string()
    }
}

fn append(dialect: Dialect, group: &[Operation]) -> Vec<Statement> {
    let sessions = Sessions::of(group);
    let mut said = Vec::new();
    for (namespace, key, change) in group {
        let Change::Append { messages } = change else { continue };
        let number = sessions.0.get(&(namespace.as_str(), key.as_str())).map(|(number, _)| number);
        for NewMessage { id, body } in messages {
            crate::fault::step();
            let words = (dialect == Dialect::Postgres).then(|| words_of(body));
            said.push(json!({ "i": number, "id": id, "body": body, "words": words }));
        }
    }
    let sessions = sessions.json();
    vec![
        dialect.statement("append_sessions", values![sessions]),
        // Megabytes of text are moved, not copied.
        dialect.statement("append_messages", vec![json!(sessions), Value::from(said).to_string().into()]),
        dialect.statement("append_numbers", values![sessions]),
    ]
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    content: String,
}

/// The words of a message as a search compares them, each with a space before it.
#[must_use]
pub fn words_of(body: &str) -> String {
    let Content { content } = read(body).unwrap_or_default();
    format!(" {}", search_form(&content))
}

/// The statements of a group. Of a change other than appending, the first row that any of them answers says what the session
/// is now.
fn steps(dialect: Dialect, group: &[Operation]) -> Vec<Statement> {
    let [(namespace, key, change), ..] = group else { return Vec::new() };
    let step = |name, more| dialect.statement(name, [values![namespace, key], more].concat());
    match change {
        Change::Append { .. } => append(dialect, group),
        Change::Fields { fields, prompt, prompt_if_absent } => {
            let fields = json!(fields).to_string();
            vec![step("fields", values![fields, prompt, i64::from(*prompt_if_absent)])]
        }
        Change::Compress { session, revision, let_go, forget, summary, digest, tokens_saved } => {
            let gone = if *forget { "compress_forgetting" } else { "compress_keeping" };
            let let_go = json!(let_go).to_string();
            vec![
                step("compress_summary", values![session, revision, let_go, summary.id, summary.body]),
                step(gone, values![session, revision, let_go]),
                step("compress_session", values![session, revision, digest, tokens_saved]),
                step("stamp_of", Vec::new()),
            ]
        }
        Change::Delete { ids } => {
            vec![step("delete_messages", values![json!(ids).to_string()]), step("delete_session", Vec::new())]
        }
        Change::Clear {} => {
            let messages = dialect.find("clear_messages").map(|_| step("clear_messages", Vec::new()));
            messages.into_iter().chain([step("clear_session", Vec::new())]).collect()
        }
        Change::Import { state, messages } => {
            let messages = messages.iter().map(|message| {
                let searched = dialect == Dialect::Postgres && !message.is_summary;
                json!({
                    "id": message.id, "body": message.body, "seq": message.seq, "place": message.place,
                    "isLive": i64::from(message.is_live), "isSummary": i64::from(message.is_summary),
                    "words": searched.then(|| words_of(&message.body)),
                })
            });
            vec![
                step("import_session", values![json!([state]).to_string()]),
                step("import_messages", vec![messages.collect::<Value>().to_string().into()]),
                step("import_numbers", Vec::new()),
                step("stamp_of", Vec::new()),
            ]
        }
    }
}

/// The outcome of each operation, from the rows of each step of each group.
///
/// # Errors
/// [`Kind::Other`] where the rows are not those of the script.
pub fn outcomes(operations: &[Operation], rows: &[Vec<Vec<AnswerRow>>]) -> Result<Vec<Outcome>, Error> {
    let mut outcomes = Vec::with_capacity(operations.len());
    // A lock comes before all groups.
    let locks = rows.len().saturating_sub(groups(operations).count());
    for (group, answers) in groups(operations).zip(rows.iter().skip(locks)) {
        if let [(_, _, Change::Append { .. }), ..] = group {
            appended(group, answers.last().ok_or(Kind::Other)?, &mut outcomes)?;
        } else {
            let first = answers.iter().flatten().next().map(AnswerRow::read).transpose()?;
            outcomes.push(first.unwrap_or_default());
        }
    }
    if outcomes.len() == operations.len() { Ok(outcomes) } else { Err(Kind::Other.into()) }
}

fn appended(group: &[Operation], stamps: &[AnswerRow], outcomes: &mut Vec<Outcome>) -> Result<(), Error> {
    // Each session by its name, as it is after the last operation on it.
    let mut stamps: HashMap<(String, String), Stamp> =
        stamps.iter().map(AnswerRow::read).collect::<Result<_, _>>()?;
    let mut newest_first = Vec::with_capacity(group.len());
    for (namespace, key, _) in group.iter().rev() {
        let stamp = stamps.get_mut(&(namespace.clone(), key.clone())).ok_or(Kind::Other)?;
        newest_first.push(Outcome { applied: true, stamp: Some(*stamp), prompt: None });
        stamp.version -= 1;
    }
    outcomes.extend(newest_first.into_iter().rev());
    Ok(())
}

/// The statement of a question.
///
/// # Errors
/// [`Kind::BadCursor`].
pub fn asked(dialect: Dialect, question: &Question) -> Result<Option<Statement>, Error> {
    let of = |name, values| Some(dialect.statement(name, values));
    Ok(match question {
        Question::Load(namespace, key) => of("load", values![namespace, key]),
        Question::Stamp(namespace, key) => of("stamp_of", values![namespace, key]),
        Question::Read(namespace, key, Page { after, limit }) => {
            of("read", values![namespace, key, after.unwrap_or(-MAX_NUMBER), limit])
        }
        Question::List { namespace, order, limit, cursor } => {
            let (name, first) = match order {
                Order::Created => ("list_created", 0),
                Order::Updated => ("list_updated", MAX_NUMBER),
            };
            let (time, number) = match cursor {
                Some(cursor) => parse_cursor(cursor).ok_or(Kind::BadCursor)?,
                None => (first, first),
            };
            of(name, values![namespace, time, number, limit])
        }
        Question::Search { namespace, key, phrases, limit } => {
            let phrases = phrases.iter().map(|phrase| search_form(phrase));
            let phrases: Vec<_> = phrases.filter(|phrase| !phrase.is_empty()).collect();
            if phrases.is_empty() {
                return Ok(None);
            }
            let mut values = values![namespace, key, limit];
            let [before, after] = match dialect {
                // Letters, digits and spaces alone: nothing in a phrase is an operator of FTS5.
                Dialect::File => ["\"", "\"*"],
                Dialect::Memory => [" ", ""],
                Dialect::Postgres => ["% ", "%"],
            };
            let patterns = phrases.iter().map(|phrase| format!("{before}{phrase}{after}"));
            match dialect {
                Dialect::File => values.push(patterns.collect::<Vec<_>>().join(" ").into()),
                Dialect::Memory | Dialect::Postgres => values.extend(patterns.map(Value::from)),
            }
            Some(Statement(dialect.search(phrases.len(), key.is_some()).into(), values))
        }
        Question::PruneSessions(namespace, before, limit) => {
            of("prune_sessions", values![namespace, before, limit])
        }
        Question::PruneLetGo(namespace, before, limit) => {
            of("prune_let_go", values![namespace, before, limit])
        }
    })
}

/// `updatedAt.number` of the last session of the page before.
fn parse_cursor(cursor: &str) -> Option<(i64, i64)> {
    let (time, number) = cursor.split_once('.')?;
    Some((time.parse().ok()?, number.parse().ok()?))
}
