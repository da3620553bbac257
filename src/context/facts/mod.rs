//! Turns a message's text into facts: sizes, names, lines, the files its calls act on. Each module imports only those above it:
//!
//! - [`handle`]: handles of shortened tool results
//! - [`cuts`]: cuts a long text to its head and tail; [`shorten`]: writes the short text of a tool result
//! - [`traits`]: names and lines of a message, as hashes, and the files its calls act on
//! - [`transcript`]: the conversation as the core sees it
//! - [`measure`]: reads a message's text into facts

pub mod cuts;
pub mod handle;
pub mod measure;
pub mod shorten;
pub mod traits;
pub mod transcript;
