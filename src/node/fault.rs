//! Places where a test build can be made to panic, so that tests can watch the process live on.
//!
//! The steps exist in builds with the feature `fault-injection` only; in every other build they are nothing.

#[cfg(feature = "fault-injection")]
mod armed {
    use std::sync::atomic::{AtomicI64, Ordering};

    use napi_derive::napi;

    /// Steps until the next panic; below zero there is none to come.
    static LEFT: AtomicI64 = AtomicI64::new(-1);

    #[expect(clippy::panic, reason = "this is what it is for")]
    pub(in super::super) fn step() {
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            panic!("canary: an injected fault");
        }
    }

    /// Lets the step after that many more panic; a negative number disarms. Returns what was left of the last.
    #[napi]
    pub(super) fn arm_fault(steps: f64) -> f64 {
        LEFT.swap(steps as i64, Ordering::Relaxed) as f64
    }
}

#[cfg(feature = "fault-injection")]
pub(super) use armed::step;

#[cfg(not(feature = "fault-injection"))]
pub(super) const fn step() {}
