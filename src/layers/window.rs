//! Layer 3, the sliding window: which groups may be dropped, oldest first.
//!
//! Protected are the system messages, the summaries before the first user message, that message itself, and the
//! newest messages, stretched back so that no tool result is cut from its call.

use super::Limits;
use crate::transcript::{Body, Link, Transcript};

/// Index from which on everything is protected.
#[must_use]
pub fn tail_start(transcript: &Transcript, limits: &Limits) -> usize {
    let messages = transcript.messages().iter().enumerate().rev();
    let newest = messages.filter(|(_, message)| !message.is_system()).map(|(index, _)| index);
    let start = newest.take(limits.keep_recent_messages).last().unwrap_or(transcript.len());
    (start..transcript.len()).map(|index| transcript.group_start(index)).min().unwrap_or(start)
}

/// The opening messages of the droppable groups, oldest first.
pub fn droppable<'a>(transcript: &'a Transcript, limits: &Limits) -> impl Iterator<Item = usize> + 'a {
    let first_user = transcript.first_user();
    (1..tail_start(transcript, limits)).filter(move |&index| {
        !matches!(transcript.link(index), Link::ResultOf(_)) && !is_protected(transcript, index, first_user)
    })
}

/// True for messages that no layer drops: system messages, the first user message, summaries before it.
#[must_use]
pub fn is_protected(transcript: &Transcript, index: usize, first_user: Option<usize>) -> bool {
    match transcript.get(index).map(|message| &message.body) {
        Some(Body::System) | None => true,
        Some(Body::User) => Some(index) == first_user,
        Some(Body::Summary) => first_user.is_none_or(|first| index < first),
        Some(_) => false,
    }
}
