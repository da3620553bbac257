//! What each message shows, as positions in the index: whole, and in the form it is sent in. The index reads a message at the
//! first batch after it came.

use std::borrow::Cow;

use super::index::CoverageIndex;
use crate::context::facts::transcript::Message;
use crate::context::request::account::{Form, Row};

/// The pieces of one message.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// True if it was sent in some form when it came.
    pub is_shown: bool,
    /// Positions of what it shows unedited: its names in their order, then its lines in theirs.
    pub numbers: Box<[u32]>,
    /// Of what its edited form shows.
    pub kept: Option<Box<[u32]>>,
    /// The call after which it came.
    pub call: u32,
}

impl Held {
    /// Enters the message of `row` into the index. `opener` is the message that opens its group.
    pub fn enter(&mut self, index: &mut CoverageIndex, row: &Row, opener: Option<&Message>) {
        let (message, traits) = (&row.message, &row.message.traits);
        index.go_to(self.call);
        self.numbers = index.number(&traits.identifiers, &traits.lines);
        let kept_lines = traits.kept_lines.as_deref().unwrap_or(&traits.lines);
        self.kept = traits.kept.as_ref().map(|kept| index.number(kept, kept_lines));
        let call = opener.and_then(|opener| opener.traits.targets.get(row.call));
        index.enter(&self.numbers, traits, message.assistant().is_some(), call);
    }

    /// Positions of what it shows as `row` is sent.
    #[must_use]
    pub fn shown(&self, row: &Row) -> Cow<'_, [u32]> {
        match row.form() {
            Form::Whole => Cow::Borrowed(&self.numbers),
            // Head and tail of which most is there.
            Form::Cut(_) if 2 * row.tokens() > row.message.tokens => Cow::Borrowed(&self.numbers),
            Form::Lines(_) => self.of_rows(row, row.sent_rows().into_iter()).into(),
            Form::Edited | Form::Cut(_) => Cow::Borrowed(self.kept.as_deref().unwrap_or_default()),
            Form::Gone => Cow::default(),
        }
    }

    /// Positions of what these rows of the text of `row` show, ascending, each once.
    #[must_use]
    pub fn of_rows(&self, row: &Row, rows: impl Iterator<Item = usize>) -> Vec<u32> {
        let traits = &row.message.traits;
        let Some(layout) = &traits.layout else { return Vec::new() };
        let places = rows.flat_map(|at| layout.places(at, traits.identifiers.len()));
        let mut numbers: Vec<u32> = places.filter_map(|place| self.numbers.get(place)).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
