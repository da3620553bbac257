//! The conversations of the property tests, for fuzz targets.

#[path = "../tests/properties/generator.rs"]
pub mod generator;
#[path = "../tests/properties/model.rs"]
pub mod model;

/// Messages of one conversation: small enough for many runs a second.
pub const MAX_MESSAGES: usize = 60;
