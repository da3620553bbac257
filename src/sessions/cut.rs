//! The messages that a session may let go, and what goes along when single messages are deleted: calls and their results stay
//! together, by the core's own linking. Whether it is time, and what takes the place of the messages, is decided elsewhere.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::message::{Said, tokens, transcript};
use crate::context::transcript::{Link, Transcript};

/// Fewer messages are not worth a summary: one alone, or the summary of the last time.
const MIN_LET_GO: usize = 2;

/// The part of a session that stays.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Keep {
    /// Newest messages that stay; more where a result would lose its call.
    pub messages: usize,
    /// Tokens that the newest messages may take together, where that is less; the newest group always stays.
    pub tokens: Option<usize>,
    /// True if the session has a system prompt beside its messages. Without one its first system message is that.
    pub has_prompt: bool,
}

/// Indices of the messages to let go, oldest first; none where that would not be worth a summary.
///
/// A call that waits for its results stays, as long as nobody has spoken since: the core's linking says who does.
#[must_use]
pub fn let_go(messages: &[Said], keep: &Keep) -> Vec<usize> {
    let transcript = transcript(messages);
    let mut start = messages.len().saturating_sub(keep.messages);
    if let Some(limit) = keep.tokens {
        start = start.max(newest_within(&tokens(messages), limit));
        start = start.min(messages.len().saturating_sub(1));
    }
    start = with_calls(&transcript, start);
    if let Some(open) = open_call(&transcript, keep.messages) {
        start = start.min(open);
    }
    let prompt = if keep.has_prompt { None } else { messages.iter().position(|said| said.role == "system") };
    let indices: Vec<_> = (0..start).filter(|index| Some(*index) != prompt).collect();
    if indices.len() < MIN_LET_GO { Vec::new() } else { indices }
}

/// Indices of the messages that go when those at `indices` are deleted: each with its whole group.
#[must_use]
pub fn with_groups(messages: &[Said], indices: &[usize]) -> BTreeSet<usize> {
    let transcript = transcript(messages);
    let there = indices.iter().filter(|&&index| index < messages.len());
    there.flat_map(|&index| transcript.group(transcript.group_start(index))).collect()
}

/// `start`, or as far before it as the calls of the results from there on.
pub(super) fn with_calls(transcript: &Transcript, start: usize) -> usize {
    // Something else may stand between a call and its results.
    (start..transcript.len()).map(|index| transcript.group_start(index)).fold(start, usize::min)
}

/// Start of the newest messages that have at most `limit` tokens together.
fn newest_within(tokens: &[usize], limit: usize) -> usize {
    let mut sum = 0usize;
    let fitting = tokens.iter().rev().take_while(|&&tokens| {
        sum = sum.saturating_add(tokens);
        sum <= limit
    });
    tokens.len() - fitting.count()
}

/// The newest assistant message, if it waits for results that can still come: no user has spoken since, and no more
/// than `patience` messages of other kinds.
fn open_call(transcript: &Transcript, patience: usize) -> Option<usize> {
    let messages = transcript.messages();
    let call = messages.iter().rposition(|message| message.assistant().is_some())?;
    let calls = messages.get(call)?.assistant()?.call_ids.len();
    let later = call + 1..messages.len();
    let answers = later.clone().filter(|&index| transcript.link(index) == Link::ResultOf(call)).count();
    let has_ended = later.clone().any(|index| messages.get(index).is_some_and(|message| message.is_user()))
        || later.count() - answers > patience.max(MIN_LET_GO);
    (answers < calls && !has_ended).then_some(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::message::ToolCall;
    use proptest::prelude::*;

    fn said(role: &str) -> Said {
        Said { role: role.into(), content: "some words".into(), ..Said::default() }
    }

    fn calls(ids: &[&str]) -> Said {
        let calls =
            ids.iter().map(|id| ToolCall { id: (*id).into(), name: "ls".into(), arguments: "{}".into() });
        Said { tool_calls: calls.collect(), ..said("assistant") }
    }

    fn result(id: &str) -> Said {
        Said { tool_call_id: Some(id.into()), ..said("tool") }
    }

    fn keep(messages: usize) -> Keep {
        Keep { messages, tokens: None, has_prompt: true }
    }

    #[test]
    fn a_call_ends_when_the_user_speaks() {
        let mut messages = vec![said("user"), calls(&["1", "2"]), result("1")];
        assert_eq!(let_go(&messages, &keep(0)), Vec::<usize>::new(), "its results may still come");
        messages.extend(std::iter::repeat_n(said("user"), 60));
        assert_eq!(let_go(&messages, &keep(20)), (0..43).collect::<Vec<_>>());
    }

    #[test]
    fn results_keep_their_call() {
        let messages =
            [said("user"), said("assistant"), said("user"), calls(&["1", "2"]), result("1"), result("2")];
        assert_eq!(let_go(&messages, &keep(1)), [0, 1, 2]);
        assert_eq!(let_go(&messages, &keep(3)), [0, 1, 2]);
        assert_eq!(let_go(&messages, &keep(0)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(with_groups(&messages, &[4, 99]), BTreeSet::from([3, 4, 5]));
    }

    #[test]
    fn only_the_first_system_message_is_a_prompt() {
        let messages = vec![said("system"); 300];
        assert_eq!(let_go(&messages, &Keep { has_prompt: false, ..keep(20) }).len(), 279);
        assert_eq!(let_go(&messages, &keep(20)).len(), 280);
        let mut waiting = vec![said("user"), said("user"), calls(&["1"])];
        waiting.extend(std::iter::repeat_n(said("system"), 60));
        assert_eq!(let_go(&waiting, &keep(20)).len(), 43, "nobody waits for ever");
    }

    #[test]
    fn tokens_may_leave_less_than_the_messages_do() {
        let messages = vec![said("user"); 10];
        let within = |tokens| let_go(&messages, &Keep { tokens: Some(tokens), ..keep(8) }).len();
        assert_eq!((within(1000), within(8), within(0)), (2, 6, 9));
    }

    fn any_message() -> impl Strategy<Value = Said> {
        prop_oneof![
            Just(said("user")),
            Just(said("assistant")),
            Just(said("system")),
            prop::collection::vec("[a-c]", 1..4)
                .prop_map(|ids| calls(&ids.iter().map(String::as_str).collect::<Vec<_>>())),
            "[a-c]".prop_map(|id| result(&id)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_linked_goes_together(messages in prop::collection::vec(any_message(), 0..40), kept in 0usize..12) {
            let gone = let_go(&messages, &keep(kept));
            let transcript = transcript(&messages);
            for index in 0..messages.len() {
                let call = transcript.group_start(index);
                prop_assert_eq!(gone.contains(&index), gone.contains(&call));
            }
            prop_assert!(messages.len() - gone.len() >= kept.min(messages.len()));
        }
    }
}
