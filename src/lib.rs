//! pi-strata keeps an LLM agent's context small.
//!
//! Text goes in once, decisions come out. The rooms, each knowing only those above it:
//!
//! - [`cancel`]: how long work is asked to stop
//! - [`text`]: UTF-16 lengths, lines and cuts; [`tokens`]: exact cl100k counts and the estimate made of them
//! - [`traits`]: what a message is about, as hashes
//! - [`handle`]: the handle by which a shortened tool result can be read back
//! - [`cuts`]: how a long text can be cut to its ends; [`shorten`]: the shorter text for a long tool result
//! - [`transcript`]: what the core sees of a conversation; [`plan`]: what it answers
//! - [`account`]: what is sent of each message, and the sum: the one place where that is told
//! - [`layers`]: what may be edited, one pure function each; [`measure`]: from a message's text to its facts
//! - [`validity`]: the providers' rules, checked and mended
//! - [`schedule`]: when the layers may move; [`guard`]: a cap and a budget, for hosts that want no more
//! - [`recall`]: reading back what was summarised
//! - [`session_file`]: recorded sessions, read for the replay from what it is given to read; it knows none of the others
//! - [`sqlite`]: opens the embedded database; with the rooms that keep things there, the only one that does I/O
//! - [`history`]: the conversations of hosts that keep their own
//! - [`sessions`]: what a session may let go and what is said of it; the SQLite database that sessions are kept in
//! - `fault`: where builds made for that alone can be made to panic; every room may name it
//! - `node`: the only room that knows Node, behind the feature of that name

pub mod account;
pub mod cancel;
pub mod cuts;
mod fault;
pub mod guard;
pub mod handle;
pub mod history;
pub mod layers;
pub mod measure;
#[cfg(feature = "node")]
pub mod node;
pub mod plan;
pub mod recall;
pub mod schedule;
pub mod session_file;
pub mod sessions;
pub mod shorten;
pub mod sqlite;
pub mod text;
pub mod tokens;
pub mod traits;
pub mod transcript;
pub mod validity;
