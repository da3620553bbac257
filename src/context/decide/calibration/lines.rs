//! Infers which requests a model's reports are about: those of the hook, or whole lists.
//! A recording does not show whether a hook ran. A hook that began at some call ran from then on. Both readings have a line,
//! and the one with the smaller errors is believed.

use super::line::{Line, Report};

/// Largest error counted for one report, as a share of its prompt: a false report must not decide. It is also the lead in
/// error that whole lists need: they may look right while a scale is learned.
const MOST_MISSED: f64 = 0.25;

/// A reading of the reports: its line, and the sum of its errors, in shares of the prompts.
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
    /// It never ran. `None` while that makes no difference.
    whole: Option<Reading>,
}

impl Reading {
    /// The sum of its errors with this report.
    fn missed_with(&self, report: &Report) -> f64 {
        self.missed + (self.line.miss(report) / report.tokens.max(1.0)).min(MOST_MISSED)
    }

    fn add(&mut self, report: Report, is_certain: bool) {
        self.missed = self.missed_with(&report);
        if report.is_possible() {
            self.line.add(report, is_certain);
        }
    }
}

impl Lines {
    /// Starts both from one report. `overhead` is the cl100k tokens of prompt and tools, if known.
    pub(super) fn new(whole: Report, edited: Report, overhead: Option<f64>) -> Self {
        let of = |report: Report| Reading { line: Line::new(report, overhead), missed: 0.0 };
        let whole = (whole.size != edited.size && whole.is_possible()).then(|| of(whole));
        Self { edited: of(edited), whole }
    }

    /// The line with the smaller errors.
    pub(super) fn best(&self) -> &Line {
        let whole = self.whole.as_ref().filter(|whole| whole.missed + MOST_MISSED < self.edited.missed);
        &whole.unwrap_or(&self.edited).line
    }

    /// Adds the next report, read as `whole` list and as `edited`. Unless certain, one far off is doubted until the next
    /// agrees.
    pub(super) fn add(&mut self, whole: Report, edited: Report, is_certain: bool) {
        if self.whole.is_none() && whole.size != edited.size {
            self.whole = Some(self.edited.clone());
        }
        if let Some(reading) = &mut self.whole {
            // The hook may have begun at this call.
            if reading.missed_with(&edited) + MOST_MISSED < self.edited.missed_with(&edited) {
                self.edited = reading.clone();
            }
            reading.add(whole, is_certain);
        }
        self.edited.add(edited, is_certain);
    }
}
