//! The layers recomputed at each call: a pure function of the transcript.

use crate::layers::{Limits, shrink, thinking, tool_results, window};
use crate::plan::{Action, Draft, Layer, Reason};
use crate::tokens::estimate::Estimate;
use crate::transcript::Transcript;
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
