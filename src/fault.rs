//! Places where a test build can be made to panic. Tests check that the process lives on and that half a change is
//! rolled back.
//!
//! The steps exist in builds with the feature `fault-injection` only; in every other build they are nothing.

#[cfg(feature = "fault-injection")]
mod armed {
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Steps until the next panic; below zero there is none to come.
    static LEFT: AtomicI64 = AtomicI64::new(-1);

    #[expect(clippy::panic, reason = "this is what it is for")]
    pub(crate) fn step() {
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            panic!("canary: an injected fault");
        }
    }

    /// Lets the step after that many more panic; a negative number disarms. Returns what was left of the last.
    pub(crate) fn arm(steps: i64) -> i64 {
        LEFT.swap(steps, Ordering::Relaxed)
    }
}

#[cfg(feature = "fault-injection")]
pub(crate) use armed::{arm, step};

#[cfg(not(feature = "fault-injection"))]
pub(crate) const fn step() {}
