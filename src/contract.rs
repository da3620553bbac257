//! The table that both languages read: the names by whose positions messages and plans cross the boundary as numbers,
//! their words, and the documented defaults.
//!
//! `build.rs` writes it from `contract.json`.

#![allow(
    clippy::match_same_arms,
    clippy::unreadable_literal,
    reason = "the build writes the numbers, and an arm for each entry of the table"
)]

include!(concat!(env!("OUT_DIR"), "/contract.rs"));
