//! The sticky schedule's notes on a message beside its place in the account: what it shows, and what became of that.

use super::index::Numbers;
use crate::context::request::account::{Form, Row};

/// The standing of one message.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Numbers of what it shows unedited.
    pub numbers: Numbers,
    /// Of what its edited form shows.
    pub kept: Option<Numbers>,
    /// The call after which it came.
    pub call: u32,
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
}
