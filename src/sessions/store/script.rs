//! Changes and questions as statements with their values, and the answers back as what became of each. Whoever runs the
//! statements of one script does so in one transaction, in this order.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::rows::{AnswerRow, Change, NamedStamp, NewMessage, Operation, Order, Outcome, Question};
use crate::sessions::message::read;
use crate::sessions::search::search_form;
use crate::sessions::sqlite::{Error, Kind, Statement};

/// The greatest number that JavaScript can hold.
const MAX_NUMBER: i64 = (1 << 53) - 1;

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(Value::from($value)),*] };
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
    let lock = lock.map(|lock| vec![Statement(lock.into(), values![Sessions::of(operations).json()])]);
    let steps = groups(operations).map(|group| match group {
        [(namespace, key, change)] if !matches!(change, Change::Append { .. }) => {
            one(dialect, (namespace, key), change)
        }
        appends => append(dialect, appends),
    });
    lock.into_iter().chain(steps).collect()
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

    fn json(&self) -> String {
        let named = self.named.iter().enumerate();
        let named = named.map(|(i, (namespace, key, operations))| {
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
        let number = sessions.numbers.get(&(namespace.as_str(), key.as_str()));
        for NewMessage { id, body } in messages {
            crate::fault::step();
            let words = (dialect == Dialect::Postgres).then(|| words_of(body));
            said.push(json!({ "i": number, "id": id, "body": body, "words": words }));
        }
    }
    let sessions = sessions.json();
    let step = |name, values| Statement(dialect.statement(name).into(), values);
    vec![
        step("append_sessions", values![sessions.as_str()]),
        step("append_messages", values![sessions.as_str(), Value::from(said).to_string()]),
        step("append_numbers", values![sessions]),
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

/// The statements of one change: the first row that any of them answers says what the session is now.
fn one(dialect: Dialect, (namespace, key): (&str, &str), change: &Change) -> Vec<Statement> {
    let step = |name: &str, more: Vec<Value>| {
        Statement(dialect.statement(name).into(), [values![namespace, key], more].concat())
    };
    match change {
        Change::Append { .. } => Vec::new(),
        Change::Fields { fields, prompt, prompt_if_absent } => {
            let fields = json!(fields).to_string();
            vec![step("fields", values![fields, prompt.as_deref(), i64::from(*prompt_if_absent)])]
        }
        Change::Compress { session, revision, let_go, forget, summary, digest, tokens_saved } => {
            let gone = if *forget { "compress_forgetting" } else { "compress_keeping" };
            let let_go = json!(let_go).to_string();
            let (session, revision) = (*session, *revision);
            let (id, body) = (summary.id.as_str(), summary.body.as_str());
            vec![
                step("compress_summary", values![session, revision, let_go.as_str(), id, body]),
                step(gone, values![session, revision, let_go]),
                step("compress_session", values![session, revision, digest.as_str(), *tokens_saved]),
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
                step("import_messages", values![messages.collect::<Value>().to_string()]),
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
        match group {
            [(_, _, change)] if !matches!(change, Change::Append { .. }) => {
                let first = answers.iter().flatten().next().map(AnswerRow::read).transpose()?;
                outcomes.push(first.unwrap_or_default());
            }
            appends => {
                let stamps = answers.last().ok_or(Kind::Other)?;
                appended(appends, stamps, &mut outcomes)?;
            }
        }
    }
    if outcomes.len() == operations.len() { Ok(outcomes) } else { Err(Kind::Other.into()) }
}

fn appended(group: &[Operation], stamps: &[AnswerRow], outcomes: &mut Vec<Outcome>) -> Result<(), Error> {
    let named =
        |row: &AnswerRow| row.read().map(|NamedStamp { namespace, key, stamp }| ((namespace, key), stamp));
    let mut stamps = stamps.iter().map(named).collect::<Result<HashMap<_, _>, _>>()?;
    // The stamps are those after the last operation on each session.
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
    let of = |name, values| Some(Statement(dialect.statement(name).into(), values));
    Ok(match question {
        Question::Load(namespace, key) => of("load", values![namespace.as_str(), key.as_str()]),
        Question::Stamp(namespace, key) => of("stamp_of", values![namespace.as_str(), key.as_str()]),
        Question::Read(namespace, key, page) => {
            let after = page.after.unwrap_or(-MAX_NUMBER);
            of("read", values![namespace.as_str(), key.as_str(), after, page.limit])
        }
        Question::List(query) => {
            let (name, first) = match query.order {
                Order::Created => ("list_created", 0),
                Order::Updated => ("list_updated", MAX_NUMBER),
            };
            let (time, number) = match &query.cursor {
                Some(cursor) => parse_cursor(cursor).ok_or(Kind::BadCursor)?,
                None => (first, first),
            };
            of(name, values![query.namespace.as_str(), time, number, query.limit])
        }
        Question::Search(query) => {
            let phrases = query.phrases.iter().map(|phrase| search_form(phrase));
            let phrases: Vec<_> = phrases.filter(|phrase| !phrase.is_empty()).collect();
            if phrases.is_empty() {
                return Ok(None);
            }
            let mut values = values![query.namespace.as_str(), query.key.as_deref(), query.limit];
            let [before, after] = match dialect {
                // Letters, digits and spaces alone: nothing in a phrase is an operator of FTS5.
                Dialect::File => ["\"", "\"*"],
                Dialect::Memory => [" ", ""],
                Dialect::Postgres => ["% ", "%"],
            };
            let patterns: Vec<_> = phrases.iter().map(|phrase| format!("{before}{phrase}{after}")).collect();
            match dialect {
                Dialect::File => values.push(patterns.join(" ").into()),
                Dialect::Memory | Dialect::Postgres => values.extend(patterns.into_iter().map(Value::from)),
            }
            Some(Statement(dialect.search(phrases.len(), query.key.is_some()).into(), values))
        }
        Question::PruneSessions(namespace, before, limit) => {
            of("prune_sessions", values![namespace.as_str(), *before, *limit])
        }
        Question::PruneLetGo(namespace, before, limit) => {
            of("prune_let_go", values![namespace.as_str(), *before, *limit])
        }
    })
}

/// `updatedAt.number` of the last session of the page before.
fn parse_cursor(cursor: &str) -> Option<(i64, i64)> {
    let (time, number) = cursor.split_once('.')?;
    Some((time.parse().ok()?, number.parse().ok()?))
}
