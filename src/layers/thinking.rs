//! Layer 2, old thinking: which assistant messages may lose their thinking blocks, whole or not at all.

use super::{Limits, ThinkingScope};
use crate::transcript::{Assistant, Message, Transcript};

/// Protocols on which a function call, or a text with an id, is refused without the reasoning item before it.
const REASONING_ITEM_APIS: [&str; 3] =
    ["openai-responses", "azure-openai-responses", "openai-codex-responses"];
/// The protocol on which some models want their reasoning field beside every tool call.
const WIRE_FIELD_API: &str = "openai-completions";

/// Indices of the messages that may lose their thinking: all but the newest that have any.
///
/// A message pi does not send uses up none of the kept ones. The step under way keeps its thinking in any case.
pub fn strippable<'a>(transcript: &'a Transcript, limits: &Limits) -> impl Iterator<Item = usize> + 'a {
    let keep = limits.keep_recent_thinking;
    let end = match limits.thinking_scope {
        ThinkingScope::All => transcript.len(),
        ThinkingScope::ClosedTurns => transcript.last_user().unwrap_or(0),
    };
    let step = step_under_way(transcript.messages().iter().map(AsRef::as_ref).enumerate().rev());
    let mut kept = 0;
    transcript.messages().iter().enumerate().rev().filter_map(move |(index, message)| {
        let assistant = message.assistant()?;
        assistant.thinking?;
        if kept < keep {
            kept += usize::from(message.is_sent);
            return None;
        }
        (index < end && Some(index) != step && may_lose_thinking(assistant)).then_some(index)
    })
}

/// The newest assistant message sent, if it made calls: as long as the tool loop goes on the provider wants its
/// thinking back.
pub fn step_under_way<'a>(newest_first: impl IntoIterator<Item = (usize, &'a Message)>) -> Option<usize> {
    let sent = |(index, message): (usize, &'a Message)| Some((index, message.sent_assistant()?));
    let (index, newest) = newest_first.into_iter().find_map(sent)?;
    (!newest.call_ids.is_empty()).then_some(index)
}

/// False where the provider would refuse the message without its thinking, or nothing would be left of it.
#[must_use]
pub fn may_lose_thinking(assistant: &Assistant) -> bool {
    let api = &*assistant.source.api;
    let has_call = !assistant.call_ids.is_empty();
    let names_field = assistant.thinking.is_some_and(|thinking| thinking.names_wire_field);
    let is_bound = (REASONING_ITEM_APIS.contains(&api) && (has_call || assistant.has_text_id))
        || (api == WIRE_FIELD_API && has_call && names_field);
    assistant.has_other_content && !is_bound
}
