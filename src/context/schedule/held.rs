//! The sticky schedule's notes on a message beside its place in the account: what it shows, and what became of that.

use super::shown::Numbers;
use crate::context::account::{Form, Row};
use crate::context::plan::Reason;

/// The standing of one message.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Numbers of what it shows unedited.
    pub numbers: Numbers,
    /// Of what its edited form shows.
    pub kept: Option<Numbers>,
    /// True if the model took up anything it brought.
    pub is_taken_up: bool,
}

impl Held {
    /// Numbers of what it shows as `row` is sent.
    #[must_use]
    pub fn shown<'a>(&'a self, row: &'a Row) -> &'a [u32] {
        match row.form() {
            Form::Whole => &self.numbers,
            // Head and tail of which most is there.
            Form::Cut(_) if 2 * row.tokens() > row.message.tokens => &self.numbers,
            Form::Lines(_) => row.kept_lines.as_ref().map_or(&[], |kept| &kept.numbers),
            Form::Edited | Form::Cut(_) => self.kept.as_deref().unwrap_or_default(),
            Form::Gone => &[],
        }
    }

    /// The rule by which it goes.
    #[must_use]
    pub fn why(&self) -> Reason {
        if self.is_taken_up { Reason::LeastUseful } else { Reason::NeverUsed }
    }
}
