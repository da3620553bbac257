//! The request: the form in which each message is sent. Each module imports only those above it:
//!
//! - [`plan`]: the edit plan, at most one edit per message
//! - [`account`]: the form in which each message is sent, and their total size
//! - [`layers`]: finds and makes the edits that each layer allows
//! - [`validity`]: checks the providers' rules and repairs a list

pub mod account;
pub mod layers;
pub mod plan;
pub mod validity;
