//! From a transcript to the plan of what is sent. The rooms, each knowing only those above it:
//!
//! - [`traits`]: what a message is about, as hashes
//! - [`handle`]: the handle by which a shortened tool result can be read back
//! - [`cuts`]: how a long text can be cut to its ends; [`shorten`]: the shorter text for a long tool result
//! - [`transcript`]: what the core sees of a conversation; [`plan`]: what it answers
//! - [`account`]: what is sent of each message, and the sum: the one place where that is told
//! - [`layers`]: what may be edited, one pure function each; [`measure`]: from a message's text to its facts
//! - [`validity`]: the providers' rules, checked and mended
//! - [`schedule`]: when the layers may move

pub mod account;
pub mod cuts;
pub mod handle;
pub mod layers;
pub mod measure;
pub mod plan;
pub mod schedule;
pub mod shorten;
pub mod traits;
pub mod transcript;
pub mod validity;
