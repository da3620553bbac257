//! Values into the store and out of it, in the shape JavaScript writes and reads (`lib/sessions/store/store.d.ts`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::sessions::sqlite::{Error, Kind};

/// One change to one session: namespace, key, change.
pub type Operation = (String, String, Change);

/// The change.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Change {
    /// Messages at the end; those whose id is there already are not stored again.
    Append {
        /// In this order.
        messages: Vec<NewMessage>,
    },
    /// Each field by itself; `None` removes it.
    Fields {
        /// By name.
        #[serde(default)]
        fields: BTreeMap<String, Option<String>>,
        /// The system prompt.
        prompt: Option<String>,
        /// Set it only where there is none.
        #[serde(default)]
        prompt_if_absent: bool,
    },
    /// A summary in place of messages, if session and revision are these still.
    Compress {
        /// Number of the session: a successor of the same key has another.
        session: i64,
        /// The revision that the compression was worked out from.
        revision: i64,
        /// Ids of the messages.
        let_go: Vec<String>,
        /// Delete them instead of keeping them for search.
        forget: bool,
        /// The message in their place; it is not searched.
        summary: NewMessage,
        /// The digest from now on.
        digest: String,
        /// Added to what was saved before.
        tokens_saved: i64,
    },
    /// Messages that are gone for good.
    Delete {
        /// Their ids.
        ids: Vec<String>,
    },
    /// The session is gone for good.
    Clear {},
    /// A whole session, where there is none of that key.
    Import {
        /// The session besides its messages.
        state: Value,
        /// With the seqs and places they had.
        messages: Vec<ImportedMessage>,
    },
}

/// A message to be appended.
#[derive(Clone, Debug, Deserialize)]
pub struct NewMessage {
    /// Unique in its session.
    pub id: String,
    /// The message as JSON.
    pub body: String,
}

/// A message of an import.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedMessage {
    /// Unique in its session.
    pub id: String,
    /// The message as JSON.
    pub body: String,
    /// Order of appending.
    pub seq: i64,
    /// Order among those kept.
    pub place: i64,
    /// True if the session keeps it.
    pub is_live: bool,
    /// True if it is a summary, which is not searched.
    pub is_summary: bool,
}

/// Tells one state of a session from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    /// Never given to another session.
    pub session: i64,
    /// Grows by one with every change.
    pub version: i64,
    /// Grows with compressions and deletions.
    pub revision: i64,
    /// ms since 1970.
    pub created_at: i64,
    /// ms since 1970.
    pub updated_at: i64,
}

/// The outcome of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outcome {
    /// False where nothing was to be changed.
    pub applied: bool,
    /// The session afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
    /// The prompt that is there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// A row of a statement's answer, in JSON.
#[derive(Debug, Deserialize, Serialize)]
pub struct AnswerRow(pub Box<RawValue>);

impl AnswerRow {
    pub(super) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        serde_json::from_str(self.0.get()).map_err(|_| Kind::Other.into())
    }
}

/// A question to a store; namespace and key name a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// The session with what it keeps: its state, then its messages.
    Load(String, String),
    /// Its stamp alone.
    Stamp(String, String),
    /// Its messages, those let go too.
    Read(String, String, Page),
    /// A page of sessions.
    List {
        /// Whose.
        namespace: String,
        /// The order.
        order: Order,
        /// Their number.
        limit: i64,
        /// The cursor of the page before.
        cursor: Option<String>,
    },
    /// Messages by their words, the newest first.
    Search {
        /// Its place.
        namespace: String,
        /// In this session alone.
        key: Option<String>,
        /// All of them must occur.
        phrases: Vec<String>,
        /// Number of messages.
        limit: i64,
    },
    /// Of a server: some sessions of a namespace that nothing was done to since then are forgotten; how many at most.
    PruneSessions(String, i64, i64),
    /// Of a server: the same of messages that others let go.
    PruneLetGo(String, i64, i64),
}

/// A page of a session's messages.
#[derive(Clone, Debug, Deserialize)]
pub struct Page {
    /// Only later ones.
    pub after: Option<i64>,
    /// Their number.
    pub limit: i64,
}

/// Order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The oldest first.
    Created,
    /// The one changed last first.
    Updated,
}

/// The messages that retention took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Whole sessions.
    pub sessions: i64,
    /// Their messages, and those that others let go before.
    pub messages: i64,
}
