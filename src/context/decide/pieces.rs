//! The names and lines that each message shows, by their ids in the index.

use std::borrow::Cow;

use crate::context::request::account::{Form, Row};

/// Names and lines of one message.
#[derive(Clone, Debug, Default)]
pub struct MessagePieces {
    /// Ids of the whole message: its names in order, then its lines in order.
    pub whole: Box<[u32]>,
    /// Ids of its edited form.
    pub edited: Option<Box<[u32]>>,
    /// The call after which it came.
    pub call: u32,
}

impl MessagePieces {
    /// Ids of the pieces that the message shows in the form of `row`.
    pub fn shown(&self, row: &Row) -> Cow<'_, [u32]> {
        self.shown_as(row, row.form())
    }

    /// Ids of the pieces that the message of `row` shows in this form.
    pub fn shown_as(&self, row: &Row, form: &Form) -> Cow<'_, [u32]> {
        match form {
            Form::Whole => Cow::Borrowed(&self.whole),
            // A cut that keeps most of the text counts as whole.
            Form::Cut(_) if 2 * row.tokens_as(form) > row.message.tokens => Cow::Borrowed(&self.whole),
            Form::Lines(_) => self.of_rows(row, row.rows_as(form).into_iter()).into(),
            Form::Cut(_) if row.message.assistant().is_some() => Cow::default(),
            Form::Edited | Form::Cut(_) => Cow::Borrowed(self.edited.as_deref().unwrap_or_default()),
            Form::Gone => Cow::default(),
        }
    }

    /// Ids of the pieces in these rows of the text, ascending and unique.
    pub fn of_rows(&self, row: &Row, rows: impl Iterator<Item = usize>) -> Vec<u32> {
        let traits = &row.message.traits;
        let Some(layout) = &traits.layout else { return Vec::new() };
        let places = rows.flat_map(|at| layout.places(at, traits.identifiers.len()));
        let mut ids: Vec<u32> = places.filter_map(|place| self.whole.get(place)).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
