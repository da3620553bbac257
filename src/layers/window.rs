//! Layer 3, the sliding window: which groups may be dropped, oldest first.
//!
//! Protected are the system messages, the summaries before the first user message, that message itself, and the
//! newest messages, stretched back so that no tool result is cut from its call. Protected is also what the
//! conversation opens with: without it a reply could come first, which providers refuse.

use super::Limits;
use crate::transcript::{Body, Link, Message, Transcript};

/// Index from which on everything is protected.
#[must_use]
pub fn tail_start(transcript: &Transcript, limits: &Limits) -> usize {
    let messages = transcript.messages().iter().enumerate().rev();
    let newest = messages.filter(|(_, message)| !message.is_system()).map(|(index, _)| index);
    let start = newest.take(limits.recent_messages()).last().unwrap_or(transcript.len());
    (start..transcript.len()).map(|index| transcript.group_start(index)).min().unwrap_or(start)
}

/// The opening messages of the droppable groups, oldest first.
pub fn droppable<'a>(transcript: &'a Transcript, limits: &Limits) -> impl Iterator<Item = usize> + 'a {
    let head = Head::of(transcript);
    (0..tail_start(transcript, limits)).filter(move |&index| {
        !matches!(transcript.link(index), Link::ResultOf(_)) && !head.protects(transcript, index)
    })
}

/// What a conversation opens with: the first of what a provider sees as turns, unless that is a reply.
pub fn opening<'a>(turns: impl IntoIterator<Item = (usize, &'a Message)>) -> Option<usize> {
    let (index, first) = turns.into_iter().next()?;
    first.assistant().is_none().then_some(index)
}

/// Where a conversation begins: what no layer drops, however old it is.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// See [`opening`].
    opening: Option<usize>,
    first_user: Option<usize>,
}

impl Head {
    /// The head of a transcript.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Self {
        let messages = transcript.messages().iter().map(AsRef::as_ref).enumerate();
        let turns = messages.filter(|(index, message): &(usize, &Message)| {
            message.is_turn() && transcript.link(*index) != Link::Orphan
        });
        Self { opening: opening(turns), first_user: transcript.first_user() }
    }

    /// True for the system messages, the opening, the first user message and the summaries before it.
    #[must_use]
    pub fn protects(&self, transcript: &Transcript, index: usize) -> bool {
        match transcript.get(index).map(|message| &message.body) {
            Some(Body::System) | None => true,
            Some(Body::Summary) if self.first_user.is_none_or(|first| index < first) => true,
            Some(_) => Some(index) == self.opening || Some(index) == self.first_user,
        }
    }
}
