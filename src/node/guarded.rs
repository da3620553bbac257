//! Catches panics. An uncaught one would end the host's process.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use super::failure::{Failure, Result};
use crate::fault;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and turns a panic into an error without its text. Prints nothing: a panic message may hold text of the user.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    silence_panics_inside();
    let was_inside = IS_INSIDE.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        fault::step();
        let outcome = work();
        fault::step();
        outcome
    }));
    IS_INSIDE.set(was_inside);
    outcome.unwrap_or_else(|panic| {
        // Dropping the payload could panic again.
        std::mem::forget(panic);
        Err(Failure::internal("pi-strata failed inside; its input is unchanged"))
    })
}

/// Installs a panic hook that is silent inside `guarded` and calls the host's hook elsewhere.
fn silence_panics_inside() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let host_hook = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_INSIDE.get() {
                host_hook(info);
            }
        }));
    });
}
