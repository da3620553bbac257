//! The failure of a call from Node: a stable code, which JavaScript reads as `error.code`, and one sentence.

use napi::bindgen_prelude::JsError;
use napi::{Error, Status};

use crate::cancel::Cancelled;
use crate::sessions::sqlite;

/// The return value of an exported function.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Why a call failed; the text never holds anything of a conversation.
#[derive(Clone, Debug)]
pub struct Failure {
    code: Code,
    message: String,
}

/// The kinds of failure that JavaScript tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A defect here, a caught panic among them; nothing of the caller's was changed.
    Internal,
    /// The input makes no sense.
    InvalidInput,
    /// The caller asked the work to stop.
    Cancelled,
    /// The embedded database.
    Database(sqlite::Kind),
}

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        match self {
            Self::Internal => "ERR_INTERNAL",
            Self::InvalidInput => "ERR_INVALID_INPUT",
            Self::Cancelled => "ERR_CANCELLED",
            Self::Database(kind) => kind.code(),
        }
    }
}

impl Failure {
    /// A defect: `message` says what did not hold.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: Code::Internal, message: message.into() }
    }

    /// Input that makes no sense, in words.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: Code::InvalidInput, message: message.into() }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Self { code: Code::Cancelled, message: "the work was cancelled".into() }
    }
}

impl From<sqlite::Error> for Failure {
    fn from(error: sqlite::Error) -> Self {
        Self { code: Code::Database(error.kind()), message: error.to_string() }
    }
}

/// A refusal of Node's own, such as a value of the wrong type where lib/ lets none through.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::internal(error.reason.clone())
    }
}

/// The form in which an exported function throws it.
impl From<Failure> for JsError<Code> {
    fn from(failure: Failure) -> Self {
        Self::from(Error::new(failure.code, failure.message))
    }
}

/// The part that is left where napi's own error type is asked for: the sentence.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::new(Status::GenericFailure, failure.message)
    }
}

/// The value that a caught panic becomes.
pub(super) trait FromPanic {
    /// The error, without the panic's own text.
    fn from_panic() -> Self;
}

const PANICKED: &str = "pi-strata failed inside; its input is unchanged";

impl FromPanic for Failure {
    fn from_panic() -> Self {
        Self::internal(PANICKED)
    }
}

impl FromPanic for Error {
    fn from_panic() -> Self {
        Self::new(Status::GenericFailure, PANICKED)
    }
}
