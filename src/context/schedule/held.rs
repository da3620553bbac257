//! The sticky schedule's notes on a message beside its place in the account: what it shows, and what became of that.

use super::ledger::Numbers;
use super::lines::LineNumbers;
use super::weights::SUPERSEDED_SHARE;
use crate::context::account::{Form, Row};
use crate::context::plan::Reason;

/// The standing of one message.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The call after which it came.
    pub entered: u32,
    /// Identifiers it shows unedited.
    pub numbers: Numbers,
    /// Those its edited form shows.
    pub kept: Option<Numbers>,
    /// Lines it shows unedited.
    pub lines: LineNumbers,
    /// Those its edited form shows.
    pub kept_lines: Option<LineNumbers>,
    /// Identifiers and lines it shows without the long arguments of its calls.
    pub cleared: Option<(Numbers, LineNumbers)>,
    /// True if the model took up anything it brought.
    pub is_taken_up: bool,
    /// Its successor.
    pub stale: Option<Reason>,
}

impl Held {
    /// Bytes it takes, and as many for its identifiers' part of the ledger.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + 2 * (size_of_val(&*self.numbers) + size_of_val(&*self.lines))
    }

    /// Identifiers it shows as `row` is sent.
    #[must_use]
    pub fn shown<'a>(&'a self, row: &'a Row) -> &'a [u32] {
        match row.form() {
            Form::Whole => &self.numbers,
            Form::Lines(_) => row.kept_lines.as_ref().map_or(&[], |kept| &kept.numbers),
            Form::Edited | Form::Cut(_) => self.kept.as_deref().unwrap_or_default(),
            Form::Cleared => self.cleared.as_ref().map_or(&[], |(numbers, _)| numbers),
            Form::Gone => &[],
        }
    }

    /// Lines it shows as `row` is sent.
    #[must_use]
    pub fn shown_lines<'a>(&'a self, row: &'a Row) -> &'a [u32] {
        match row.form() {
            Form::Whole => &self.lines,
            Form::Lines(_) => row.kept_lines.as_ref().map_or(&[], |kept| &kept.lines),
            Form::Edited => self.kept_lines.as_deref().unwrap_or(&self.lines),
            Form::Cleared => self.cleared.as_ref().map_or(&[], |(_, lines)| lines),
            Form::Cut(_) => self.kept_lines.as_deref().unwrap_or_default(),
            Form::Gone => &[],
        }
    }

    /// The cost of losing it, if a newer form of it shows most of the same.
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
