//! Sessions: what may go when one is compressed, what is remembered of it, how its messages are found, and the SQLite
//! database they are kept in. Other stores keep the same rows; every decision about them is taken here.

pub mod cut;
pub mod digest;
pub mod language;
pub mod message;
mod names;
pub mod prompt;
pub mod rounds;
pub mod search;
pub mod sqlite;
pub mod store;
pub mod summary;
