//! Places where a test build can be made to panic. Tests check that the process lives on and that half a change is
//! rolled back.
//!
//! The steps exist in the addon that `cargo test` builds; in one that ships they are nothing.

#[cfg(all(debug_assertions, feature = "node", not(test)))]
mod armed {
    use std::sync::atomic::{AtomicI64, Ordering};

    /// Steps until the next panic; below zero there is none to come.
    static LEFT: AtomicI64 = AtomicI64::new(-1);

    pub(crate) fn step() {
        assert!(LEFT.fetch_sub(1, Ordering::Relaxed) != 0, "canary: an injected fault");
    }

    /// Lets the step after that many more panic; a negative number disarms. Returns what was left of the last.
    pub(crate) fn arm(steps: i64) -> i64 {
        LEFT.swap(steps, Ordering::Relaxed)
    }
}

#[cfg(all(debug_assertions, feature = "node", not(test)))]
pub(crate) use armed::{arm, step};

#[cfg(not(all(debug_assertions, feature = "node", not(test))))]
pub(crate) const fn step() {}
