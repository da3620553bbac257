//! The shorter text that may replace a tool result.
//!
//! Pure text, nothing of messages. Which results are made shorter is decided by the layers.

mod marker;
mod summary;

pub use self::marker::MarkerLanguage;
pub use self::summary::LineSummary;
