//! Which requests a model's reports are of: those that the hook made, or whole lists.
//!
//! A recording does not tell whether a hook ran when it was made. One that began at some call ran from then on. Both readings
//! have a line of their own, and the one that missed less of what was reported is believed.

use super::line::{Line, Report};

/// Most of a prompt that one miss counts for: a false report must not decide.
const MOST_MISSED: f64 = 0.25;
/// Misses, in shares of a prompt, by which whole lists must be ahead: while a scale is learned they may look right.
const LEAST_LEAD: f64 = 0.2;

/// A reading of the reports: its line, and by how much it missed them, in shares of their prompts.
#[derive(Clone, Debug)]
struct Reading {
    line: Line,
    missed: f64,
}

/// Both readings of a model's reports.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// The hook ran from some call on, perhaps the first.
    edited: Reading,
    /// It never ran. `None` as long as that makes no difference.
    whole: Option<Reading>,
}

impl Reading {
    /// The sum of its misses if this report comes next.
    fn missed_with(&self, report: &Report) -> f64 {
        self.missed + (self.line.miss(report) / report.tokens.max(1.0)).min(MOST_MISSED)
    }

    fn take(&mut self, report: Report, is_certain: bool) {
        self.missed = self.missed_with(&report);
        if report.is_possible() {
            self.line.take(report, is_certain);
        }
    }
}

impl Lines {
    /// Starts both from one report. `overhead` is the size of prompt and tools in cl100k tokens, if it is known.
    pub(super) fn new(whole: Report, edited: Report, overhead: Option<f64>) -> Self {
        let of = |report: Report| Reading { line: Line::new(report, overhead), missed: 0.0 };
        let whole = (whole.size != edited.size && whole.is_possible()).then(|| of(whole));
        Self { edited: of(edited), whole }
    }

    /// The line that is believed.
    pub(super) fn best(&self) -> &Line {
        let whole = self.whole.as_ref().filter(|whole| whole.missed + LEAST_LEAD < self.edited.missed);
        &whole.unwrap_or(&self.edited).line
    }

    /// Takes in the next report, of the whole list or of what the hook makes of it. One that is far off is doubted, unless it is
    /// `certain`, until the next one agrees.
    pub(super) fn take(&mut self, whole: Report, edited: Report, is_certain: bool) {
        if self.whole.is_none() && whole.size != edited.size {
            self.whole = Some(self.edited.clone());
        }
        if let Some(reading) = &mut self.whole {
            // The hook may have begun at this call.
            if reading.missed_with(&edited) + LEAST_LEAD < self.edited.missed_with(&edited) {
                self.edited = reading.clone();
            }
            reading.take(whole, is_certain);
        }
        self.edited.take(edited, is_certain);
    }
}
