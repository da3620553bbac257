//! Sessions for JavaScript: the SQLite store, and the decisions about what any store holds. What goes in and comes out
//! are texts of JSON in the shapes of `lib/sessions/store/store.d.ts`; the work is done on a worker thread.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use napi_derive::napi;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::sessions::cut::{let_go, with_groups};
use crate::sessions::message::{self, Said};
use crate::sessions::prompt::summary_prompt;
use crate::sessions::search;
use crate::sessions::sqlite::{self, check_place};
use crate::sessions::store::{self, AnswerRow, Dialect, Operation, Question, Store};
use crate::sessions::summary::summarise;

/// A question to the store.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Request {
    Open,
    Erase,
    Prune(String, i64),
    Close,
    #[serde(untagged)]
    Question(Question),
}

/// Sessions in a file or in memory.
#[napi]
pub struct SessionStore {
    store: Arc<Store>,
    /// Handed to a worker and not answered yet, in order.
    batches: Arc<Mutex<VecDeque<Arc<Batch>>>>,
}

/// Changes on their way: done once, by the worker or before by a process that ends.
struct Batch {
    operations: String,
    outcome: OnceLock<Result<String>>,
}

impl Batch {
    fn run(&self, store: &Store) -> Result<String> {
        self.outcome.get_or_init(|| apply(store, &self.operations)).clone()
    }
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
            promised(move || answer(&store, parsed(&request)?))
        })
    }

    /// Commits operations, as JSON, on a worker thread.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn apply(&self, operations: String) -> Result<Promise<String>> {
        guarded(|| {
            let (store, batches) = (self.store.clone(), self.batches.clone());
            let batch = Arc::new(Batch { operations, outcome: OnceLock::new() });
            batches.lock().push_back(batch.clone());
            promised(move || {
                let outcome = batch.run(&store);
                batches.lock().retain(|other| !Arc::ptr_eq(other, &batch));
                outcome
            })
        })
    }

    /// Commits operations here, after all that is on its way, for a process that is about to end. Waits as long as it takes.
    #[napi]
    pub fn apply_last(&self, operations: String) -> Result<()> {
        guarded(|| {
            self.store.open()?;
            let batches: Vec<_> = self.batches.lock().iter().cloned().collect();
            for batch in batches {
                // Who asked for it is not told any more.
                let _ = batch.run(&self.store);
            }
            apply(&self.store, &operations)?;
            self.store.erase()?;
            Ok(())
        })
    }
}

fn answer(store: &Store, request: Request) -> Result<String> {
    match request {
        Request::Question(question) => written(store.ask(&question)),
        Request::Open => written(store.open()),
        Request::Erase => written(store.erase()),
        Request::Prune(namespace, before) => written(store.prune(&namespace, before)),
        Request::Close => written(store.close()),
    }
}

/// The statements that commit operations in Postgres, as JSON: lists of `[statement, values]`.
#[napi]
pub fn store_script(operations: String) -> Result<String> {
    guarded(|| json(&store::script(Dialect::Postgres, &parsed::<Vec<Operation>>(&operations)?)))
}

/// The outcomes of operations, from the rows that Postgres answered to each of their statements.
#[napi]
pub fn store_outcomes(operations: String, rows: String) -> Result<String> {
    guarded(|| {
        let operations: Vec<Operation> = parsed(&operations)?;
        written(store::outcomes(&operations, &parsed::<Vec<Vec<Vec<AnswerRow>>>>(&rows)?))
    })
}

/// The statement that answers a question in Postgres, and its values; `null` where there is nothing to look for.
#[napi]
pub fn store_question(question: String) -> Result<String> {
    guarded(|| written(store::asked(Dialect::Postgres, &parsed(&question)?)))
}

fn written<T: Serialize>(answer: std::result::Result<T, sqlite::Error>) -> Result<String> {
    json(&answer?)
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| refused(&error))
}

pub(super) fn parsed<T: DeserializeOwned>(request: &str) -> Result<T> {
    message::read(request).map_err(|error| refused(&error))
}

/// The position alone: the text beside it may be the user's.
fn refused(error: &serde_json::Error) -> Failure {
    Failure::invalid(format!("not understood at column {}", error.column()))
}

/// The messages that a session may let go, of `[messages, keep, promptTokens, answerTokens]`: `{ letGo, prompt }`, their
/// indices and, where its tokens are given, the prompt for the host's summariser.
#[napi(ts_return_type = "Promise<string>")]
pub fn plan_compression(request: String) -> Result<Promise<String>> {
    promised(move || {
        let (messages, keep, prompt_tokens, answer_tokens): (Vec<Said>, _, Option<_>, _) = parsed(&request)?;
        let indices = let_go(&messages, &keep);
        let gone: Vec<_> = indices.iter().filter_map(|&index| messages.get(index).cloned()).collect();
        let prompt = prompt_tokens.map(|tokens| summary_prompt(&gone, tokens, answer_tokens));
        json(&serde_json::json!({ "letGo": indices, "prompt": prompt }))
    })
}

/// The summary of messages that are let go, by the host's answer or by rules: of `[messages, digest, answer, language]`.
#[napi(ts_return_type = "Promise<string>")]
pub fn summarise_session(request: String) -> Result<Promise<String>> {
    promised(move || {
        let (messages, digest, answer, language): (Vec<_>, String, Option<String>, _) = parsed(&request)?;
        json(&summarise(&digest, answer.as_deref(), &messages, language))
    })
}

/// Indices of the messages that go with those at `indices`, calls and their results together: of `[messages, indices]`.
#[napi(ts_return_type = "Promise<string>")]
pub fn groups_of(request: String) -> Result<Promise<String>> {
    promised(move || {
        let (messages, indices): (Vec<_>, Vec<_>) = parsed(&request)?;
        json(&with_groups(&messages, &indices))
    })
}

/// The words of a text as every store's search sees them.
#[napi]
pub fn search_form(text: String) -> Result<String> {
    guarded(|| Ok(search::search_form(&text)))
}

/// The terms of a text that answers a query.
#[napi]
pub fn search_phrases(query: String) -> Result<Vec<String>> {
    guarded(|| Ok(search::search_phrases(&query)))
}

/// Does `work` on a worker thread.
pub(super) fn promised(work: impl FnOnce() -> Result<String> + Send + 'static) -> Result<Promise<String>> {
    guarded(|| Ok(blocking(None, move |_| work())))
}
