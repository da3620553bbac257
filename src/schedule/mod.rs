//! When the layers' frontier may move.

pub mod every_call;
