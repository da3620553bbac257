//! The sticky schedule: edits old messages in batches, when that pays. Between batches an edited message keeps its bytes.

mod batch;
mod ladder;
mod weigh;

pub(super) use self::weigh::SkiRental;
