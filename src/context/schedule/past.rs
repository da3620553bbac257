//! What a conversation was before its host changed the list: compacted it, edited it, cut it short.
//!
//! A fold goes on only in a list that was added to. In any other its messages are looked for: those it shares with the list
//! tell where the change is and which calls were made before it.

use std::collections::HashMap;
use std::sync::Arc;

use super::calibration::Past;
use super::fold::Fold;
use crate::context::transcript::{Body, Message, Transcript};

/// How far behind a change the messages are looked for that were there before: it brings in a summary or a few messages.
const LOOKED_FOR: usize = 64;
/// How many messages may stand between those that a fold knows and the answer to its last call: what was edited.
const EDITED: usize = 4;
/// A report this close to what was planned tells whose call it was of.
const TELLING_MISS: f64 = 0.03;
/// Where every message stands in its place, one this close does: of a text that was edited, the size changed too.
const LIKELY_MISS: f64 = 0.25;

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
        let at = shared_len(fold, messages);
        if at < fold.len() && is_edited(fold, messages) {
            return Some(Self { at, kept_end: fold.len(), answer: Some(fold.len()), is_summed_up: false });
        }
        let (shared, rest) = messages.split_at_checked(at)?;
        let (kept_len, are_most_kept) = kept_in(fold, at, rest);
        let kept_end = at + kept_len;
        let is_kept = kept_end > at;
        let summaries = rest.iter().take_while(|message| matches!(message.body, Body::Summary)).count();
        // Reports in front of a summary, as of a branch, tell more than what was known of the list as it was.
        let is_summed_up = summaries > 0 && !shared.iter().any(|message| message.reported_tokens().is_some());

        let behind = kept_end.max(at + summaries);
        let mut near = messages.iter().enumerate().skip(behind).take(EDITED);
        let answer = near.find(|(_, message)| message.assistant().is_some());
        let answer = answer.filter(|_| is_kept || is_summed_up);
        let is_answered = answer.is_some_and(|(_, answer)| planned_miss(fold, answer) <= TELLING_MISS);

        let is_begun = shared.iter().any(|message| !message.is_system() && is_telling(message));
        // Any one message may be alike in two conversations, so it takes the newest ones, and a reason why they moved:
        // something newer in front of them, a summary, or a change among messages that mostly stayed.
        let is_undated = rest.first().is_some_and(|first| first.timestamp_ms.is_none());
        let is_after = is_after(fold, rest);
        let is_moved = (are_most_kept && is_answered) || is_after || (is_summed_up && is_undated);
        let is_replaced = is_summed_up && is_after && (is_answered || is_alone || is_begun);
        let is_cut_short = is_begun && !is_kept && !is_summed_up;
        let is_same = (is_moved && has_newest(fold, rest)) || is_replaced || is_cut_short;
        // With nothing known before it, it may as well answer a call that another schedule planned.
        let answer = answer.filter(|_| is_kept || is_answered || fold.planned_tokens().is_none());
        is_same.then_some(Self { at, kept_end, answer: answer.map(|(index, _)| index), is_summed_up })
    }

    /// What the fold's conversation was; the answer to its last call teaches too.
    pub(super) fn past<F: Fold>(self, fold: &mut F, transcript: &Transcript) -> Past {
        let end = self.answer.map_or(self.kept_end, |answer| answer + 1);
        if end == self.at && !self.is_summed_up {
            return fold.past().cut(self.at, fold.known());
        }
        if let Some(answer) = self.answer.and_then(|index| transcript.messages().get(index)) {
            let before = (0..fold.len()).filter_map(|index| fold.message(index).cloned());
            let answered = Transcript::new(before.chain([answer.clone()]).collect());
            fold.advance(&answered);
        }
        fold.past().changed(self.at, end, fold.known())
    }
}

/// How many messages stand as `fold` took them in. A report that came in or was put right changes no list.
fn shared_len<F: Fold>(fold: &F, messages: &[Arc<Message>]) -> usize {
    let is_equal = |(index, message): &(usize, &Arc<Message>)| {
        fold.message(*index).is_some_and(|known| known.identity == message.identity)
    };
    messages.iter().enumerate().take_while(is_equal).count()
}

/// Where the messages of `rest` end that `fold` took in too, from `at` on, and whether they are most of the one or the other.
/// Nothing if none of them stands near the beginning of `rest`.
fn kept_in<F: Fold>(fold: &F, at: usize, rest: &[Arc<Message>]) -> (usize, bool) {
    let places: HashMap<u128, usize> =
        (at..fold.len()).filter_map(|index| Some((fold.message(index)?.identity, index))).collect();
    let place = |message: &Arc<Message>| places.get(&message.identity).copied();
    let is_kept = |(index, message): (usize, &Arc<Message>)| {
        let next = rest.get(index + 1).and_then(place);
        place(message).is_some_and(|here| is_telling(message) || next == Some(here + 1))
    };
    if !rest.iter().enumerate().take(LOOKED_FOR).any(is_kept) {
        return (0, false);
    }
    let count = rest.iter().filter(|message| place(message).is_some()).count();
    let last = rest.iter().rposition(|message| place(message).is_some());
    (last.map_or(0, |last| last + 1), count > 2 && 2 * count > rest.len().min(fold.len() - at))
}

/// The newest message that `fold` took in.
pub(super) fn newest<F: Fold>(fold: &F) -> Option<&Arc<Message>> {
    fold.message(fold.len().checked_sub(1)?)
}

/// Whether the two newest messages that `fold` took in stand in `rest`, one behind the other: what its host took away is
/// older. One alone may be alike in two conversations.
fn has_newest<F: Fold>(fold: &F, rest: &[Arc<Message>]) -> bool {
    let from_end = |back| Some(fold.message(fold.len().checked_sub(back)?)?.identity);
    let is_pair = |pair: &[Arc<Message>]| {
        pair.iter().map(|message| Some(message.identity)).eq([from_end(2), from_end(1)])
    };
    newest(fold).is_some_and(|newest| is_telling(newest)) && rest.windows(2).any(is_pair)
}

/// Whether what `rest` begins with was made after the newest message, as a summary of it is; one that opens another
/// conversation need not have been.
fn is_after<F: Fold>(fold: &F, rest: &[Arc<Message>]) -> bool {
    let made_ms = rest.first().and_then(|summary| summary.timestamp_ms);
    let newest_ms = newest(fold).and_then(|newest| newest.timestamp_ms);
    made_ms.zip(newest_ms).is_some_and(|(made, newest)| made > newest)
}

/// How far what `answer` reports is from what the last prompt was planned to have, as a share of that; infinite where
/// either is unknown.
fn planned_miss<F: Fold>(fold: &F, answer: &Message) -> f64 {
    let tokens = answer.reported_tokens().zip(fold.planned_tokens());
    tokens.map_or(f64::INFINITY, |(reported, planned)| (reported - planned).abs() / planned)
}

/// Whether every message that `fold` took in stands in its place, a few with another text, and the next one answers the
/// fold's last call: the host edited them while the model answered. Of an answer it changes no text.
fn is_edited<F: Fold>(fold: &F, messages: &[Arc<Message>]) -> bool {
    let Some(answer) = messages.get(fold.len()).filter(|message| message.assistant().is_some()) else {
        return false;
    };
    let mut same = 0;
    let is_in_place = |(index, message): (usize, &Arc<Message>)| {
        fold.message(index).is_some_and(|known| {
            let is_same = known.identity == message.identity;
            same += usize::from(is_same);
            is_same || (is_telling(known) && is_same_input(known, message))
        })
    };
    let are_in_place = messages.iter().take(fold.len()).enumerate().all(is_in_place);
    let is_unreported = answer.reported_tokens().is_none() && fold.planned_tokens().is_some();
    let is_answered = is_unreported || planned_miss(fold, answer) <= LIKELY_MISS;
    // What was reported may be of another model, or nonsense: most messages tell as much.
    are_in_place && (is_answered || 2 * same > fold.len())
}

/// Whether two messages that are no answers are of one role and time, and of one call if they are results.
fn is_same_input(one: &Message, other: &Message) -> bool {
    let is_of_one_role = match (&one.body, &other.body) {
        (Body::Assistant(_), _) => false,
        (Body::ToolResult(one), Body::ToolResult(other)) => one.call_id == other.call_id,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    is_of_one_role && one.timestamp_ms == other.timestamp_ms
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

#[cfg(test)]
mod tests;
