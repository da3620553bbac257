//! The sticky schedule: edits old messages in batches, when that pays. An edited message keeps its bytes.

mod batch;
mod ladder;
mod weigh;

pub(super) use self::weigh::SkiRental;
