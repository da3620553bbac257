//! Sessions for JavaScript: the digest of what a session lets go, and the file it is stored in. Writing runs on a
//! worker thread; reading is short and runs here.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};
use napi_derive::napi;

use super::guarded::guarded;
use super::history::coded;
use crate::sessions::digest::{Call, Digest, Said};
use crate::sessions::store::{Operation, Store};

/// A message that a session lets go.
#[napi(object)]
pub struct LetGo {
    /// `user`, `assistant`, `tool`.
    pub role: String,
    /// What it says.
    pub text: String,
    /// The tool calls it makes.
    pub calls: Vec<LetGoCall>,
    /// The call it answers.
    pub call_id: Option<String>,
    /// Whether the tool said that it failed.
    pub is_error: Option<bool>,
}

/// One of its tool calls; the arguments are JSON.
#[napi(object)]
pub struct LetGoCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON.
    pub arguments: String,
}

/// A digest to be kept, and its readable form.
#[napi(object)]
pub struct SessionDigest {
    /// To be handed in next time.
    pub state: String,
    /// For a model to read.
    pub text: String,
}

/// Goes on with the digest `state`, on a worker thread. `earlier` is a summary of the host's own to be carried along.
#[napi(ts_return_type = "Promise<SessionDigest>")]
pub fn digest_session(
    state: String,
    earlier: Option<String>,
    messages: Vec<LetGo>,
) -> Result<AsyncTask<DigestTask>> {
    guarded(|| {
        Ok(AsyncTask::new(DigestTask { state, earlier, messages: messages.into_iter().map(said).collect() }))
    })
}

/// A digest under way.
pub struct DigestTask {
    state: String,
    earlier: Option<String>,
    messages: Vec<Said>,
}

impl Task for DigestTask {
    type Output = SessionDigest;
    type JsValue = SessionDigest;

    fn compute(&mut self) -> Result<SessionDigest> {
        guarded(|| {
            let mut digest = Digest::from_json(&self.state);
            if let Some(earlier) = &self.earlier {
                digest.set_earlier(earlier);
            }
            digest.add(&self.messages);
            Ok(SessionDigest { state: digest.to_json(), text: digest.render() })
        })
    }

    fn resolve(&mut self, _env: Env, digest: SessionDigest) -> Result<SessionDigest> {
        Ok(digest)
    }
}

fn said(message: LetGo) -> Said {
    let calls = message.calls.into_iter();
    Said {
        role: message.role.into(),
        text: message.text,
        calls: calls.map(|LetGoCall { id, name, arguments }| Call { id, name, arguments }).collect(),
        call_id: message.call_id,
        is_error: message.is_error,
    }
}

/// A change to the store. `kind` says which fields are there: "state" (`state`), "append" (`body`, `text`),
/// "replace" (`ids`, `body`, `state`) or "clear".
#[napi(object)]
pub struct StoreOperation {
    /// What is to be done.
    pub kind: String,
    /// The session.
    pub key: String,
    /// Its state.
    pub state: Option<String>,
    /// The message or the summary.
    pub body: Option<String>,
    /// The message's words, for searching.
    pub text: Option<String>,
    /// Messages that give way to the summary.
    pub ids: Option<Vec<i64>>,
}

/// What is stored of a session.
#[napi(object)]
pub struct StoredSession {
    /// Its state.
    pub state: String,
    /// Ids of the messages it keeps, in order.
    pub ids: Vec<i64>,
    /// Those messages.
    pub bodies: Vec<String>,
}

/// A message that was found.
#[napi(object)]
pub struct StoreHit {
    /// Its session.
    pub key: String,
    /// The message.
    pub body: String,
    /// Whether the session still keeps it.
    pub is_live: bool,
}

/// The file that sessions are stored in.
#[napi]
pub struct SessionStore {
    store: Arc<Store>,
    set_aside: Option<String>,
}

#[napi]
#[expect(clippy::needless_pass_by_value, reason = "napi hands strings over by value")]
impl SessionStore {
    /// Opens or makes the file.
    #[napi(constructor)]
    pub fn new(path: String) -> Result<Self> {
        guarded(|| {
            let (store, set_aside) = Store::open(&path).map_err(|error| coded(&error))?;
            Ok(Self { store: Arc::new(store), set_aside })
        })
    }

    /// Where a damaged file was put.
    #[napi(getter)]
    #[must_use]
    pub fn set_aside(&self) -> Option<String> {
        self.set_aside.clone()
    }

    /// Commits all operations or none, on a worker thread. For each the id of the message it made, or -1.
    #[napi(ts_return_type = "Promise<number[]>")]
    pub fn apply(&self, operations: Vec<StoreOperation>) -> Result<AsyncTask<ApplyTask>> {
        guarded(|| {
            let operations = operations.into_iter().map(operation).collect();
            Ok(AsyncTask::new(ApplyTask { store: self.store.clone(), operations }))
        })
    }

    /// What is stored of a session.
    #[napi]
    pub fn load(&self, key: String) -> Result<Option<StoredSession>> {
        guarded(|| {
            let stored = self.store.load(&key).map_err(|error| coded(&error))?;
            Ok(stored.map(|stored| {
                let (ids, bodies) = stored.messages.into_iter().unzip();
                StoredSession { state: stored.state, ids, bodies }
            }))
        })
    }

    /// The keys of all sessions, the oldest first.
    #[napi]
    pub fn keys(&self) -> Result<Vec<String>> {
        guarded(|| self.store.keys().map_err(|error| coded(&error)))
    }

    /// The newest messages that hold all of `query`, the newest first.
    #[napi]
    pub fn search(&self, query: String, key: Option<String>, limit: u32) -> Result<Vec<StoreHit>> {
        guarded(|| {
            let hits = self.store.search(&query, key.as_deref(), limit).map_err(|error| coded(&error))?;
            Ok(hits
                .into_iter()
                .map(|hit| StoreHit { key: hit.key, body: hit.body, is_live: hit.is_live })
                .collect())
        })
    }

    /// Changes when another process has written; null while this one is writing.
    #[napi]
    pub fn foreign_writes(&self) -> Result<Option<i64>> {
        guarded(|| self.store.foreign_writes().map_err(|error| coded(&error)))
    }

    /// Closes the file.
    #[napi]
    pub fn close(&self) -> Result<()> {
        guarded(|| self.store.close().map_err(|error| coded(&error)))
    }
}

/// Writing under way.
pub struct ApplyTask {
    store: Arc<Store>,
    operations: Vec<Operation>,
}

impl Task for ApplyTask {
    type Output = Vec<i64>;
    type JsValue = Vec<i64>;

    fn compute(&mut self) -> Result<Vec<i64>> {
        guarded(|| apply(&self.store, &self.operations))
    }

    fn resolve(&mut self, _env: Env, ids: Vec<i64>) -> Result<Vec<i64>> {
        Ok(ids)
    }
}

fn apply(store: &Store, operations: &[Operation]) -> Result<Vec<i64>> {
    let made = store.apply(operations).map_err(|error| coded(&error))?;
    Ok(made.into_iter().map(|id| id.unwrap_or(-1)).collect())
}

fn operation(operation: StoreOperation) -> Operation {
    let StoreOperation { kind, key, state, body, text, ids } = operation;
    let (state, body) = (state.unwrap_or_default(), body.unwrap_or_default());
    match kind.as_str() {
        "append" => Operation::Append { key, body, text: text.unwrap_or_default() },
        "replace" => Operation::Replace { key, ids: ids.unwrap_or_default(), body, state },
        "clear" => Operation::Clear { key },
        _ => Operation::SetState { key, state },
    }
}
