//! The binding to Node: reads what JavaScript passes, runs the core on a worker thread, returns decisions. It decides
//! nothing itself.

#![expect(
    clippy::missing_errors_doc,
    reason = "every exported function fails alike: a JavaScript error, from `guarded`"
)]
#![expect(clippy::needless_pass_by_value, reason = "napi hands its arguments over by value")]

pub mod blocking;
mod content_cache;
pub mod conversation;
pub mod count;
pub mod encode;
pub mod failure;
#[cfg(all(debug_assertions, not(test)))]
mod fault;
mod guarded;
pub mod options;
mod read;
pub mod recall;
pub mod subject;
pub mod validity;
pub mod vocabulary;
mod wire;

#[doc(hidden)]
pub use read::read_anything;
