//! What a conversation was before its host changed the list: compacted it, edited it, cut it short.
//!
//! A fold goes on only in a list that was added to. In any other its messages are looked for: those it shares with the list
//! tell where the change is and which calls were made before it.

use std::collections::HashMap;
use std::sync::Arc;

use super::calibration::Past;
use super::fold::Fold;
use crate::transcript::{Body, Message, Transcript};

/// How far behind a change the messages are looked for that were there before: it brings in a summary or a few messages.
const LOOKED_FOR: usize = 64;
/// How many messages may stand between those that a fold knows and the answer to its last call: what was edited.
const EDITED: usize = 4;
/// A report this close to what was planned tells whose call it was of.
const TELLING_MISS: f64 = 0.03;

/// Where a list differs from what a fold took in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The first message that differs.
    at: usize,
    /// The end of the messages behind it that were there before; `at` if there are none.
    kept_end: usize,
    /// The answer to the fold's last call, if that stands behind them.
    answer: Option<usize>,
    /// Whether a summary stands where the change is.
    is_summed_up: bool,
}

impl Change {
    /// How `transcript` goes back to what `fold` took in; `None` where it is of another conversation. `is_alone` if the
    /// hook has seen no other.
    pub(super) fn find<F: Fold>(fold: &F, transcript: &Transcript, is_alone: bool) -> Option<Self> {
        let messages = transcript.messages();
        // A report that came in or was put right changes no list.
        let is_equal = |&(index, message): &(usize, &Arc<Message>)| {
            fold.message(index).is_some_and(|known| known.identity == message.identity)
        };
        let at = messages.iter().enumerate().take_while(is_equal).count();
        let (shared, rest) = messages.split_at_checked(at)?;
        let places: HashMap<u128, usize> = (at..fold.len())
            .filter_map(|index| fold.message(index).map(|message| (message.identity, index)))
            .collect();
        let place = |message: &Arc<Message>| places.get(&message.identity).copied();
        let is_kept = |(index, message): (usize, &Arc<Message>)| {
            let next = rest.get(index + 1).and_then(place);
            place(message).is_some_and(|here| is_telling(message) || next == Some(here + 1))
        };
        let kept_end = if rest.iter().enumerate().take(LOOKED_FOR).any(is_kept) {
            rest.iter().rposition(|message| place(message).is_some()).map_or(at, |last| at + last + 1)
        } else {
            at
        };
        let summaries = rest.iter().take_while(|message| matches!(message.body, Body::Summary)).count();
        let behind = kept_end.max(at + summaries);
        let is_summed_up = summaries > 0;
        let answer = messages.iter().enumerate().skip(behind).take(EDITED);
        let answer = answer
            .filter(|_| kept_end > at || is_summed_up)
            .find_map(|(index, message)| message.assistant().map(|_| index));
        let is_begun = shared.iter().any(|message| is_telling(message));
        let answers = || {
            let reported = answer.and_then(|index| messages.get(index)?.reported_tokens());
            let close =
                |(reported, planned): (f64, f64)| (reported - planned).abs() <= TELLING_MISS * planned;
            reported.zip(fold.planned_tokens()).is_some_and(close)
        };
        let is_answered = answers();
        let is_same = is_alone && (kept_end > at || is_begun || is_summed_up);
        // With nothing known before it, it may as well answer a call that another schedule planned.
        let answer = answer.filter(|_| kept_end > at || is_answered || fold.planned_tokens().is_none());
        is_same.then_some(Self { at, kept_end, answer, is_summed_up })
    }

    /// What the fold's conversation was; the answer to its last call teaches too.
    pub(super) fn past<F: Fold>(self, fold: &mut F, transcript: &Transcript) -> Past {
        let end = self.answer.map_or(self.kept_end, |answer| answer + 1);
        if end == self.at && !self.is_summed_up {
            return fold.past().cut(self.at);
        }
        if let Some(answer) = self.answer.and_then(|index| transcript.messages().get(index)) {
            let before = (0..fold.len()).filter_map(|index| fold.message(index).cloned());
            let answered = Transcript::new(before.chain([answer.clone()]).collect());
            fold.expect_answer();
            fold.advance(&answered);
        }
        fold.past().changed(self.at, end, fold.known())
    }
}

/// Whether no other conversation has this message: it says when it was made, or belongs to a call with an id.
fn is_telling(message: &Message) -> bool {
    let has_id = match &message.body {
        Body::Assistant(assistant) => !assistant.call_ids.is_empty(),
        Body::ToolResult(_) => true,
        _ => false,
    };
    has_id || message.timestamp_ms.is_some()
}
