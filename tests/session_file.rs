//! Properties of the session reader on input nobody wrote: it never panics, hands out only messages, reports exactly
//! the lines it could not read, and gives each call what the file held when that call was made.

#![expect(clippy::expect_used, reason = "a test fails where its own input is not what it must be")]

use pi_strata::replay::{Cause, Format, Recording};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values from which lines are put together: few enough that links, ids and kinds meet by chance.
fn short_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!(7)),
    ]
}

fn content() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        any::<String>().prop_map(|text| json!({ "type": "text", "text": text })),
        any::<String>().prop_map(|text| json!({ "type": "thinking", "thinking": text, "signature": "s" })),
        short_id().prop_map(|id| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} })),
        (short_id(), any::<String>())
            .prop_map(|(id, text)| json!({ "type": "tool_result", "tool_use_id": id, "content": text })),
        Just(json!({ "type": "image", "source": { "media_type": "image/png", "data": "" } })),
        Just(json!(3)),
    ];
    prop_oneof![
        3 => prop::collection::vec(block, 0..4).prop_map(Value::Array),
        1 => any::<String>().prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn role() -> impl Strategy<Value = Value> {
    let roles = vec!["user", "assistant", "toolResult", "system", "hookMessage", "odd"];
    prop_oneof![8 => prop::sample::select(roles).prop_map(Value::from), 1 => Just(json!(1))]
}

fn pi_line() -> impl Strategy<Value = Value> {
    let types = vec![
        "message",
        "message",
        "message",
        "compaction",
        "branch_summary",
        "custom_message",
        "context_edit",
        "label",
        "leaf",
        "session",
        "unheard_of",
    ];
    (prop::sample::select(types), short_id(), short_id(), short_id(), role(), content(), 0..6_usize).prop_map(
        |(kind, id, parent, target, role, content, index)| {
            json!({
                "type": kind, "id": id, "parentId": parent, "targetId": target, "fromId": target,
                "timestamp": "2026-01-01T00:00:00.000Z", "summary": "s", "content": content,
                "firstKeptEntryId": target, "firstKeptEntryIndex": index,
                "replacement": { "content": content }, "message": { "role": role, "content": content },
            })
        },
    )
}

fn claude_line() -> impl Strategy<Value = Value> {
    let types = vec!["user", "user", "assistant", "assistant", "system", "summary", "attachment"];
    (prop::sample::select(types), short_id(), short_id(), short_id(), content(), any::<(bool, bool, bool)>()).prop_map(
        |(kind, uuid, parent, response, content, (side, meta, compact))| {
            json!({
                "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": side, "isMeta": meta,
                "isCompactSummary": compact, "subtype": "compact_boundary",
                "compactMetadata": { "preTokens": 1, "preservedMessages": { "uuids": [response] } },
                "message": { "id": response, "role": kind, "content": content, "usage": { "input_tokens": 1 } },
            })
        },
    )
}

fn joined(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into_bytes()
}

fn sound(session: &Recording, file: &[u8]) -> Result<(), TestCaseError> {
    for message in &session.context() {
        prop_assert!(message.get("role").is_some_and(Value::is_string), "{message}");
    }
    let line_count = file.split(|byte| *byte == b'\n').count();
    for problem in &session.problems {
        prop_assert!((1..=line_count).contains(&problem.line));
        prop_assert!(
            problem.message.ends_with('.') && !problem.message.contains('\n'),
            "{}",
            problem.message
        );
    }
    Ok(())
}

/// Number of results that stand before the message with their call, or twice.
fn misplaced_results(messages: &[Value]) -> usize {
    let mut open = Vec::new();
    let mut misplaced = 0;
    for message in messages {
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        let calls =
            blocks.filter(|b| b.get("type") == Some(&json!("toolCall"))).filter_map(|b| b.get("id").cloned());
        if message.get("role") == Some(&json!("assistant")) {
            open.extend(calls);
        }
        if message.get("role") == Some(&json!("toolResult")) {
            match open.iter().position(|id| Some(id) == message.get("toolCallId")) {
                Some(at) => drop(open.swap_remove(at)),
                None => misplaced += 1,
            }
        }
    }
    misplaced
}

fn read(file: &[u8]) -> Recording {
    Recording::read(file)
}

/// Each recorded call: the answer, and the messages before it.
fn calls(file: &[u8]) -> Vec<(Value, Vec<Value>)> {
    let recording = read(file);
    let message = |number: usize| -> Value {
        serde_json::from_str(recording.timeline.messages.get(number).expect("is there")).expect("is JSON")
    };
    let stretches = recording.timeline.stretches.clone();
    let mut calls = Vec::new();
    for &at in &recording.timeline.answers {
        let stretch =
            stretches.iter().find(|stretch| (stretch.from..stretch.to).contains(&at)).expect("is there");
        let before = stretch.opening.iter().copied().chain(stretch.from..at);
        let before = before.map(message).collect();
        calls.push((message(at), before));
    }
    calls
}

/// A pi session without branches: messages, compactions and edits, one entry a line.
fn rewritten_pi_file(kinds: &[(u8, usize, usize)], version: u32) -> Vec<Value> {
    let mut lines = vec![json!({ "type": "session", "version": version, "id": "s" })];
    for (index, (kind, target, other)) in kinds.iter().enumerate() {
        let target = (target % (index + 1)).to_string();
        let rest = match kind {
            0 => json!({
                "type": "compaction", "summary": format!("S{index}"), "firstKeptEntryId": target,
                "systemMessage": (other % 2 == 0).then(|| json!({ "role": "system", "content": "P" })),
            }),
            1 => json!({
                "type": "context_edit", "targetId": target,
                "replacement": (other % 3 > 0).then(|| json!({ "content": format!("edited by {index}") })),
            }),
            kind => {
                let role = if kind % 2 == 0 { "user" } else { "assistant" };
                json!({ "type": "message", "message": { "role": role, "content": [], "timestamp": index } })
            }
        };
        let mut line =
            json!({ "id": index.to_string(), "parentId": index.checked_sub(1).map(|i| i.to_string()) });
        line.as_object_mut().expect("is there").extend(rest.as_object().expect("is there").clone());
        lines.push(line);
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(file in prop::collection::vec(any::<u8>(), 0..400)) {
        sound(&Recording::read(&file), &file)?;
    }

    #[test]
    fn any_json_like_text_is_survived(file in "[\\[\\]{}\":,\\\\ud89a-c0-9tnul\n ]{0,200}") {
        sound(&Recording::read(file.as_bytes()), file.as_bytes())?;
    }

    #[test]
    fn any_pi_lines_are_survived(lines in prop::collection::vec(pi_line(), 0..12), version in 0..6_u32) {
        let mut all = vec![json!({ "type": "session", "version": version, "id": "s" })];
        all.extend(lines);
        let file = joined(&all);
        let session = Recording::read(&file);
        prop_assert_eq!(session.format, Format::Pi { version });
        sound(&session, &file)?;
    }

    #[test]
    fn any_claude_lines_are_survived(lines in prop::collection::vec(claude_line(), 0..12)) {
        let file = joined(&lines);
        sound(&Recording::read(&file), &file)?;
    }

    #[test]
    fn mutated_lines_are_survived(
        lines in prop::collection::vec(prop_oneof![pi_line(), claude_line()], 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        keep in any::<prop::sample::Index>(),
    ) {
        let mut file = joined(&lines);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(keep.index(file.len()) + 1);
        sound(&Recording::read(&file), &file)?;
    }

    /// The oracle is the file as it stood before the answer was written.
    #[test]
    fn each_pi_call_has_the_context_it_was_made_with(
        kinds in prop::collection::vec((0..8_u8, any::<usize>(), any::<usize>()), 1..24),
        version in 2..4_u32,
    ) {
        let lines = rewritten_pi_file(&kinds, version);
        let answers: Vec<usize> =
            (0..lines.len()).filter(|at| lines[*at].pointer("/message/role") == Some(&json!("assistant"))).collect();
        let calls = calls(&joined(&lines));
        prop_assert_eq!(calls.len(), answers.len());
        for (at, (_, before)) in answers.into_iter().zip(calls) {
            prop_assert_eq!(Recording::read(&joined(&lines[..at])).context(), before);
        }
    }

    /// Compactions of all sizes, with and without messages kept from before.
    #[test]
    fn each_claude_call_has_the_context_it_was_made_with(
        rounds in prop::collection::vec((any::<bool>(), any::<Option<prop::sample::Index>>(), any::<bool>()), 1..10),
    ) {
        let mut lines: Vec<Value> = Vec::new();
        let mut parent = Value::Null;
        for (index, (compacts, preserved, calls_tool)) in rounds.iter().enumerate() {
            let (user, answer, result) = (format!("u{index}"), format!("a{index}"), format!("r{index}"));
            if *compacts && index > 0 {
                let kept = preserved.map(|at| lines[at.index(lines.len())]["uuid"].clone());
                let kept = kept.filter(|uuid| uuid.as_str().is_some_and(|uuid| uuid.starts_with('u')));
                let metadata = json!({ "preTokens": index, "preservedMessages": { "uuids": [kept] } });
                lines.push(json!({
                    "type": "system", "subtype": "compact_boundary", "uuid": format!("b{index}"),
                    "parentUuid": null, "logicalParentUuid": parent, "compactMetadata": metadata,
                }));
                lines.push(json!({
                    "type": "user", "uuid": format!("s{index}"), "parentUuid": format!("b{index}"),
                    "isCompactSummary": true, "message": { "content": format!("summary {index}") },
                }));
                parent = json!(format!("s{index}"));
            }
            let content = json!(format!("question {index}"));
            lines.push(json!({ "type": "user", "uuid": user, "parentUuid": parent, "message": { "content": content } }));
            let block = if *calls_tool {
                json!({ "type": "tool_use", "id": format!("t{index}"), "name": "read", "input": {} })
            } else {
                json!({ "type": "text", "text": "done" })
            };
            lines.push(json!({
                "type": "assistant", "uuid": answer, "parentUuid": user,
                "message": { "id": format!("m{index}"), "content": [block] },
            }));
            parent = json!(answer);
            if *calls_tool {
                let content = json!([{ "type": "tool_result", "tool_use_id": format!("t{index}"), "content": "ok" }]);
                lines.push(json!({
                    "type": "user", "uuid": result, "parentUuid": answer, "message": { "content": content },
                }));
                parent = json!(result);
            }
        }
        let answers: Vec<usize> = (0..lines.len()).filter(|at| lines[*at]["type"] == "assistant").collect();
        let calls = calls(&joined(&lines));
        prop_assert_eq!(calls.len(), answers.len());
        for (at, (_, before)) in answers.into_iter().zip(calls) {
            prop_assert_eq!(Recording::read(&joined(&lines[..at])).context(), before);
        }
    }

    #[test]
    fn a_broken_line_costs_nothing_else(
        roles in prop::collection::vec(any::<bool>(), 1..10),
        at in any::<prop::sample::Index>(),
        linked in any::<bool>(),
    ) {
        let mut lines = vec![json!({ "type": "session", "version": if linked { 3 } else { 1 } }).to_string()];
        lines.extend(roles.iter().enumerate().map(|(index, user)| json!({
            "type": "message", "id": index.to_string(),
            "parentId": index.checked_sub(1).map(|parent| parent.to_string()),
            "message": { "role": if *user { "user" } else { "assistant" }, "content": [], "timestamp": index },
        }).to_string()));
        let whole = Recording::read(lines.join("\n").as_bytes());
        prop_assert!(whole.problems.is_empty());
        prop_assert_eq!(whole.context().len(), roles.len());

        // A line cut off in the middle takes its own message away and no other.
        let broken = at.index(roles.len());
        let half = lines[broken + 1].len() / 2;
        lines[broken + 1].truncate(half);
        let session = Recording::read(lines.join("\r\n").as_bytes());
        let mut expected = whole.context();
        expected.remove(broken);
        prop_assert_eq!(session.context(), expected);
        prop_assert_eq!(session.problems.iter().map(|p| p.line).collect::<Vec<_>>(), vec![broken + 2]);
    }

    /// As recorded: each response in several lines, its results between them, parents as Claude Code sets them.
    #[test]
    fn claude_results_follow_their_calls(responses in prop::collection::vec(1..4_usize, 1..6), early in any::<bool>()) {
        let mut lines: Vec<Value> = Vec::new();
        let mut parent = Value::Null;
        let add = |lines: &mut Vec<Value>, kind: &str, uuid: String, parent: &Value, message: Value| {
            lines.push(json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "message": message }));
        };
        for (index, calls) in responses.iter().enumerate() {
            add(&mut lines, "user", format!("u{index}"), &parent, json!({ "content": "go" }));
            parent = json!(format!("u{index}"));
            let mut results = Vec::new();
            for call in 0..*calls {
                let (uuid, id) = (format!("a{index}.{call}"), format!("t{index}.{call}"));
                let block = json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
                let message = json!({ "id": format!("m{index}"), "content": [block] });
                add(&mut lines, "assistant", uuid.clone(), &parent, message);
                parent = json!(uuid);
                let answer = json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
                results.push((format!("r{index}.{call}"), uuid, answer));
                if early {
                    let (uuid, parent, content) = results.remove(0);
                    add(&mut lines, "user", uuid, &json!(parent), json!({ "content": content }));
                }
            }
            for (uuid, parent, content) in results {
                add(&mut lines, "user", uuid, &json!(parent), json!({ "content": content }));
            }
            let last = lines.last().and_then(|line| line.get("uuid")).cloned();
            parent = last.unwrap_or_default();
        }
        let session = Recording::read(&joined(&lines));
        let calls: usize = responses.iter().sum();
        prop_assert_eq!(session.context().len(), responses.len() * 2 + calls);
        prop_assert_eq!(misplaced_results(&session.context()), 0);
    }
}

#[test]
fn the_recorded_example_is_read_whole() {
    let file = include_bytes!("../examples/session.jsonl");
    let session = Recording::read(file);
    assert_eq!((session.format, &session.problems), (Format::Pi { version: 3 }, &Vec::new()));
    assert!(session.context().len() >= 150);
    assert_eq!(misplaced_results(&session.context()), 0);
}

#[test]
fn calls_on_left_branches_and_of_sub_agents_are_counted() {
    let entry = |id: &str, parent: &str, role: &str| json!({ "type": "message", "id": id, "parentId": parent, "message": { "role": role, "content": [] } });
    let pi = joined(&[
        json!({ "type": "session", "version": 3, "id": "s" }),
        json!({ "type": "message", "id": "a", "parentId": null, "message": { "role": "user", "content": [] } }),
        entry("b", "a", "assistant"),
        entry("c", "a", "assistant"),
    ]);
    let recording = read(&pi);
    assert_eq!((recording.timeline.answers.len(), recording.unplayed.abandoned), (1, 1));

    let line = |uuid: &str, parent: Option<&str>, kind: &str, side: bool| {
        json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": side,
            "message": { "id": format!("m-{uuid}"), "content": "x" },
        })
    };
    let claude = joined(&[
        line("a", None, "user", false),
        line("s", Some("a"), "assistant", true),
        line("b", Some("a"), "assistant", false),
        line("c", Some("a"), "assistant", false),
    ]);
    let recording = read(&claude);
    let unplayed = recording.unplayed;
    assert_eq!((recording.timeline.answers.len(), unplayed.abandoned, unplayed.sub_agents), (1, 1, 1));
}

#[test]
fn a_stretch_says_why_it_begins() {
    let lines = rewritten_pi_file(&[(2, 0, 0), (3, 0, 0), (1, 0, 1), (3, 0, 0), (0, 3, 1), (3, 0, 0)], 3);
    let recording = read(&joined(&lines));
    let causes: Vec<_> = recording.timeline.stretches.iter().map(|stretch| stretch.cause).collect();
    assert_eq!(causes, [Cause::Start, Cause::Edit, Cause::Compaction]);
    assert_eq!(
        recording.timeline.stretches.last().unwrap().all().len(),
        3,
        "the summary, what was kept, what came"
    );
}
