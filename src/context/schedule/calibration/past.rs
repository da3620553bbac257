//! What is known of a conversation from before its host changed the list.

use std::ops::Range;

use super::report::Reading;
use crate::context::transcript::Source;

/// What is known of an agent from a transcript: what it sends beside the messages, and how its model counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub(super) source: Source,
    /// In cl100k tokens, so that it outlives a change of model.
    pub(super) overhead: f64,
    pub(super) scale: f64,
    pub(super) reading: Reading,
}

/// What the same conversation was before its host changed the list otherwise than by adding to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// What it taught.
    pub known: Option<Known>,
    /// The first message behind the change: what was known holds from there on.
    pub from: usize,
    /// Messages that were there before a change in front of them: their reports are of a list as it was.
    pub stale: Vec<Range<usize>>,
}

impl Past {
    /// What it is where the list is changed from `at` on: `known` is known there, and the messages up to `end` were there
    /// before. Where the list was changed before, what was sent was decided by what was known then, and is not decided so
    /// again.
    #[must_use]
    pub fn changed(&self, at: usize, end: usize, known: Option<Known>) -> Self {
        let is_first = *self == Self::default();
        let ranges = [0..if is_first { 0 } else { at }, at..end];
        let stale = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        Self { known, from: at, stale }
    }

    /// The same for a list that ends at `at` and goes on anew, as it would have then. Where its reports are of messages that
    /// were changed after it, only what is `known` by now is to be relied on.
    #[must_use]
    pub fn cut(&self, at: usize, known: Option<Known>) -> Self {
        let before = self.stale.iter().filter(|range| range.start < at);
        let stale: Vec<_> = before.map(|range| range.start..range.end.min(at)).collect();
        if self.from < at {
            return Self { known: self.known.clone(), from: self.from, stale };
        }
        if stale.is_empty() { Self::default() } else { self.changed(at, at, known) }
    }

    pub(super) fn is_stale(&self, index: usize) -> bool {
        self.stale.iter().any(|range| range.contains(&index))
    }

    /// What is known of the agent before a report, and the first message it holds for.
    pub(super) fn known(&self) -> (Option<&Known>, usize) {
        (self.known.as_ref(), self.from)
    }

    /// Whether calls of the list as it was stand right behind the change.
    pub(super) fn has_stale_calls(&self) -> bool {
        self.stale.last().is_some_and(|range| range.start == self.from)
    }
}
