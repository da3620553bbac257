//! Sessions: what one remembers of messages it no longer keeps, by rules alone, and the file that sessions are stored
//! in. When a session is compressed, and what its messages are, is decided elsewhere: here they are text.

pub mod digest;
mod names;
pub mod search;
pub mod store;
