//! Converts the lines of a Claude Code transcript to pi's messages. The lines of one API response become one
//! assistant message, with the usage of its last line; each tool result becomes a message of its own that carries
//! the name of the tool it answers. What the host put in by itself (`isMeta`) becomes a `custom` message and a
//! compaction's summary a `compactionSummary`, the roles pi has for them. Knows nothing of the tree of lines.

use super::{Id, Object, is_true, present, str_of, take_string};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Text that pi shows in place of reasoning that the provider sent encrypted.
const REDACTED: &str = "[Reasoning redacted]";

/// The `customType` of what Claude Code itself told the model.
const META_TYPE: &str = "claude-code-meta";

/// The contents of one line.
pub(super) enum LineContent {
    /// A line of a response.
    Assistant(Object),
    /// Of the user's side; `is_meta` where the host put it in by itself.
    User {
        content: Value,
        is_meta: bool,
    },
    Summary(Value),
    Boundary(Compaction),
    /// Only a link of the tree.
    Silent,
}

/// The host's note that it compacted.
pub(super) struct Compaction {
    /// The prompt's size before it.
    pub(super) tokens_before: Option<Value>,
    /// Lines from before that were kept word for word.
    pub(super) preserved: HashSet<Id>,
}

/// Reads what a line says; a line that should carry a message and does not is an error.
pub(super) fn content_of_line(mut line: Object) -> Result<LineContent, String> {
    let kind = take_string(&mut line, "type");
    Ok(match (kind.as_deref(), line.remove("message")) {
        (Some("assistant"), Some(Value::Object(mut message))) => {
            if is_true(&line, "isApiErrorMessage") {
                message.insert("stop_reason".to_owned(), "api_error".into());
            }
            if let Some(request) = line.remove("requestId") {
                message.entry("id").or_insert(request);
            }
            LineContent::Assistant(message)
        }
        (Some("user"), Some(Value::Object(mut message))) => {
            let content = message.remove("content").unwrap_or_default();
            if is_true(&line, "isCompactSummary") {
                LineContent::Summary(content)
            } else {
                LineContent::User { content, is_meta: is_true(&line, "isMeta") }
            }
        }
        (Some("user" | "assistant"), _) => return Err("This line carries no message.".to_owned()),
        (Some("system"), _) if str_of(&line, "subtype") == Some("compact_boundary") => {
            LineContent::Boundary(compaction_of(line.get("compactMetadata")))
        }
        // Typed while the agent was at work, and sent along with the results.
        (Some("attachment"), _) => queued_prompt(&mut line)
            .map_or(LineContent::Silent, |content| LineContent::User { content, is_meta: false }),
        _ => LineContent::Silent,
    })
}

fn compaction_of(metadata: Option<&Value>) -> Compaction {
    let uuids = metadata.and_then(|data| data.pointer("/preservedMessages/uuids")).and_then(Value::as_array);
    let preserved = uuids.into_iter().flatten().filter_map(Value::as_str).map(Id::of).collect();
    Compaction { tokens_before: metadata.and_then(|data| data.get("preTokens")).cloned(), preserved }
}

fn queued_prompt(line: &mut Object) -> Option<Value> {
    let attachment = line.get_mut("attachment")?.as_object_mut()?;
    (str_of(attachment, "type") == Some("queued_command")).then(|| attachment.remove("prompt"))?
}

/// The assistant message of a response, from its first line.
pub(super) fn response(message: &Object, time: Option<&Value>) -> Object {
    let blocks = blocks_from(message.get("content"), assistant_block);
    let mut assistant = Object::from_iter([
        ("role".to_owned(), "assistant".into()),
        ("content".to_owned(), Value::Array(blocks)),
        ("api".to_owned(), "anthropic-messages".into()),
        ("provider".to_owned(), "anthropic".into()),
        ("model".to_owned(), str_of(message, "model").unwrap_or("unknown").into()),
    ]);
    set_outcome(&mut assistant, message);
    assistant.extend(time.map(|time| ("timestamp".to_owned(), time.clone())));
    assistant
}

/// Adds the next line of a response; what an earlier line said already is not repeated.
pub(super) fn add_line(assistant: &mut Object, message: &Object) {
    let blocks = blocks_from(message.get("content"), assistant_block);
    if let Some(Value::Array(content)) = assistant.get_mut("content") {
        let fresh: Vec<Value> = blocks.into_iter().filter(|block| !content.contains(block)).collect();
        content.extend(fresh);
    }
    set_outcome(assistant, message);
}

/// Ids and names of the calls in a line of a response.
pub(super) fn calls_of(message: &Object) -> impl Iterator<Item = (&str, &str)> {
    blocks_of(message.get("content"), "tool_use")
        .filter_map(|block| Some((str_of(block, "id")?, str_of(block, "name")?)))
}

/// Ids of the calls that what the user's side said answers, in order.
pub(super) fn answers_in(content: &Value) -> impl Iterator<Item = &str> {
    blocks_of(Some(content), "tool_result").filter_map(|block| str_of(block, "tool_use_id"))
}

fn blocks_of<'a>(content: Option<&'a Value>, kind: &'static str) -> impl Iterator<Item = &'a Object> {
    let blocks = content.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    blocks.filter(move |block| str_of(block, "type") == Some(kind))
}

/// Each call that the user's side answers, with the message of its result. `tools` has the tool of each call.
pub(super) fn results_in<'a>(
    content: &'a Value,
    time: Option<&'a Value>,
    tools: &HashMap<Id, String>,
) -> impl Iterator<Item = (Id, Value)> {
    blocks_of(Some(content), "tool_result").filter_map(move |result| {
        let id = str_of(result, "tool_use_id")?;
        let tool_name = tools.get(&Id::of(id)).map_or("unknown", String::as_str);
        let content = blocks_from(result.get("content"), plain_block);
        let message = present(json!({
            "role": "toolResult", "toolName": tool_name, "toolCallId": id, "content": content,
            "isError": is_true(result, "is_error"), "timestamp": time,
        }));
        Some((Id::of(id), message))
    })
}

/// The words of the user's side beside tool results; `None` if nothing.
pub(super) fn said_in(content: &Value) -> Option<Value> {
    if content.is_string() {
        return Some(content.clone());
    }
    let rest = blocks_from(Some(content), plain_block);
    (!rest.is_empty()).then_some(Value::Array(rest))
}

/// A message of the user's, or of the host's own where `is_meta`.
pub(super) fn prompt(content: &Value, time: Option<&Value>, is_meta: bool) -> Value {
    present(if is_meta {
        json!({ "role": "custom", "customType": META_TYPE, "content": content, "display": false, "timestamp": time })
    } else {
        json!({ "role": "user", "content": content, "timestamp": time })
    })
}

/// A compaction's summary.
pub(super) fn summary(content: &Value, tokens_before: Option<&Value>, time: Option<&Value>) -> Value {
    let tokens_before = tokens_before.cloned().unwrap_or_else(|| 0.into());
    present(json!({
        "role": "compactionSummary", "summary": text_of(content), "tokensBefore": tokens_before, "timestamp": time,
    }))
}

/// Usage and stop reason, from the newest line of the response that has them.
fn set_outcome(assistant: &mut Object, message: &Object) {
    if let Some(usage) = message.get("usage").and_then(Value::as_object) {
        assistant.insert("usage".to_owned(), usage_of(usage));
    }
    let has_calls = blocks_of(assistant.get("content"), "toolCall").any(|call| str_of(call, "id").is_some());
    let reason = match str_of(message, "stop_reason") {
        Some("tool_use") => "toolUse",
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("refusal" | "api_error") => "error",
        // Transcripts leave it out on all lines of a response but the last, some on every line.
        None if has_calls => "toolUse",
        _ => "stop",
    };
    assistant.insert("stopReason".to_owned(), reason.into());
    if reason == "error" {
        let text = assistant.get("content").map(text_of).unwrap_or_default();
        assistant.insert("errorMessage".to_owned(), text.into());
    }
}

fn usage_of(usage: &Object) -> Value {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let (read, write) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let total = input.saturating_add(output).saturating_add(read).saturating_add(write);
    json!({ "input": input, "output": output, "cacheRead": read, "cacheWrite": write, "totalTokens": total })
}

/// The blocks of a content as `convert` makes them; a text by itself is one.
fn blocks_from(content: Option<&Value>, convert: fn(&Value) -> Option<Value>) -> Vec<Value> {
    match content {
        Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
        Some(Value::Array(blocks)) => blocks.iter().filter_map(convert).collect(),
        _ => Vec::new(),
    }
}

fn assistant_block(block: &Value) -> Option<Value> {
    let block = block.as_object()?;
    let field = |key: &str| block.get(key).cloned();
    match str_of(block, "type")? {
        "text" => text_block(block),
        "thinking" => {
            let text = str_of(block, "thinking").unwrap_or_default();
            let signature = field("signature");
            Some(present(json!({ "type": "thinking", "thinking": text, "thinkingSignature": signature })))
        }
        "redacted_thinking" => Some(present(json!({
            "type": "thinking", "thinking": REDACTED, "thinkingSignature": field("data"), "redacted": true,
        }))),
        "tool_use" => {
            let input = field("input").unwrap_or_else(|| json!({}));
            Some(
                json!({ "type": "toolCall", "id": field("id")?, "name": field("name")?, "arguments": input }),
            )
        }
        _ => None,
    }
}

/// A text or an image; pi has no other block in user messages and tool results.
fn plain_block(block: &Value) -> Option<Value> {
    let block = block.as_object()?;
    match str_of(block, "type")? {
        "text" => text_block(block),
        "image" => {
            let source = block.get("source")?;
            Some(
                json!({ "type": "image", "data": source.get("data")?, "mimeType": source.get("media_type")? }),
            )
        }
        _ => None,
    }
}

fn text_block(block: &Object) -> Option<Value> {
    Some(json!({ "type": "text", "text": str_of(block, "text")? }))
}

/// All text of a content, its blocks joined by line feeds.
fn text_of(content: &Value) -> String {
    let Some(blocks) = content.as_array() else { return content.as_str().unwrap_or_default().to_owned() };
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    texts.join("\n")
}
