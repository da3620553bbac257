//! Readings of transcripts as Claude Code writes them, on files small enough to read.

use super::super::Recording;
use super::*;
use serde_json::{Value, json};

/// A line of the conversation; `extra` overrides or adds fields.
fn line(kind: &str, uuid: &str, parent: &str, message: &Value, extra: &Value) -> String {
    let mut line = json!({
        "parentUuid": if parent.is_empty() { Value::Null } else { parent.into() },
        "isSidechain": false, "type": kind, "message": message, "uuid": uuid,
        "timestamp": "2026-01-01T00:00:01.000Z", "sessionId": "s", "version": "2.1.0",
    });
    let extra = extra.as_object().cloned().unwrap_or_default();
    line.as_object_mut().unwrap().extend(extra);
    line.to_string()
}

fn user(uuid: &str, parent: &str, content: impl Into<Value>) -> String {
    let content: Value = content.into();
    line("user", uuid, parent, &json!({ "role": "user", "content": content }), &json!({}))
}

fn result(uuid: &str, parent: &str, call: &str, text: &str) -> String {
    user(uuid, parent, json!([{ "type": "tool_result", "tool_use_id": call, "content": text }]))
}

fn reply(uuid: &str, parent: &str, id: &str, block: &Value, output_tokens: u64) -> String {
    let usage = json!({
        "input_tokens": 3, "output_tokens": output_tokens,
        "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
    });
    let message = json!({
        "id": id, "role": "assistant", "model": "claude-x", "content": [block],
        "stop_reason": null, "usage": usage,
    });
    line("assistant", uuid, parent, &message, &json!({ "requestId": "req" }))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": id } })
}

fn read_lines(lines: &[String]) -> Recording {
    Recording::read(lines.join("\n").as_bytes())
}

/// Role and the texts, call ids or answered ids of each message.
fn outline(session: &Recording) -> Vec<String> {
    let mark = |block: &Value| {
        let mark = block.get("text").or_else(|| block.get("id")).or_else(|| block.get("thinking"));
        mark.and_then(Value::as_str).unwrap_or("?").to_owned()
    };
    let of = |m: &Value| {
        let content = m.get("content").or_else(|| m.get("summary")).unwrap();
        let marks = content.as_array().map(|blocks| blocks.iter().map(mark).collect::<Vec<_>>().join("+"));
        let marks = marks.unwrap_or_else(|| content.as_str().unwrap().to_owned());
        format!("{}:{marks}", m.get("role").and_then(Value::as_str).unwrap())
    };
    session.context().iter().map(of).collect()
}

#[test]
fn lines_of_one_response_are_one_message_in_pis_shape() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "sig" });
    let hidden = json!({ "type": "redacted_thinking", "data": "xx" });
    let image =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } });
    let answer = json!([{
        "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [text("no"), image],
    }]);
    let session = read_lines(&[
        r#"{"type":"summary","summary":"A title","leafUuid":"z"}"#.to_owned(),
        r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#.to_owned(),
        user("u1", "", "hello"),
        reply("a1", "u1", "msg_1", &thinking, 1),
        reply("a2", "a1", "msg_1", &hidden, 1),
        reply("a3", "a2", "msg_1", &call("t1"), 40),
        user("r1", "a3", answer),
    ]);
    assert_eq!(session.format, Format::ClaudeCode);
    assert!(session.problems.is_empty(), "{:?}", session.problems);
    let time = 1_767_225_601_000_u64;
    let expected = json!([
        { "role": "user", "content": "hello", "timestamp": time },
        {
            "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "sig" },
                { "type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "xx", "redacted": true },
                { "type": "toolCall", "id": "t1", "name": "Read", "arguments": { "file_path": "t1" } },
            ],
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude-x",
            "usage": { "input": 3, "output": 40, "cacheRead": 100, "cacheWrite": 20, "totalTokens": 163 },
            "stopReason": "toolUse", "timestamp": time,
        },
        {
            "role": "toolResult", "toolCallId": "t1", "toolName": "Read", "isError": true, "timestamp": time,
            "content": [{ "type": "text", "text": "no" }, { "type": "image", "data": "AA", "mimeType": "image/png" }],
        },
    ]);
    assert_eq!(Value::Array(session.context()), expected);
}

#[test]
fn parallel_results_off_the_path_are_found() {
    let session = read_lines(&[
        user("u1", "", "go"),
        reply("a1", "u1", "msg_1", &call("t1"), 1),
        result("r1", "a1", "t1", "one"),
        reply("a2", "a1", "msg_1", &call("t2"), 1),
        result("r2", "a2", "t2", "two"),
        reply("a3", "r2", "msg_2", &text("done"), 1),
    ]);
    let expected = ["user:go", "assistant:t1+t2", "toolResult:one", "toolResult:two", "assistant:done"];
    assert_eq!(outline(&session), expected);
}

#[test]
fn what_was_typed_meanwhile_follows_the_results() {
    let attachment = json!({ "type": "queued_command", "prompt": "also this" });
    let session = read_lines(&[
        user("u1", "", "go"),
        reply("a1", "u1", "msg_1", &call("t1"), 1),
        reply("a2", "a1", "msg_1", &call("t2"), 1),
        result("r1", "a1", "t1", "one"),
        line("attachment", "q1", "r1", &Value::Null, &json!({ "attachment": attachment })),
        line("attachment", "q2", "q1", &Value::Null, &json!({ "attachment": { "type": "todo" } })),
        result("r2", "q2", "t2", "two"),
        reply("a3", "r2", "msg_2", &text("done"), 1),
    ]);
    let expected = [
        "user:go",
        "assistant:t1+t2",
        "toolResult:one",
        "toolResult:two",
        "user:also this",
        "assistant:done",
    ];
    assert_eq!(outline(&session), expected);
}

#[test]
fn an_abandoned_branch_and_sidechains_are_left_out() {
    let side = line(
        "assistant",
        "s1",
        "a1",
        &json!({ "id": "msg_s", "content": [text("side")] }),
        &json!({ "isSidechain": true }),
    );
    let session = read_lines(&[
        user("u1", "", "go"),
        reply("a1", "u1", "msg_1", &call("t1"), 1),
        result("r1", "a1", "t1", "first try"),
        side.clone(),
        result("r2", "a1", "t1", "second try"),
        reply("a2", "r2", "msg_2", &text("done"), 1),
    ]);
    let expected = ["user:go", "assistant:t1", "toolResult:second try", "assistant:done"];
    assert_eq!(outline(&session), expected);
    assert_eq!(outline(&read_lines(&[side])), ["assistant:side"], "a sub-agent's own file");
}

#[test]
fn meta_lines_and_errors_keep_their_kind() {
    let meta = json!({ "isMeta": true });
    let failed = json!({ "isApiErrorMessage": true });
    let session = read_lines(&[
        line("user", "u1", "", &json!({ "role": "user", "content": "caveat" }), &meta),
        user("u2", "u1", json!([text("look"), { "type": "document" }])),
        line("assistant", "a1", "u2", &json!({ "model": "<synthetic>", "content": [text("529")] }), &failed),
        user("u3", "a1", json!([{ "type": "document" }])),
    ]);
    assert_eq!(outline(&session), ["custom:caveat", "user:look", "assistant:529"]);
    let messages = session.context();
    let error = messages.last().unwrap();
    assert_eq!(error.get("stopReason"), Some(&json!("error")));
    assert_eq!(error.get("errorMessage"), Some(&json!("529")));
}

fn boundary(uuid: &str, metadata: &Value) -> String {
    json!({
        "parentUuid": null, "logicalParentUuid": "a1", "isSidechain": false, "type": "system",
        "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": uuid,
        "compactMetadata": metadata,
    })
    .to_string()
}

fn summary(parent: &str) -> String {
    let message = json!({ "role": "user", "content": [text("what was said")] });
    line(
        "user",
        "cs",
        parent,
        &message,
        &json!({ "isCompactSummary": true, "isVisibleInTranscriptOnly": true }),
    )
}

#[test]
fn a_compaction_cuts_off_what_it_summarised() {
    let session = read_lines(&[
        user("u1", "", "old"),
        reply("a1", "u1", "msg_1", &text("old answer"), 1),
        boundary("b1", &json!({ "trigger": "auto", "preTokens": 155_000 })),
        summary("b1"),
        user("u2", "cs", "new"),
    ]);
    assert_eq!(outline(&session), ["compactionSummary:what was said", "user:new"]);
    assert_eq!(session.context().first().unwrap().get("tokensBefore"), Some(&json!(155_000)));
}

#[test]
fn messages_a_compaction_preserved_follow_its_summary() {
    let session = read_lines(&[
        user("u1", "", "old"),
        user("k1", "u1", "kept"),
        boundary("b1", &json!({ "preTokens": 9, "preservedMessages": { "uuids": ["k1"] } })),
        summary("b1"),
        user("u2", "k1", "new"),
    ]);
    assert_eq!(outline(&session), ["compactionSummary:what was said", "user:kept", "user:new"]);
}

#[test]
fn lines_without_links_are_read_in_order_and_repeats_once() {
    let stream = [
        json!({ "type": "system", "subtype": "init", "session_id": "s" }),
        json!({ "type": "user", "message": { "role": "user", "content": "hi" }, "session_id": "s" }),
        json!({ "type": "assistant", "message": { "id": "m", "content": "there" }, "parent_tool_use_id": null }),
        json!({ "type": "result", "result": "there" }),
    ];
    let lines: Vec<String> = stream.iter().map(Value::to_string).collect();
    assert_eq!(outline(&read_lines(&lines)), ["user:hi", "assistant:there"]);
    let twice = [user("u1", "", "once"), user("u1", "", "once")];
    assert_eq!(outline(&read_lines(&twice)), ["user:once"]);
}

#[test]
fn a_broken_line_is_reported_and_the_path_leads_past_it() {
    let session = read_lines(&[
        user("u1", "", "first"),
        "{\"parentUuid\":\"u1\",\"type\":\"user\",\"uuid\":\"u2\",".to_owned(),
        "{\"type\":\"user\",\"uuid\":\"u9\",\"parentUuid\":\"u1\"}".to_owned(),
        user("u3", "u2", "third"),
    ]);
    assert_eq!(outline(&session), ["user:first", "user:third"]);
    let lines: Vec<_> = session.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3]);
}
