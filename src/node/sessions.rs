//! Sessions for JavaScript: the SQLite store, and the decisions about what any store holds. What goes in and comes out
//! are texts of JSON in the shapes of `lib/sessions/store/store.d.ts`; the work is done on a worker thread, unless its name says now.

use std::collections::VecDeque;
use std::sync::Arc;

use napi_derive::napi;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::sessions::cut::{Keep, let_go, with_groups};
use crate::sessions::language::Language;
use crate::sessions::message::Said;
use crate::sessions::prompt::summary_prompt;
use crate::sessions::search;
use crate::sessions::sqlite;
use crate::sessions::store::{ListQuery, NewMessage, Operation, Page, SearchQuery, Store, When, check_place};
use crate::sessions::summary::{LetGo, Summary, summarise};

/// What is asked of the store.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Request {
    Open,
    Apply(Vec<Operation>),
    Load(String, String),
    Stamp(String, String),
    Read(String, String, Page),
    List(ListQuery),
    Search(SearchQuery),
    Prune(String, i64),
    Close,
}

/// Sessions in a file or in memory.
#[napi]
pub struct SessionStore {
    store: Arc<Store>,
    /// Handed to a worker and not answered yet, in order.
    batches: Arc<Mutex<VecDeque<Arc<Batch>>>>,
}

/// Changes on their way: done by the worker, or before by somebody who cannot wait for it.
struct Batch(Mutex<Progress>);

enum Progress {
    Waiting(String),
    Done(Result<String>),
    Told,
}

impl Batch {
    fn run(&self, store: &Store) {
        let mut progress = self.0.lock();
        if let Progress::Waiting(operations) = &*progress {
            *progress = Progress::Done(apply(store, operations));
        }
    }

    fn outcome(&self, store: &Store) -> Result<String> {
        self.run(store);
        match std::mem::replace(&mut *self.0.lock(), Progress::Told) {
            Progress::Done(outcome) => outcome,
            Progress::Waiting(_) | Progress::Told => Err(Failure::internal("the changes were made before")),
        }
    }
}

/// A session after a message was appended to it, and the message's place.
#[napi(object)]
pub struct AppendedMessage {
    /// Number of the session.
    pub session: f64,
    /// As the store counts them.
    pub version: f64,
    /// As the store counts them.
    pub revision: f64,
    /// ms since 1970.
    pub created_at: f64,
    /// ms since 1970.
    pub updated_at: f64,
    /// Of the message.
    pub seq: f64,
}

fn apply(store: &Store, operations: &str) -> Result<String> {
    written(store.apply(&parsed::<Vec<Operation>>(operations)?))
}

#[napi]
impl SessionStore {
    /// Opens nothing yet; refuses a path that cannot be one.
    #[napi(constructor)]
    pub fn new(location: String) -> Result<Self> {
        guarded(|| {
            check_place(&location)?;
            Ok(Self { store: Arc::new(Store::new(&location)), batches: Arc::default() })
        })
    }

    /// Answers a request, as JSON, on a worker thread.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn ask(&self, request: String) -> Result<Promise<String>> {
        guarded(|| {
            let store = self.store.clone();
            Ok(task(move || answer(&store, parsed(&request)?, When::Later)))
        })
    }

    /// Commits operations, as JSON, on a worker thread.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn apply(&self, operations: String) -> Result<Promise<String>> {
        guarded(|| {
            let (store, batches) = (self.store.clone(), self.batches.clone());
            let batch = Arc::new(Batch(Mutex::new(Progress::Waiting(operations))));
            batches.lock().push_back(batch.clone());
            Ok(task(move || {
                let outcome = batch.outcome(&store);
                batches.lock().retain(|other| !Arc::ptr_eq(other, &batch));
                outcome
            }))
        })
    }

    /// Commits operations here, after all that is on its way, for a process that is about to end. Waits as long as it takes.
    #[napi]
    pub fn apply_last(&self, operations: String) -> Result<String> {
        guarded(|| {
            let batches: Vec<_> = self.batches.lock().iter().cloned().collect();
            for batch in batches {
                batch.run(&self.store);
            }
            apply(&self.store, &operations)
        })
    }

    /// Appends here, in memory, a message whose id is new.
    #[napi]
    pub fn append_new(
        &self,
        namespace: String,
        key: String,
        id: String,
        body: String,
    ) -> Result<AppendedMessage> {
        guarded(|| {
            let (stamp, seq) = self.store.append_new(&namespace, &key, NewMessage { id, body })?;
            Ok(AppendedMessage {
                session: stamp.session as f64,
                version: stamp.version as f64,
                revision: stamp.revision as f64,
                created_at: stamp.created_at as f64,
                updated_at: stamp.updated_at as f64,
                seq: seq as f64,
            })
        })
    }

    /// Answers a short request here.
    #[napi]
    pub fn ask_now(&self, request: String) -> Result<String> {
        guarded(|| answer(&self.store, parsed(&request)?, When::Now))
    }

    /// Changes when another process has written.
    #[napi]
    pub fn foreign_writes(&self) -> Result<f64> {
        guarded(|| Ok(self.store.foreign_writes()? as f64))
    }
}

fn answer(store: &Store, request: Request, when: When) -> Result<String> {
    let reading = store.reading(when);
    match request {
        Request::Open => written(store.open()),
        Request::Apply(operations) => written(store.apply_now(&operations)),
        Request::Load(namespace, key) => written(reading.load(&namespace, &key)),
        Request::Stamp(namespace, key) => written(reading.stamp(&namespace, &key)),
        Request::Read(namespace, key, page) => written(reading.page(&namespace, &key, &page)),
        Request::List(query) => written(reading.list(&query)),
        Request::Search(query) => written(reading.search(&query)),
        Request::Prune(namespace, before) => written(store.prune(&namespace, before)),
        Request::Close => written(store.close()),
    }
}

fn written<T: Serialize>(answer: std::result::Result<T, sqlite::Error>) -> Result<String> {
    json(&answer?)
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| refused(&error))
}

fn parsed<'a, T: Deserialize<'a>>(request: &'a str) -> Result<T> {
    serde_json::from_str(request).map_err(|error| refused(&error))
}

/// The position alone: the text beside it may be the user's.
pub(super) fn refused(error: &serde_json::Error) -> Failure {
    Failure::invalid(format!("not understood at column {}", error.column()))
}

/// Messages of a session as they are kept.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    body: String,
    #[serde(default)]
    is_summary: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanRequest {
    rows: Vec<Row>,
    keep: usize,
    keep_tokens: Option<usize>,
    has_prompt: bool,
    /// Tokens of the summariser's prompt; none is made without.
    prompt_tokens: Option<usize>,
    #[serde(default)]
    answer_tokens: usize,
    /// Where rules are to write the summary at once.
    rules: Option<Rules>,
}

#[derive(Deserialize)]
struct Rules {
    digest: String,
    language: Language,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Plan {
    let_go: Vec<usize>,
    prompt: Option<String>,
    made: Option<Made>,
}

/// What a session may let go: indices into the rows, and the prompt for the host's summariser or the summary by rules.
#[napi(ts_return_type = "Promise<string>")]
pub fn plan_compression(request: String) -> Result<Promise<String>> {
    guarded(|| Ok(task(move || plan(&request))))
}

/// `plan_compression` here, for messages of some KB.
#[napi]
pub fn plan_compression_now(request: String) -> Result<String> {
    guarded(|| plan(&request))
}

fn plan(request: &str) -> Result<String> {
    let request: PlanRequest = parsed(request)?;
    let messages: Vec<_> = request.rows.iter().map(|row| Said::from_json(&row.body)).collect();
    let keep = Keep { messages: request.keep, tokens: request.keep_tokens, has_prompt: request.has_prompt };
    let indices = let_go(&messages, &keep);
    let gone: Vec<_> = indices.iter().filter_map(|&index| messages.get(index).cloned()).collect();
    let prompt = request
        .prompt_tokens
        .filter(|_| !gone.is_empty())
        .map(|tokens| summary_prompt(&gone, tokens, request.answer_tokens));
    let made = request.rules.filter(|_| !gone.is_empty()).map(|Rules { digest, language }| {
        let rows = indices.iter().filter_map(|&index| request.rows.get(index));
        let rows = gone.into_iter().zip(rows.map(|row| row.is_summary));
        let rows: Vec<_> = rows.map(|(said, is_summary)| LetGo { said, is_summary }).collect();
        Made::from(summarise(&digest, None, &rows, language))
    });
    json(&Plan { let_go: indices, prompt, made })
}

#[derive(Deserialize)]
struct SummaryRequest {
    digest: String,
    answer: Option<String>,
    rows: Vec<Row>,
    language: Language,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    text: String,
    is_from_host: bool,
    digest: String,
    tokens_saved: usize,
}

impl From<Summary> for Made {
    fn from(Summary { text, is_from_host, digest, tokens_saved }: Summary) -> Self {
        Self { text, is_from_host, digest, tokens_saved }
    }
}

/// The summary of rows that are let go, by the host's answer or by rules.
#[napi(ts_return_type = "Promise<string>")]
pub fn summarise_session(request: String) -> Result<Promise<String>> {
    guarded(|| {
        Ok(task(move || {
            let SummaryRequest { digest, answer, rows, language } = parsed(&request)?;
            let messages: Vec<_> = rows
                .iter()
                .map(|row| LetGo { said: Said::from_json(&row.body), is_summary: row.is_summary })
                .collect();
            json(&Made::from(summarise(&digest, answer.as_deref(), &messages, language)))
        }))
    })
}

#[derive(Deserialize)]
struct GroupsRequest {
    rows: Vec<Row>,
    indices: Vec<usize>,
}

/// Indices of the rows that go with those at `indices`: calls and their results together.
#[napi(ts_return_type = "Promise<string>")]
pub fn groups_of(request: String) -> Result<Promise<String>> {
    guarded(|| {
        Ok(task(move || {
            let GroupsRequest { rows, indices } = parsed(&request)?;
            let messages: Vec<_> = rows.iter().map(|row| Said::from_json(&row.body)).collect();
            json(&with_groups(&messages, &indices))
        }))
    })
}

/// The words of a text as every store's search sees them.
#[napi]
pub fn search_form(text: String) -> Result<String> {
    guarded(|| Ok(search::search_form(&text)))
}

/// What a text has to hold that answers a query.
#[napi]
pub fn search_phrases(query: String) -> Result<Vec<String>> {
    guarded(|| Ok(search::search_phrases(&query)))
}

fn task(work: impl FnOnce() -> Result<String> + Send + 'static) -> Promise<String> {
    blocking(None, move |_| work())
}
