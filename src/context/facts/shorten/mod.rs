//! The shorter text that may replace a tool result.
//!
//! It knows no messages: the layers decide which results are shortened.

mod marker;
mod summary;

pub use self::marker::MarkerLanguage;
pub use self::summary::LineSummary;
