//! The context guard: every long tool result cut to its ends, then the oldest rounds dropped until the rest fits.
//!
//! A transcript measured with a cap and the limits flow in, edits on a draft flow out. A round is a user message or a
//! summary with all that follows until the next one. Cutting, counting and pairing are the layers' own.

use crate::layers::Limits;
use crate::layers::shrink::last_group;
use crate::plan::{Action, Draft, Layer, Reason};
use crate::schedule::every_call::drop_orphans;
use crate::text::Utf16Len;
use crate::transcript::{Body, Link, Transcript};

/// Tool results up to this length stay whole. Documented default of the guard.
pub const MAX_TOOL_RESULT_LEN: Utf16Len = Utf16Len(50_000);
/// What stays of the beginning of a longer one. Documented default of the guard.
pub const TRUNCATE_HEAD_LEN: Utf16Len = Utf16Len(2_000);
/// What stays of its end. Documented default of the guard.
pub const TRUNCATE_TAIL_LEN: Utf16Len = Utf16Len(2_000);

/// Caps the tool results and drops old rounds until the draft fits the budget.
///
/// When the newest round alone is over it, its oldest call groups go too: the question and the newest message, with
/// the call it answers, always stay.
#[must_use]
pub fn draft<'a>(transcript: &'a Transcript, limits: &Limits) -> Draft<'a> {
    let mut draft = Draft::new(transcript);
    drop_orphans(&mut draft);
    for index in 0..transcript.len() {
        let result = transcript.get(index).and_then(|message| message.tool_result());
        if result.is_some_and(|result| result.shortened.is_some()) {
            draft.apply(index, Layer::ToolResults, Action::Summarize, Reason::LongToolResult);
        }
    }
    let fits = |draft: &Draft<'_>| draft.tokens() as f64 <= limits.budget();
    let newest_round = newest_round(transcript);
    let newest_group = last_group(transcript);
    for index in 0..newest_group {
        let may_stop = index > newest_round || opens_round(transcript, index);
        if may_stop && fits(&draft) {
            break;
        }
        if is_droppable(transcript, index) && index != newest_round {
            draft.drop_group(index, Layer::Window, Reason::OverWindow);
        }
    }
    draft
}

/// Where the newest round opens; the beginning, if nothing opens one.
fn newest_round(transcript: &Transcript) -> usize {
    (0..transcript.len()).rev().find(|&index| opens_round(transcript, index)).unwrap_or(0)
}

fn opens_round(transcript: &Transcript, index: usize) -> bool {
    index == 0 || matches!(body(transcript, index), Some(Body::User | Body::Summary))
}

fn is_droppable(transcript: &Transcript, index: usize) -> bool {
    !matches!(body(transcript, index), Some(Body::System) | None)
        && !matches!(transcript.link(index), Link::ResultOf(_))
}

fn body(transcript: &Transcript, index: usize) -> Option<&Body> {
    transcript.get(index).map(|message| &message.body)
}
