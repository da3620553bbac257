//! The switch of `crate::fault` for JavaScript, in the addon that `cargo test` builds.

use napi_derive::napi;

/// Makes the step after `steps` more panic; a negative number disarms. Returns the remaining steps of the last.
#[napi]
pub(super) fn arm_fault(steps: f64) -> f64 {
    crate::fault::arm(steps as i64) as f64
}
