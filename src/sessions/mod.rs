//! The SQLite database that a pipeline keeps its history in.

pub mod sqlite;
