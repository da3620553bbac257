//! What the sticky schedule knows of a message beside its place in the account: what it shows, and what became of that.

use super::ledger::Numbers;
use crate::account::{Form, Row};
use crate::plan::Reason;

/// How much of its worth something superseded keeps: its newer form shows most of it.
const SUPERSEDED_SHARE: f64 = 0.7;

/// The standing of one message.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Identifiers it shows unedited.
    pub numbers: Numbers,
    /// Those its edited form shows.
    pub kept: Option<Numbers>,
    /// Whether the model took up anything it brought.
    pub is_taken_up: bool,
    /// What superseded it.
    pub stale: Option<Reason>,
}

impl Held {
    /// Bytes it takes, and as many for its identifiers' part of the ledger.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + 2 * size_of_val(&*self.numbers)
    }

    /// Identifiers it shows as `row` is sent.
    #[must_use]
    pub fn shown(&self, row: &Row) -> &[u32] {
        match row.form() {
            Form::Whole => &self.numbers,
            Form::Edited | Form::Cut(_) => self.kept.as_deref().unwrap_or_default(),
            Form::Gone => &[],
        }
    }

    /// What losing it costs, if a newer form of it shows most of the same.
    #[must_use]
    pub fn superseded(&self, loss: f64) -> f64 {
        if self.stale.is_some() { loss * SUPERSEDED_SHARE } else { loss }
    }

    /// The rule by which it goes.
    #[must_use]
    pub fn why(&self) -> Reason {
        self.stale.unwrap_or(if self.is_taken_up { Reason::LeastUseful } else { Reason::NeverUsed })
    }
}
