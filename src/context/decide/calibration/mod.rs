//! Calibration: how each model counts, and the window that refusals taught.
//! Each model has a line through its reports for each reading of them (`lines.rs`). A
//! refusal for length that names the tokens of the prompt counts as a report.

mod learned;
mod line;
mod lines;

use std::mem::take;
use std::sync::Arc;

use self::learned::Learned;
pub use self::learned::LearnedWindow;
use self::line::Report;
use self::lines::Lines;
use super::by_model::ByModel;
use crate::context::facts::transcript::{Assistant, Message, Refusal, Source};
use crate::context::request::account::ImageSize;
use crate::context::request::layers::Limits;
use crate::contract::Subject;
use crate::tokens::estimate::{Estimate, Size};

/// Provider tokens per cl100k token before any report: Claude's on recorded sessions.
pub const PRIOR_SCALE: f64 = 1.27;
/// Assumed cl100k tokens of prompt and tools, if a model's first report is a refusal.
const USUAL_OVERHEAD: f64 = 5000.0;
/// Most answers kept without a usable report, the latest.
const UNREPORTED: usize = 16;
/// Smallest share of the estimate for a reported or refused prompt, and largest relative error of the latter. A number beyond it
/// is about another request.
const BELIEVED: f64 = 0.5;
/// Characters of text for a token: enough to tell whether images fill a request.
const TEXT_CHARS: usize = 4;

/// Size of a request without the hook's edits and with them, in cl100k tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SentSizes {
    /// The unedited transcript, as a recording without the hook sent it.
    pub raw: Size,
    /// With the edits decided then.
    pub edited: Size,
    /// Characters of the images sent, and of those that may go.
    pub image_chars: [usize; 2],
    /// The window that the host stated at the call, in tokens; `None` if unknown.
    pub stated_window: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Model {
    lines: Option<Lines>,
    learned: Learned,
    /// Most images of a request; `None` before a refusal.
    images: Option<ImageSize>,
}

/// Knowledge of a model from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Provider tokens of prompt and tools, as the host says.
    pub overhead_tokens: Option<f64>,
    /// True if the host says that the model is Claude.
    pub is_claude: bool,
    /// The estimate of the hook's other conversations.
    pub estimate: Option<Estimate>,
    /// The window that refusals taught these.
    pub window: Option<LearnedWindow>,
    /// The window that the host states now, in tokens.
    pub stated_window: f64,
}

/// A conversation's knowledge of the model that answered last.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// The model.
    pub source: &'a Source,
    /// Its estimate, and the number of reports behind it.
    pub line: Option<(Estimate, usize)>,
    /// The window that refusals taught.
    pub window: Option<LearnedWindow>,
}

/// How each model counts, and the windows that refusals taught.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    is_on: bool,
    /// Knowledge from elsewhere, used until this conversation has a report.
    pub(super) known: Known,
    /// True if a prompt of this conversation was reported, even implausibly.
    is_reported: bool,
    models: ByModel<Model>,
    /// The model that answered last, also without usage.
    newest: Source,
    /// Most tokens of the next request, if the last was refused for its length.
    pub(super) room: Option<f64>,
    /// Answers without a usable report so far, with the sizes sent: the report may come later.
    unreported: Vec<(usize, SentSizes)>,
}

impl Calibration {
    /// The state before any report. Switched off, it learns from refusals only.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// The lesson for other conversations.
    pub fn lesson(&self) -> Option<Lesson<'_>> {
        let (source, model) = self.models.entries.last()?;
        let line = model.lines.as_ref().map(Lines::best);
        Some(Lesson { source, line, window: self.learned() })
    }

    /// Continues with a rewritten list. Lessons stay: each report is about what was sent then.
    pub fn rewrite(&mut self) {
        self.unreported.clear();
    }

    /// Most tokens of the next request after a refusal. It obeys a reserve that the host set. A default one is ignored: the
    /// next request nearly reaches the endpoint's own limit.
    pub fn room_within(&self, limits: &Limits) -> Option<f64> {
        let most = if limits.reserve_tokens.is_some() { limits.budget() } else { f64::INFINITY };
        self.room.map(|room| room.min(most))
    }

    /// The window of the model that answered last, as refusals taught it, here or in another conversation of the hook.
    pub fn learned(&self) -> Option<LearnedWindow> {
        let learned = self.of_refusals();
        learned.window.or(self.known.window.filter(|known| learned.accepted <= known.tokens))
    }

    /// The lessons of refusals by the model that answered last.
    fn of_refusals(&self) -> Learned {
        self.models.entries.last().map_or(Learned::default(), |(_, model)| model.learned)
    }

    /// Forgets the learned windows: the host states another window than before.
    pub fn forget_windows(&mut self) {
        self.room = None;
        for (_, model) in &mut self.models.entries {
            model.learned = Learned::default();
        }
    }

    /// The host's limits, narrowed by what refusals taught.
    pub fn narrow(&self, limits: &Limits) -> Limits {
        let most_tokens = self.of_refusals().bound(&self.estimate());
        let most_images = self.models.get(&self.newest).and_then(|model| model.images);
        let most_images = most_images.unwrap_or(ImageSize::MAX);
        let mut narrowed = Limits { most_tokens, most_images, ..limits.clone() };
        if let Some(LearnedWindow { tokens, output }) = self.learned() {
            narrowed.context_window = tokens.min(limits.context_window);
            narrowed.output_tokens = output;
        }
        narrowed
    }

    /// Learns from the report of the call answered at `index`. A stale report, about another list than the one before it now,
    /// teaches nothing. `is_ours`: this process planned the call.
    pub fn observe(
        &mut self,
        index: usize,
        answer: &Assistant,
        sent: SentSizes,
        is_stale: bool,
        is_ours: bool,
    ) {
        self.room = None;
        self.newest.clone_from(&answer.source);
        match answer.usage.refused {
            // The window is named, but the refused size is unknown.
            Some(refusal) if is_stale && refusal.limit.is_some() => {
                self.learn(&answer.source, refusal, sent, f64::INFINITY);
            }
            _ if is_stale => {}
            Some(refusal) => self.refuse(&answer.source, refusal, sent),
            None if !self.report(answer, sent, is_ours) => {
                self.unreported.push((index, sent));
                self.unreported.drain(..self.unreported.len().saturating_sub(UNREPORTED));
            }
            None => {}
        }
    }

    fn refuse(&mut self, source: &Source, refusal: Refusal, sent: SentSizes) {
        // The account leaves these out.
        if refusal.is_of_images() || refusal.subject == Some(Subject::Thinking) {
            return;
        }
        if let Some(images) = image_limits(refusal, sent) {
            self.models.change(source, |model| {
                model.images = Some(model.images.unwrap_or(ImageSize::MAX).min(images));
            });
            return;
        }
        let size = sent.edited;
        let estimated = self.estimate().tokens(size);
        let is_known = self.models.get(source).and_then(|model| model.lines.as_ref()).is_some();
        let is_plausible = |tokens: &f64| match refusal.limit_for(*tokens) {
            _ if is_known => (tokens / estimated - 1.0).abs() <= BELIEVED,
            // Otherwise even a request without messages would be over the limit.
            Some(limit) => tokens - PRIOR_SCALE * (size.cl100k as f64) < limit,
            None => true,
        };
        if let Some(tokens) = refusal.tokens(estimated).filter(is_plausible) {
            let report = Report { tokens, size, is_ours: true };
            self.add(source, report, report, true);
        }
        self.room = self.learn(source, refusal, sent, self.estimate().tokens(size));
    }

    /// Learns the window from the refusal of a request of `tokens`. Returns the most tokens of the next one. Ignores a
    /// refusal from when the host stated another window.
    fn learn(&mut self, source: &Source, refusal: Refusal, sent: SentSizes, tokens: f64) -> Option<f64> {
        let is_of_now = |window: f64| window.total_cmp(&self.known.stated_window).is_eq();
        let learn = |model: &mut Model| model.learned.refuse(refusal, sent.edited, tokens);
        sent.stated_window.is_none_or(is_of_now).then(|| self.models.change(source, learn)).flatten()
    }

    /// Learns from late reports. Returns the indices of their messages.
    pub fn catch_up(&mut self, messages: &[Arc<Message>]) -> Vec<usize> {
        let mut late = Vec::new();
        for (index, sent) in take(&mut self.unreported) {
            let answer = messages.get(index).and_then(|message| message.assistant());
            if answer.is_some_and(|answer| self.report(answer, sent, true)) {
                late.push(index);
            } else {
                self.unreported.push((index, sent));
            }
        }
        late
    }

    /// Learns from the report of an answer. Returns `false` if it has none.
    fn report(&mut self, answer: &Assistant, sent: SentSizes, is_ours: bool) -> bool {
        let SentSizes { raw, edited, .. } = sent;
        let (source, Some(tokens)) = (&answer.source, answer.usage.prompt_tokens()) else { return false };
        self.is_reported = true;
        let [whole, edited] = [raw, edited].map(|size| Report { tokens, size, is_ours });
        self.add(source, whole, edited, false);
        let estimate = self.estimate();
        // Refusals are compared in tokens of the estimate.
        let accepted = if self.is_on { tokens } else { estimate.tokens(edited.size) };
        self.models.change(source, |model| model.learned.accept(accepted, &estimate));
        true
    }

    fn add(&mut self, source: &Source, whole: Report, edited: Report, is_certain: bool) {
        if !self.is_on {
            return;
        }
        // The host sends every model the same prompt and tools.
        let other = self.learned_estimate().map(|estimate| estimate.base / estimate.scale);
        let told = self.known.overhead_tokens.map(|overhead| overhead / PRIOR_SCALE);
        let usual = is_certain.then_some(USUAL_OVERHEAD.min(edited.tokens / 16.0));
        let overhead = other.or(told).or(usual);
        self.models.change(source, |model| match &mut model.lines {
            Some(lines) => lines.add(whole, edited, is_certain),
            None if !edited.is_possible() => {}
            lines => *lines = Some(Lines::new(whole, edited, overhead)),
        });
    }

    /// The estimate of the last model with a plausible report.
    fn learned_estimate(&self) -> Option<Estimate> {
        let lines = self.models.entries.iter().rev().find_map(|(_, model)| model.lines.as_ref())?;
        Some(lines.best().0)
    }

    /// The estimate of the next prompt.
    pub fn estimate(&self) -> Estimate {
        let Known { overhead_tokens, is_claude, estimate, .. } = self.known;
        let scale = if self.is_on && is_claude { PRIOR_SCALE } else { 1.0 };
        let usual = Estimate { scale, growth: scale, ..Estimate::PLAIN };
        let known = estimate.filter(|_| self.is_on && !self.is_reported).unwrap_or(usual);
        let stated = Estimate { base: overhead_tokens.unwrap_or(known.base), ..known };
        self.learned_estimate().unwrap_or(stated)
    }
}

/// The limits on images after a refusal: as named, or half of the removable characters less if these are most of a body that is
/// too large.
fn image_limits(refusal: Refusal, SentSizes { edited, image_chars, .. }: SentSizes) -> Option<ImageSize> {
    let number = |of: Option<u32>| of.map_or(usize::MAX, |number| number as usize);
    let [all, may_go] = image_chars;
    let are_most = refusal.subject == Some(Subject::Body) && may_go > TEXT_CHARS * edited.cl100k;
    let chars = if are_most { all - may_go / 2 } else { usize::MAX };
    let limits = ImageSize { count: number(refusal.images), largest: number(refusal.image_chars), chars };
    (limits != ImageSize::MAX).then_some(limits)
}

#[cfg(test)]
mod tests;
