//! Converts the lines of a Claude Code transcript to pi's messages. The lines of one API response become one
//! assistant message, with the usage of its last line; each tool result becomes a message of its own that carries
//! the name of the tool it answers. What the host put in by itself (`isMeta`) becomes a `custom` message and a
//! compaction's summary a `compactionSummary`, the roles pi has for them.

use super::{Object, object, str_of, take_string};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// What pi shows in place of reasoning that the provider sent encrypted.
const REDACTED: &str = "[Reasoning redacted]";

/// The `customType` of what Claude Code itself told the model.
const META_TYPE: &str = "claude-code-meta";

/// One line of the conversation.
pub(super) struct Line {
    pub(super) body: Body,
    /// Milliseconds since 1970.
    pub(super) time: Option<u64>,
}

pub(super) enum Body {
    Assistant(Object),
    User(Value),
    Meta(Value),
    Summary(Value),
    /// A compaction, with the prompt's size before it.
    Boundary(Option<Value>),
    /// Only a link of the tree.
    Silent,
}

impl Line {
    /// The id shared by all lines of one API response.
    pub(super) fn response_id(&self) -> Option<&str> {
        match &self.body {
            Body::Assistant(message) => str_of(message, "id"),
            _ => None,
        }
    }

    /// Ids of the calls in this line.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.blocks("tool_use").filter_map(|block| str_of(block, "id"))
    }

    /// Ids of the calls this line answers.
    pub(super) fn answers(&self) -> impl Iterator<Item = &str> {
        self.blocks("tool_result").filter_map(|block| str_of(block, "tool_use_id"))
    }

    fn blocks(&self, kind: &'static str) -> impl Iterator<Item = &Object> {
        let content = match &self.body {
            Body::Assistant(message) => message.get("content"),
            Body::User(content) | Body::Meta(content) => Some(content),
            _ => None,
        };
        let blocks = content.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
        blocks.filter(move |block| str_of(block, "type") == Some(kind))
    }
}

/// Collects messages line by line.
pub(super) struct Transcript {
    messages: Vec<Value>,
    /// Tool name by call id, over the whole file.
    tools: HashMap<String, String>,
    /// Position of each response's message, by the response's id.
    responses: HashMap<String, usize>,
    tokens_before: Option<Value>,
}

impl Transcript {
    pub(super) fn new<'a>(lines: impl Iterator<Item = &'a Line>) -> Self {
        let calls = lines.flat_map(|line| line.blocks("tool_use"));
        let named =
            calls.filter_map(|call| Some((str_of(call, "id")?.to_owned(), str_of(call, "name")?.to_owned())));
        Self { messages: Vec::new(), tools: named.collect(), responses: HashMap::new(), tokens_before: None }
    }

    /// The messages, each response's results right behind it: that is how they were sent, though the transcript
    /// may have what the user typed meanwhile between them.
    pub(super) fn finish(self) -> Vec<Value> {
        let called: HashSet<String> = self
            .messages
            .iter()
            .flat_map(|message| calls_in(message.get("content")))
            .map(str::to_owned)
            .collect();
        let mut results: HashMap<String, Vec<Value>> = HashMap::new();
        let mut others = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            let answered =
                message.get("toolCallId").and_then(Value::as_str).filter(|id| called.contains(*id));
            match answered.map(str::to_owned) {
                Some(id) => results.entry(id).or_default().push(message),
                None => others.push(message),
            }
        }
        let mut ordered = Vec::with_capacity(others.len());
        for message in others {
            let answers: Vec<Value> =
                calls_in(message.get("content")).filter_map(|id| results.remove(id)).flatten().collect();
            ordered.push(message);
            ordered.extend(answers);
        }
        ordered
    }

    pub(super) fn add(&mut self, line: Line) {
        let time = line.time.map(Value::from);
        match line.body {
            Body::Assistant(message) => self.add_response(message, time),
            Body::User(content) => self.add_user(content, time, None),
            Body::Meta(content) => self.add_user(content, time, Some(META_TYPE)),
            Body::Boundary(tokens_before) => self.tokens_before = tokens_before,
            Body::Summary(content) => self.messages.push(object([
                ("role", Some("compactionSummary".into())),
                ("summary", Some(text_of(&content).into())),
                ("tokensBefore", Some(self.tokens_before.take().unwrap_or_else(|| 0.into()))),
                ("timestamp", time),
            ])),
            Body::Silent => {}
        }
    }

    fn add_response(&mut self, mut message: Object, time: Option<Value>) {
        let blocks = assistant_blocks(message.remove("content").unwrap_or_default());
        let id = take_string(&mut message, "id");
        let open =
            id.as_ref().and_then(|id| self.responses.get(id)).and_then(|at| self.messages.get_mut(*at));
        if let Some(Value::Object(earlier)) = open {
            if let Some(Value::Array(content)) = earlier.get_mut("content") {
                let fresh: Vec<Value> = blocks.into_iter().filter(|block| !content.contains(block)).collect();
                content.extend(fresh);
            }
            set_outcome(earlier, &message);
            return;
        }
        self.responses.extend(id.map(|id| (id, self.messages.len())));
        let mut assistant = Map::new();
        assistant.insert("role".to_owned(), "assistant".into());
        assistant.insert("content".to_owned(), Value::Array(blocks));
        assistant.insert("api".to_owned(), "anthropic-messages".into());
        assistant.insert("provider".to_owned(), "anthropic".into());
        assistant.insert("model".to_owned(), str_of(&message, "model").unwrap_or("unknown").into());
        set_outcome(&mut assistant, &message);
        if let Some(time) = time {
            assistant.insert("timestamp".to_owned(), time);
        }
        self.messages.push(Value::Object(assistant));
    }

    fn add_user(&mut self, content: Value, time: Option<Value>, custom_type: Option<&str>) {
        let content = match content {
            Value::Array(blocks) => {
                let (results, rest): (Vec<_>, Vec<_>) = blocks
                    .into_iter()
                    .partition(|b| b.get("type").and_then(Value::as_str) == Some("tool_result"));
                for result in results {
                    if let Value::Object(result) = result {
                        self.add_result(result, time.clone());
                    }
                }
                let rest = plain_blocks(rest);
                if rest.is_empty() {
                    return;
                }
                Value::Array(rest)
            }
            Value::String(text) => Value::String(text),
            _ => return,
        };
        self.messages.push(match custom_type {
            None => object([("role", Some("user".into())), ("content", Some(content)), ("timestamp", time)]),
            Some(custom_type) => object([
                ("role", Some("custom".into())),
                ("customType", Some(custom_type.into())),
                ("content", Some(content)),
                ("display", Some(false.into())),
                ("timestamp", time),
            ]),
        });
    }

    fn add_result(&mut self, mut result: Object, time: Option<Value>) {
        let Some(id) = take_string(&mut result, "tool_use_id") else { return };
        let content = match result.remove("content") {
            Some(Value::Array(blocks)) => plain_blocks(blocks),
            Some(Value::String(text)) => vec![json!({ "type": "text", "text": text })],
            _ => Vec::new(),
        };
        let name = self.tools.get(&id).map_or("unknown", String::as_str);
        self.messages.push(object([
            ("role", Some("toolResult".into())),
            ("toolName", Some(name.into())),
            ("toolCallId", Some(id.into())),
            ("content", Some(Value::Array(content))),
            ("isError", Some(super::is_true(&result, "is_error").into())),
            ("timestamp", time),
        ]));
    }
}

/// Ids of the calls in a converted message's content.
fn calls_in(content: Option<&Value>) -> impl Iterator<Item = &str> {
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    let calls = blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("toolCall"));
    calls.filter_map(|call| call.get("id")?.as_str())
}

/// Usage and stop reason, from the newest line of the response that has them.
fn set_outcome(assistant: &mut Object, message: &Object) {
    if let Some(usage) = message.get("usage").and_then(Value::as_object) {
        assistant.insert("usage".to_owned(), usage_of(usage));
    }
    let reason = match str_of(message, "stop_reason") {
        Some("tool_use") => "toolUse",
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("refusal" | "api_error") => "error",
        // Transcripts leave it out on all lines of a response but the last, some on every line.
        None if calls_in(assistant.get("content")).next().is_some() => "toolUse",
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

fn assistant_blocks(content: Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.into_iter().filter_map(assistant_block).collect(),
        _ => Vec::new(),
    }
}

fn assistant_block(block: Value) -> Option<Value> {
    let Value::Object(mut block) = block else { return None };
    match take_string(&mut block, "type")?.as_str() {
        "text" => text_block(&mut block),
        "thinking" => Some(object([
            ("type", Some("thinking".into())),
            ("thinking", Some(take_string(&mut block, "thinking").unwrap_or_default().into())),
            ("thinkingSignature", block.remove("signature")),
        ])),
        "redacted_thinking" => Some(object([
            ("type", Some("thinking".into())),
            ("thinking", Some(REDACTED.into())),
            ("thinkingSignature", block.remove("data")),
            ("redacted", Some(true.into())),
        ])),
        "tool_use" => Some(object([
            ("type", Some("toolCall".into())),
            ("id", Some(block.remove("id")?)),
            ("name", Some(block.remove("name")?)),
            ("arguments", Some(block.remove("input").unwrap_or_else(|| json!({})))),
        ])),
        _ => None,
    }
}

/// The text and image blocks; pi has no other in user messages and tool results.
fn plain_blocks(blocks: Vec<Value>) -> Vec<Value> {
    blocks.into_iter().filter_map(plain_block).collect()
}

fn plain_block(block: Value) -> Option<Value> {
    let Value::Object(mut block) = block else { return None };
    match take_string(&mut block, "type")?.as_str() {
        "text" => text_block(&mut block),
        "image" => {
            let Some(Value::Object(mut source)) = block.remove("source") else { return None };
            Some(object([
                ("type", Some("image".into())),
                ("data", Some(source.remove("data")?)),
                ("mimeType", Some(source.remove("media_type")?)),
            ]))
        }
        _ => None,
    }
}

fn text_block(block: &mut Object) -> Option<Value> {
    Some(object([("type", Some("text".into())), ("text", Some(take_string(block, "text")?.into()))]))
}

/// All text of a content, its blocks joined by line feeds.
fn text_of(content: &Value) -> String {
    let Some(blocks) = content.as_array() else { return content.as_str().unwrap_or_default().to_owned() };
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    texts.join("\n")
}
