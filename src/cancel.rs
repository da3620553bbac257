//! A request to stop, shared by whoever makes it and the work it is about.
//!
//! Work is never interrupted: what takes long asks [`Cancel::check`] between two steps and returns early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is raised once. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// The work was asked to stop and has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl Cancel {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails once the work was asked to stop.
    ///
    /// ```
    /// use pi_strata::cancel::{Cancel, Cancelled};
    ///
    /// let cancel = Cancel::default();
    /// let counted = |rows: &[u32]| {
    ///     let mut sum = 0;
    ///     for row in rows {
    ///         cancel.check()?;
    ///         sum += row;
    ///     }
    ///     Ok(sum)
    /// };
    /// assert_eq!(counted(&[1, 2]), Ok(3));
    /// cancel.cancel();
    /// assert_eq!(counted(&[1, 2]), Err(Cancelled));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Cancelled`], from the moment [`Cancel::cancel`] was called.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}
