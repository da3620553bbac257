//! JSON across the boundary: what JavaScript writes, with lone surrogates too, and what it reads.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::blocking::{Promise, blocking};
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::replay::mend_json;

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| refused(&error))
}

/// Reads JSON as JavaScript writes it: lone surrogates are no UTF-8.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&mend_json(text.as_bytes()).unwrap_or_default()))
        .map_err(|error| refused(&error))
}

/// The position alone: the text beside it may be the user's.
fn refused(error: &serde_json::Error) -> Failure {
    Failure::invalid(format!("not understood at column {}", error.column()))
}

/// Does `work` on a worker thread.
pub(super) fn promised(work: impl FnOnce() -> Result<String> + Send + 'static) -> Result<Promise<String>> {
    guarded(|| Ok(blocking(None, move |_| work())))
}
