//! The table that both languages read: the names by whose positions messages and plans cross the boundary as numbers,
//! the markers, and the documented defaults.
//!
//! `build.rs` writes it from `contract.json`.

#![allow(clippy::unreadable_literal, reason = "the build writes the numbers")]

include!(concat!(env!("OUT_DIR"), "/contract.rs"));
