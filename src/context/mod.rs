//! Turns a transcript into an edit plan, in three rooms, each knowing only those above it and the [`weights`]:
//!
//! - [`facts`]: from a message's text to its facts
//! - [`request`]: the form in which each message is sent
//! - [`decide`]: when and how far to edit

pub mod decide;
pub mod facts;
pub mod request;
pub mod weights;
