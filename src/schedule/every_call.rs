//! The layers recomputed at each call: a pure function of the transcript.
//!
//! The fold beside them learns from each reported prompt how the provider counts; it decides nothing.

use super::calibration::{Calibration, Sent};
use super::fold::Fold;
use crate::layers::{Limits, shrink, thinking, tool_results, window};
use crate::plan::{Action, Draft, Layer, Reason};
use crate::tokens::estimate::Estimate;
use crate::transcript::{Message, Transcript};
use crate::validity;

/// Layers 1 to 3 on a fresh draft, and layer 4's first steps where even that is over the budget.
#[must_use]
pub fn draft<'a>(transcript: &'a Transcript, limits: &Limits, estimate: &Estimate) -> Draft<'a> {
    let mut draft = Draft::new(transcript);
    drop_orphans(&mut draft);
    for index in tool_results::summarizable(transcript, limits) {
        draft.apply(index, Layer::ToolResults, Action::Summarize, Reason::OldToolResult);
    }
    for index in thinking::strippable(transcript, limits) {
        draft.apply(index, Layer::Thinking, Action::StripThinking, Reason::OldThinking);
    }
    let mut groups = window::droppable(transcript, limits);
    while estimate.tokens(draft.tokens()) > limits.threshold() {
        let Some(start) = groups.next() else { break };
        draft.drop_group(start, Layer::Window, Reason::OverThreshold);
    }
    drop(groups);
    shrink::shrink(&mut draft, limits, estimate);
    draft
}

/// Leaves out tool results that answer no call: a provider refuses the whole request over one.
pub fn drop_orphans(draft: &mut Draft<'_>) {
    let transcript = draft.transcript();
    for index in validity::orphans(transcript) {
        draft.apply(index, Layer::Repair, Action::Drop, Reason::OrphanResult);
    }
}

/// What the reports in a transcript teach when each call was planned by [`draft`].
pub struct EveryCall {
    limits: Limits,
    fingerprints: Vec<u128>,
    calibration: Calibration,
}

impl EveryCall {
    /// The fold before any message.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, fingerprints: Vec::new(), calibration: Calibration::default() }
    }

    /// How prompts are estimated now.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        self.calibration.estimate()
    }

    /// Takes in what is new in `transcript`.
    pub fn advance(&mut self, transcript: &Transcript) {
        for (index, message) in transcript.messages().iter().enumerate().skip(self.fingerprints.len()) {
            if let Some((assistant, reported)) = message.assistant().and_then(|a| Some((a, a.prompt_tokens?)))
            {
                let before = transcript.up_to(index);
                let edited = draft(&before, &self.limits, &self.estimate()).tokens();
                self.calibration.observe(&assistant.source, reported, Sent { raw: before.tokens(), edited });
            }
            self.fingerprints.push(message.fingerprint);
        }
    }
}

impl Fold for EveryCall {
    fn len(&self) -> usize {
        self.fingerprints.len()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn bytes(&self) -> usize {
        size_of_val(self.fingerprints.as_slice())
    }

    fn has(&self, index: usize, message: &Message) -> bool {
        self.fingerprints.get(index) == Some(&message.fingerprint)
    }
}
