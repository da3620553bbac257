//! When the layers' frontier may move.
//!
//! A transcript flows in, a draft and the reason for moving or waiting flow out. `every_call` recomputes the layers
//! each time; `sticky` folds over the transcript and moves only when that pays.

pub mod batch;
pub mod calibration;
pub mod clock;
pub mod economy;
pub mod every_call;
pub mod ledger;
pub mod stale;
pub mod sticky;
pub mod value;
