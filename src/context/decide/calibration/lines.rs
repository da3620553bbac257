//! Infers whether a model's reports are about the hook's requests or about whole lists.
//! A recording does not show whether a hook ran. A hook that began at some call ran from then on. Both readings have a line,
//! and the one with the smaller errors is believed.

use super::line::{Line, Report};

/// Smallest advantage in error, in shares of a prompt, at which whole lists are believed: while a scale is learned, they may fit
/// by chance.
const MIN_LEAD: f64 = 0.25;

/// Both readings of a model's reports. They are equal until the hook's edits make a difference.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The hook ran from some call on, perhaps the first.
    edited: Line,
    /// It never ran.
    whole: Line,
}

impl Lines {
    /// Starts both from one report. `overhead` is the cl100k tokens of prompt and tools, if known.
    pub(super) fn new(whole: Report, edited: Report, overhead: Option<f64>) -> Self {
        let whole = if whole.is_possible() { whole } else { edited };
        Self { edited: Line::new(edited, overhead), whole: Line::new(whole, overhead) }
    }

    /// The line that is believed.
    pub(super) fn best(&self) -> &Line {
        if self.whole.missed + MIN_LEAD < self.edited.missed { &self.whole } else { &self.edited }
    }

    /// Adds the next report, read as `whole` list and as `edited`. Unless certain, one far off is doubted until the next
    /// agrees.
    pub(super) fn add(&mut self, whole: Report, edited: Report, is_certain: bool) {
        // The hook may have begun at this call.
        if self.whole.missed_with(&edited) + MIN_LEAD < self.edited.missed_with(&edited) {
            self.edited = self.whole.clone();
        }
        self.whole.add(whole, is_certain);
        self.edited.add(edited, is_certain);
    }
}
