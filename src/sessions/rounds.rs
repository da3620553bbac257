//! A conversation as rounds: what the user asked and what was answered in the end. Also where it can be cut, so that the
//! newest messages stay with their calls. What a round is remembered as is decided elsewhere.

use serde::Serialize;

use super::cut::with_calls;
use super::message::{Said, transcript};
use crate::context::transcript::Link;

/// A question and its answer, by the places of their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    /// The message that asks; of a summary, the summary itself.
    pub question: usize,
    /// The message that answers in the end.
    pub answer: Option<usize>,
}

/// A conversation, cut in two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// The start of the newest messages, which stay.
    pub start: usize,
    /// The rounds whose question comes before that.
    pub rounds: Vec<Round>,
    /// Those of the newest messages that can stand without any tool traffic.
    pub spoken: Vec<usize>,
}

/// Cuts `messages` so that the newest `keep` stay; more where a result would lose its call, fewer where one has none. Of
/// their words only the first matters; one that has failed never came to its end.
#[must_use]
pub fn split(messages: &[Said], keep: usize) -> Split {
    let start = tail_start(messages, keep);
    let rounds = rounds(messages).into_iter().filter(|round| round.question < start).collect();
    let stands_alone =
        |said: &Said| said.role == "user" || (said.role == "assistant" && said.tool_calls.is_empty());
    let spoken = (start..messages.len()).filter(|&index| messages.get(index).is_some_and(stands_alone));
    Split { start, rounds, spoken: spoken.collect() }
}

fn tail_start(messages: &[Said], keep: usize) -> usize {
    let transcript = transcript(messages);
    let start = with_calls(&transcript, messages.len().saturating_sub(keep));
    (start..messages.len()).find(|&index| transcript.link(index) != Link::Orphan).unwrap_or(messages.len())
}

/// A remark beside a tool call stands for the answer only as long as there is no real one.
fn rounds(messages: &[Said]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut has_final = false;
    for (index, said) in messages.iter().enumerate() {
        match said.role.as_str() {
            role @ ("user" | "summary") => {
                has_final = role == "summary";
                rounds.push(Round { question: index, answer: has_final.then_some(index) });
            }
            "assistant" if !said.content.is_empty() && said.is_error != Some(true) => {
                let is_final = said.tool_calls.is_empty();
                if let Some(round) = rounds.last_mut()
                    && (is_final || !has_final)
                {
                    round.answer = Some(index);
                    has_final = is_final;
                }
            }
            _ => {}
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::message::ToolCall;
    use proptest::prelude::*;

    fn heard(role: &str) -> Said {
        Said { role: role.into(), content: "said".into(), ..Said::default() }
    }

    fn calls(ids: &[&str]) -> Said {
        let calls = ids.iter().map(|&id| ToolCall { id: id.to_owned(), ..ToolCall::default() });
        Said { tool_calls: calls.collect(), ..heard("assistant") }
    }

    fn result(id: &str) -> Said {
        Said { tool_call_id: Some(id.into()), ..heard("tool") }
    }

    fn pairs(messages: &[Said]) -> Vec<(usize, Option<usize>)> {
        split(messages, 0).rounds.iter().map(|round| (round.question, round.answer)).collect()
    }

    #[test]
    fn the_last_answer_counts_and_a_remark_only_without_one() {
        let remark = calls(&["1"]);
        assert_eq!(pairs(&[heard("user"), remark.clone(), result("1")]), [(0, Some(1))]);
        let answered = [heard("user"), remark.clone(), result("1"), heard("assistant"), remark];
        assert_eq!(pairs(&answered), [(0, Some(3))]);
        let failed = Said { is_error: Some(true), ..heard("assistant") };
        let silent = Said { content: String::new(), ..heard("assistant") };
        assert_eq!(pairs(&[heard("assistant"), heard("user"), failed, silent]), [(1, None)]);
        assert_eq!(pairs(&[heard("summary"), heard("custom"), heard("user")]), [(0, Some(0)), (2, None)]);
    }

    #[test]
    fn the_newest_keep_their_calls_and_no_result_without_one() {
        let messages = [heard("user"), calls(&["1", "2"]), result("1"), result("2"), heard("assistant")];
        assert_eq!(split(&messages, 2).start, 1);
        assert_eq!(split(&messages, 1), Split { start: 4, rounds: rounds(&messages), spoken: vec![4] });
        assert_eq!(split(&messages[2..], 3).start, 2, "results of nothing are no beginning");
        assert_eq!(split(&messages, 4).spoken, [4]);
        assert_eq!(split(&messages, 9), Split { start: 0, rounds: vec![], spoken: vec![0, 4] });
    }

    fn any_message() -> impl Strategy<Value = Said> {
        prop_oneof![
            Just(heard("user")),
            Just(heard("assistant")),
            Just(heard("summary")),
            prop::collection::vec("[a-c]", 1..3)
                .prop_map(|ids| calls(&ids.iter().map(String::as_str).collect::<Vec<_>>())),
            "[a-c]".prop_map(|id| result(&id)),
        ]
    }

    proptest! {
        #[test]
        fn no_result_is_parted_from_its_call(messages in prop::collection::vec(any_message(), 0..30), keep in 0usize..10) {
            let Split { start, rounds, .. } = split(&messages, keep);
            let transcript = transcript(&messages);
            for index in start..messages.len() {
                prop_assert!(transcript.group_start(index) >= start);
            }
            prop_assert!(start == messages.len() || transcript.link(start) != Link::Orphan);
            let questions = messages.iter().take(start).filter(|said| matches!(&*said.role, "user" | "summary"));
            prop_assert_eq!(rounds.len(), questions.count());
        }
    }
}
