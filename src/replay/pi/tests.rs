//! Readings of each session version as pi's own loader has them, on files small enough to read.

use super::super::pi_entries::role_of;
use super::super::{Recording, UnreadLine};
use super::*;

const V3: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

fn user(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}","timestamp":5}}}}"#
    )
}

fn read_lines(lines: &[&str]) -> Recording {
    Recording::read(lines.join("\n").as_bytes())
}

/// Role and text of each message, short enough to compare by eye.
fn outline(session: &Recording) -> Vec<String> {
    let text = |message: &Value| {
        let text = message.get("content").or_else(|| message.get("summary")).cloned().unwrap_or_default();
        text.as_str().map_or_else(|| text.to_string(), str::to_owned)
    };
    session.context().iter().map(|m| format!("{}:{}", role_of(m).unwrap_or("-"), text(m))).collect()
}

#[test]
fn version_1_is_a_list_without_ids() {
    let session = read_lines(&[
        r#"{"type":"session","id":"s","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/p","provider":"anthropic"}"#,
        r#"{"type":"message","timestamp":"2025-11-20T23:33:01.550Z","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"thinking_level_change","timestamp":"2025-11-20T23:33:01.550Z","thinkingLevel":"off"}"#,
        r#"{"type":"message","timestamp":"2025-11-20T23:33:02.351Z","message":{"role":"assistant","content":null}}"#,
    ]);
    assert_eq!(session.format, Format::Pi { version: 1 });
    assert_eq!(outline(&session), ["user:a", "assistant:[]"]);
    let messages = session.context();
    let time = messages.first().and_then(|message| message.get("timestamp"));
    assert_eq!(time, Some(&Value::from(1_763_681_581_550_u64)));
}

#[test]
fn version_1_counts_kept_entries_by_line() {
    let session = read_lines(&[
        r#"{"type":"session","id":"s"}"#,
        r#"{"type":"message","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"message","message":{"role":"user","content":"b"}}"#,
        r#"{"type":"compaction","timestamp":"2026-01-01T00:00:00.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":9}"#,
        r#"{"type":"message","message":{"role":"user","content":"c"}}"#,
    ]);
    assert_eq!(outline(&session), ["compactionSummary:S", "user:b", "user:c"]);
    assert_eq!(session.context().first().and_then(|m| m.get("tokensBefore")), Some(&Value::from(9)));
}

#[test]
fn a_tree_is_followed_from_the_last_entry_to_its_root() {
    let branch = r#"{"type":"branch_summary","id":"e","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","fromId":"d","summary":"B"}"#;
    let note = r#"{"type":"custom_message","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:02.000Z","customType":"x","content":"N","display":true}"#;
    let label = r#"{"type":"label","id":"g","parentId":"f","targetId":"a","label":"l"}"#;
    let lines = [V3, &user("a", "", "1"), &user("c", "a", "2"), &user("d", "c", "3"), branch, note, label];
    assert_eq!(outline(&read_lines(&lines)), ["user:1", "branchSummary:B", "custom:N"]);
}

#[test]
fn version_2_has_a_role_that_was_renamed() {
    let session = read_lines(&[
        r#"{"type":"session","version":2,"id":"s"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage","content":"h"}}"#,
    ]);
    assert_eq!(session.format, Format::Pi { version: 2 });
    assert_eq!(outline(&session), ["custom:h"]);
}

#[test]
fn the_latest_compaction_replaces_what_it_summarised() {
    let system = r#"{"type":"message","id":"y","parentId":"a","message":{"role":"system","content":"old"}}"#;
    let first = r#"{"type":"compaction","id":"k","parentId":"b","summary":"S1","firstKeptEntryId":"b","tokensBefore":1}"#;
    let second = r#"{"type":"compaction","id":"l","parentId":"c","summary":"S2","firstKeptEntryId":"y","tokensBefore":2,"systemMessage":{"role":"system","content":"P"}}"#;
    let lines = [
        V3,
        &user("a", "", "1"),
        system,
        &user("b", "y", "2"),
        first,
        &user("c", "k", "3"),
        second,
        &user("d", "l", "4"),
    ];
    let expected = ["system:P", "compactionSummary:S2", "user:2", "user:3", "user:4"];
    assert_eq!(outline(&read_lines(&lines)), expected);
}

#[test]
fn context_edits_replace_or_remove_and_the_last_one_wins() {
    let edit = |id: &str, parent: &str, target: &str, to: &str| {
        format!(
            r#"{{"type":"context_edit","id":"{id}","parentId":"{parent}","targetId":"{target}","replacement":{to}}}"#
        )
    };
    let reply = r#"{"type":"message","id":"r","parentId":"b","message":{"role":"assistant","content":[{"type":"text","text":"long"}]}}"#;
    let lines = [
        V3.to_owned(),
        user("a", "", "1"),
        user("b", "a", "2"),
        reply.to_owned(),
        edit("e", "r", "a", r#"{"content":"first"}"#),
        edit("f", "e", "a", "null"),
        edit("g", "f", "r", r#"{"content":"short"}"#),
    ];
    let session = Recording::read(lines.join("\n").as_bytes());
    assert_eq!(outline(&session), ["user:2", r#"assistant:[{"type":"text","text":"short"}]"#]);
}

#[test]
fn a_leaf_entry_moves_the_leaf_until_something_is_added() {
    let leaf = r#"{"type":"leaf","id":"x","parentId":"b","targetId":"a"}"#;
    let before_all = r#"{"type":"leaf","id":"x","parentId":"b","targetId":null}"#;
    let (a, b, c) = (user("a", "", "1"), user("b", "a", "2"), user("c", "a", "3"));
    assert_eq!(outline(&read_lines(&[V3, &a, &b, leaf])), ["user:1"]);
    assert!(outline(&read_lines(&[V3, &a, &b, before_all])).is_empty());
    assert_eq!(outline(&read_lines(&[V3, &a, &b, leaf, &c])), ["user:1", "user:3"]);
}

#[test]
fn version_4_is_a_log_of_records() {
    let session = read_lines(&[
        r#"{"v":4,"kind":"header","id":"s","storageVersion":1,"createdAt":1,"cwd":"/p"}"#,
        r#"[{"kind":"entry","id":"a","parentId":null,"seq":1,"timestamp":7,"type":"message","message":{"role":"user","content":"1"}},{"kind":"value","op":"set","seq":2,"namespace":"pi.branch.tip","key":"main","value":"a"}]"#,
        r#"{"kind":"entry","id":"b","parentId":"a","seq":3,"timestamp":8,"type":"compaction","summary":"S","tokensBefore":5,"retainedTail":[{"role":"user","content":"1"}],"fromHook":false}"#,
        r#"{"kind":"entry","id":"c","parentId":"a","seq":4,"timestamp":9,"type":"message","message":{"role":"user","content":"lost"}}"#,
        r#"{"kind":"value","op":"set","seq":5,"namespace":"pi.branch.tip","key":"main","value":"b"}"#,
        r#"{"kind":"usage","id":"u","seq":6}"#,
    ]);
    assert_eq!(session.format, Format::Pi { version: 4 });
    assert_eq!(outline(&session), ["compactionSummary:S", "user:1"]);
}

#[test]
fn a_broken_line_is_reported_and_the_path_leads_past_it() {
    let (a, c) = (user("a", "", "1"), user("c", "b", "3"));
    let session = read_lines(&[
        V3,
        &a,
        r#"{"type":"message","id":"b","par"#,
        &c,
        r#"{"type":"message","id":"d","parentId":"c"}"#,
    ]);
    assert_eq!(outline(&session), ["user:1", "user:3"]);
    let lines: Vec<_> = session.problems.iter().map(|UnreadLine { line, .. }| *line).collect();
    assert_eq!(lines, [3, 5]);
}

#[test]
fn a_loop_of_parents_ends() {
    let session = read_lines(&[V3, &user("a", "b", "1"), &user("b", "a", "2")]);
    assert_eq!(outline(&session), ["user:1", "user:2"]);
}
