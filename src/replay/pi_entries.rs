//! The meaning of one entry of a pi session, in the shapes pi itself makes of it on loading. Knows nothing of the tree
//! the entries form.

use super::{Id, Message, Object, is_true, present, str_of, take_string, time_ms};
use serde_json::{Value, json};

/// An entry of the file.
pub(super) enum Entry {
    Message {
        json: Message,
        is_answer: bool,
        is_system: bool,
    },
    Compaction {
        /// Messages before those that were kept: the system checkpoint if any, the summary, and in version 4
        /// copies of what was kept.
        head: Vec<Message>,
        first_kept: FirstKept,
    },
    Edit {
        target: Id,
        replacement: Option<Value>,
    },
    /// Carries nothing the model sees, but may be a link of the path.
    Other,
}

/// The oldest entry that a compaction kept.
pub(super) enum FirstKept {
    Id(Id),
    /// Version 1: its position among the parsed lines, header included.
    Line(usize),
    None,
}

/// Reads an entry, or says in one sentence why it cannot be read.
pub(super) fn read(mut line: Object) -> Result<Entry, String> {
    let timestamp = time_ms(line.get("timestamp")).map(Value::from);
    let kind = take_string(&mut line, "type");
    match kind.as_deref() {
        Some("message") => match line.remove("message") {
            Some(Value::Object(message)) if str_of(&message, "role").is_some() => {
                Ok(message_entry(&current_shape(message, timestamp)))
            }
            _ => Err("This message entry carries no message with a role.".to_owned()),
        },
        Some("custom_message") => Ok(message_entry(&present(json!({
            "role": "custom", "customType": line.remove("customType"), "display": is_true(&line, "display"),
            "content": line.remove("content").filter(|content| !content.is_null()).unwrap_or_else(|| json!([])),
            "details": line.remove("details"), "timestamp": timestamp,
        })))),
        Some("branch_summary") => match take_string(&mut line, "summary") {
            Some(summary) if !summary.is_empty() => Ok(message_entry(&present(json!({
                "role": "branchSummary", "summary": summary, "fromId": line.remove("fromId"), "timestamp": timestamp,
            })))),
            _ => Ok(Entry::Other),
        },
        Some("compaction") => compaction_of(line, timestamp.as_ref()),
        Some("context_edit") => match (str_of(&line, "targetId").map(Id::of), line.remove("replacement")) {
            (Some(target), Some(replacement)) => {
                Ok(Entry::Edit { target, replacement: Some(replacement).filter(|r| !r.is_null()) })
            }
            _ => Err("This context edit names no target or no replacement.".to_owned()),
        },
        _ => Ok(Entry::Other),
    }
}

fn compaction_of(mut line: Object, timestamp: Option<&Value>) -> Result<Entry, String> {
    let summary = take_string(&mut line, "summary").ok_or("This compaction carries no summary.")?;
    let summary = present(json!({
        "role": "compactionSummary", "summary": summary, "tokensBefore": line.get("tokensBefore"),
        "timestamp": timestamp,
    }));
    let index = line.get("firstKeptEntryIndex").and_then(Value::as_u64).and_then(|i| usize::try_from(i).ok());
    let first_kept = match (str_of(&line, "firstKeptEntryId"), index) {
        (Some(id), _) => FirstKept::Id(Id::of(id)),
        (None, Some(index)) => FirstKept::Line(index),
        (None, None) => FirstKept::None,
    };
    let retained = line.get("retainedTail").and_then(Value::as_array).into_iter().flatten();
    let head = line.get("systemMessage").into_iter().chain([&summary]).chain(retained);
    let head = head.filter(|message| role_of(message).is_some());
    Ok(Entry::Compaction { head: head.map(|message| message.to_string().into()).collect(), first_kept })
}

fn message_entry(message: &Value) -> Entry {
    let role = role_of(message);
    let (is_answer, is_system) = (role == Some("assistant"), role == Some("system"));
    Entry::Message { json: message.to_string().into(), is_answer, is_system }
}

/// An old message as pi loads it: one role renamed, missing content filled in.
fn current_shape(mut message: Object, entry_time: Option<Value>) -> Value {
    let role = str_of(&message, "role").unwrap_or_default();
    let empty = match role {
        "system" => Some(json!("")),
        "user" | "assistant" | "toolResult" => Some(json!([])),
        _ => None,
    };
    if role == "hookMessage" {
        message.insert("role".to_owned(), "custom".into());
    }
    if let Some(empty) = empty
        && message.get("content").is_none_or(Value::is_null)
    {
        message.insert("content".to_owned(), empty);
    }
    if let Some(time) = entry_time {
        message.entry("timestamp").or_insert(time);
    }
    Value::Object(message)
}

/// A message with an edit's content, where its role has such content.
pub(super) fn edited(message: &Message, replacement: &Value) -> Message {
    let with_content = || {
        let mut fields: Object = serde_json::from_str(message).ok()?;
        let role = str_of(&fields, "role")?;
        let needs_blocks = matches!(role, "assistant" | "toolResult");
        if !needs_blocks && !matches!(role, "user" | "custom") {
            return None;
        }
        let content = match replacement.get("content")? {
            Value::String(text) if needs_blocks => json!([{ "type": "text", "text": text }]),
            content => content.clone(),
        };
        fields.insert("content".to_owned(), content);
        Some(Value::Object(fields).to_string().into())
    };
    with_content().unwrap_or_else(|| message.clone())
}

pub(super) fn role_of(message: &Value) -> Option<&str> {
    message.get("role").and_then(Value::as_str)
}
