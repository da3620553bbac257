//! Infers what a model's reports count: the hook's requests, these without old thinking, or whole lists.
//! A recording does not show whether a hook ran. A hook that began at some call ran from then on. Some providers, and chat
//! templates such as Qwen's, leave out the thinking of closed turns. Each reading has a line, and the one with the smallest
//! errors is believed.

use super::line::{Line, Report};
use crate::tokens::estimate::Estimate;

/// Smallest advantage in error, in shares of a prompt, at which the other readings are believed: while a scale is learned, they may
/// fit by chance.
const MIN_LEAD: f64 = 0.25;

/// The readings of a model's reports. They are equal until edits or old thinking make a difference.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The hook ran from some call on, perhaps the first.
    edited: Line,
    /// It never ran.
    whole: Line,
    /// It ran, and the provider leaves out the thinking of closed turns.
    without_old_thinking: Line,
}

impl Lines {
    /// Starts all from one report. `overhead` is the cl100k tokens of prompt and tools, if known.
    pub(super) fn new(whole: Report, edited: Report, overhead: Option<f64>) -> Self {
        let whole = if whole.is_possible() { whole } else { edited };
        let [edited, whole, without_old_thinking] =
            [edited, whole, edited.without_old_thinking()].map(|first| Line::new(first, overhead));
        Self { edited, whole, without_old_thinking }
    }

    /// The estimate of the line that is believed, and the number of its reports.
    pub(super) fn best(&self) -> (Estimate, usize) {
        let Self { edited, whole, without_old_thinking } = self;
        // If all readings have large errors, a small lead proves nothing.
        let lead = MIN_LEAD.max(without_old_thinking.missed);
        let drops_old_thinking = without_old_thinking.missed + lead < whole.missed.min(edited.missed);
        let line = if drops_old_thinking {
            without_old_thinking
        } else if whole.missed + MIN_LEAD < edited.missed {
            whole
        } else {
            edited
        };
        (Estimate { drops_old_thinking, ..line.estimate }, line.reports.len())
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
        self.without_old_thinking.add(edited.without_old_thinking(), is_certain);
    }
}
