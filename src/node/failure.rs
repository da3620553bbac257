//! Failures of calls from Node: a stable code, which JavaScript reads as `error.code`, and one sentence.

use napi::Error;
use napi::bindgen_prelude::JsError;

/// The return value of an exported function.
pub(super) type Result<T> = std::result::Result<T, Failure>;

/// The reason why a call failed. Its text never holds text of a conversation.
#[derive(Clone, Debug)]
pub struct Failure {
    code: &'static str,
    message: String,
}

impl Failure {
    /// A defect, such as a caught panic. The caller's values are unchanged.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { code: "ERR_INTERNAL", message: message.into() }
    }

    /// Invalid input.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self { code: "ERR_INVALID_INPUT", message: message.into() }
    }
}

/// An error of Node, such as a value of the wrong type.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::internal(error.reason.clone())
    }
}

/// The error that an exported function throws.
impl From<Failure> for JsError<&'static str> {
    fn from(failure: Failure) -> Self {
        Self::from(Error::new(failure.code, failure.message))
    }
}
