//! The shorter text that may replace a tool result: for the hook a summary, for the guard a cap.
//!
//! Pure text, nothing of messages. Which results are made shorter is decided by the layers.

mod cap;
mod marker;
mod summary;

use serde::Deserialize;

pub use self::cap::Cap;
pub use self::marker::MarkerLanguage;
pub use self::summary::LineSummary;

/// Ways to make a long tool result shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shortening {
    /// First and last lines around a marker: the hook's summary.
    Lines(LineSummary),
    /// Head and tail around a note of what is missing: the guard's cap.
    Ends(Cap),
}
