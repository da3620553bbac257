//! A conversation as rounds: what the user asked and what was answered in the end. Also where it can be cut, so that the
//! newest messages stay with their calls. What a round is remembered as is decided elsewhere.

use serde::{Deserialize, Serialize};

use super::message::{Said, Texts, ToolCall};
use crate::context::transcript::Link;

/// A message as far as rounds go by it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Heard {
    /// `user`, `assistant`, `tool`, `summary` (of what came before, by pi itself); others count for nothing.
    pub role: String,
    /// True if it says anything in words.
    pub speaks: bool,
    /// Ids of the calls it makes.
    pub calls: Vec<String>,
    /// The call it answers.
    pub call_id: Option<String>,
    /// True if it never came to its end.
    pub has_failed: bool,
}

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

/// Cuts `messages` so that the newest `keep` stay; more where a result would lose its call, fewer where one has none.
#[must_use]
pub fn split(messages: &[Heard], keep: usize) -> Split {
    let start = tail_start(messages, keep);
    let rounds = rounds(messages).into_iter().filter(|round| round.question < start).collect();
    let stands_alone = |heard: &Heard| match heard.role.as_str() {
        "user" => true,
        "assistant" => heard.calls.is_empty(),
        _ => false,
    };
    let spoken = (start..messages.len()).filter(|&index| messages.get(index).is_some_and(stands_alone));
    Split { start, rounds, spoken: spoken.collect() }
}

fn tail_start(messages: &[Heard], keep: usize) -> usize {
    let said: Vec<_> = messages.iter().map(Said::from).collect();
    let transcript = Texts::of(&said).transcript();
    let start = messages.len().saturating_sub(keep);
    // Something else may stand between a call and its results.
    let start = (start..messages.len()).map(|index| transcript.group_start(index)).fold(start, usize::min);
    (start..messages.len()).find(|&index| transcript.link(index) != Link::Orphan).unwrap_or(messages.len())
}

/// A remark beside a tool call stands for the answer only as long as there is no real one.
fn rounds(messages: &[Heard]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut has_final = false;
    for (index, heard) in messages.iter().enumerate() {
        match heard.role.as_str() {
            "user" => {
                rounds.push(Round { question: index, answer: None });
                has_final = false;
            }
            "summary" => {
                rounds.push(Round { question: index, answer: Some(index) });
                has_final = true;
            }
            "assistant" if heard.speaks && !heard.has_failed => {
                let is_final = heard.calls.is_empty();
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

impl From<&Heard> for Said {
    fn from(heard: &Heard) -> Self {
        let calls = heard.calls.iter().map(|id| ToolCall { id: id.clone(), ..ToolCall::default() });
        Self {
            role: if heard.role == "summary" { "user".to_owned() } else { heard.role.clone() },
            calls: calls.collect(),
            call_id: heard.call_id.clone(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heard(role: &str) -> Heard {
        Heard { role: role.into(), speaks: true, ..Heard::default() }
    }

    fn calls(ids: &[&str]) -> Heard {
        Heard { calls: ids.iter().map(|&id| id.to_owned()).collect(), ..heard("assistant") }
    }

    fn result(id: &str) -> Heard {
        Heard { call_id: Some(id.into()), ..heard("tool") }
    }

    fn pairs(messages: &[Heard]) -> Vec<(usize, Option<usize>)> {
        split(messages, 0).rounds.iter().map(|round| (round.question, round.answer)).collect()
    }

    #[test]
    fn the_last_answer_counts_and_a_remark_only_without_one() {
        let remark = calls(&["1"]);
        assert_eq!(pairs(&[heard("user"), remark.clone(), result("1")]), [(0, Some(1))]);
        let answered = [heard("user"), remark.clone(), result("1"), heard("assistant"), remark];
        assert_eq!(pairs(&answered), [(0, Some(3))]);
        let failed = Heard { has_failed: true, ..heard("assistant") };
        let silent = Heard { speaks: false, ..heard("assistant") };
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

    fn any_message() -> impl Strategy<Value = Heard> {
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
            let said: Vec<_> = messages.iter().map(Said::from).collect();
            let transcript = Texts::of(&said).transcript();
            for index in start..messages.len() {
                prop_assert!(transcript.group_start(index) >= start);
            }
            prop_assert!(start == messages.len() || transcript.link(start) != Link::Orphan);
            let questions = messages.iter().take(start).filter(|heard| matches!(&*heard.role, "user" | "summary"));
            prop_assert_eq!(rounds.len(), questions.count());
        }
    }
}
