//! Turns a transcript into an edit plan, in three rooms. Each imports only those above it and the [`weights`]:
//!
//! - [`facts`]: turns a message's text into facts
//! - [`request`]: the form in which each message is sent
//! - [`decide`]: decides when and how far to edit

pub mod decide;
pub mod facts;
pub mod request;
pub mod weights;
