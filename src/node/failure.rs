//! The failure of a call from Node: a stable code, which JavaScript reads as `error.code`, and one sentence.

use napi::bindgen_prelude::JsError;
use napi::{Error, Status};

use crate::cancel::Cancelled;

/// The return value of an exported function.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// Why a call failed; the text never holds anything of a conversation.
#[derive(Clone, Debug)]
pub struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    /// A defect, a caught panic among them: `message` says what did not hold. Nothing of the caller's was changed.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: "ERR_INTERNAL", message: message.into() }
    }

    /// Input that makes no sense, in words.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: "ERR_INVALID_INPUT", message: message.into() }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Self { code: "ERR_CANCELLED", message: "the work was cancelled".into() }
    }
}

/// A refusal of Node's own, such as a value of the wrong type where lib/ lets none through.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::internal(error.reason.clone())
    }
}

/// The form in which an exported function throws it.
impl From<Failure> for JsError<&'static str> {
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
