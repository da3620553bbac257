//! A message of a session, read from the JSON it is kept as, and the core's view of it: what linking, counting and
//! searching need. Nothing is decided here.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::measure::{Part, Raw, RawRole, Rules, count, outline};
use crate::context::transcript::{Transcript, Usage};
use crate::replay::mend_json;

/// Stands for the name of a tool whose call says none.
const UNKNOWN: &str = "unknown";

/// A message of any provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `system`, `user`, `assistant`, `tool`; `summary` of what came before, by pi itself; anything else is none of these.
    pub role: String,
    /// Its text.
    pub text: String,
    /// Tool calls it makes.
    pub calls: Vec<ToolCall>,
    /// The call it answers.
    pub call_id: Option<String>,
    /// The word that it failed, of the tool or the provider; `None` if nobody said anything of the kind.
    pub is_error: Option<bool>,
    /// Images beside its text.
    pub images: usize,
    /// True of the summary of the last time.
    pub is_summary: bool,
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as JSON.
    pub arguments: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct StoredJson<'a> {
    role: String,
    content: String,
    #[serde(borrow)]
    blocks: Vec<Block<'a>>,
    #[serde(borrow)]
    tool_calls: Vec<RawCall<'a>>,
    tool_call_id: Option<String>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<std::borrow::Cow<'a, str>>,
}

#[derive(Deserialize)]
struct RawCall<'a> {
    id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<RawFunction<'a>>,
}

#[derive(Deserialize)]
struct RawFunction<'a> {
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Said {
    /// The message that `body` holds; an empty one where it holds none.
    #[must_use]
    pub fn from_json(body: &str) -> Self {
        if let Ok(read) = serde_json::from_str::<StoredJson<'_>>(body) {
            return Self::from(read);
        }
        // JavaScript writes lone surrogates, which are no UTF-8.
        let mended = mend_json(body.as_bytes()).unwrap_or_default();
        serde_json::from_str::<StoredJson<'_>>(&mended).map(Self::from).unwrap_or_default()
    }
}

impl From<StoredJson<'_>> for Said {
    fn from(body: StoredJson<'_>) -> Self {
        let images = body.blocks.iter().filter(|block| block.kind.as_deref() == Some("image")).count();
        Self {
            role: body.role,
            text: body.content,
            calls: body.tool_calls.into_iter().map(ToolCall::from).collect(),
            call_id: body.tool_call_id,
            is_error: body.is_error,
            images,
            is_summary: false,
        }
    }
}

impl From<RawCall<'_>> for ToolCall {
    fn from(call: RawCall<'_>) -> Self {
        let (name, arguments) = match &call.function {
            Some(function) => (function.name, function.arguments),
            None => (call.name, call.arguments),
        };
        Self {
            id: call.id.map(plain).unwrap_or_default(),
            name: name.map_or_else(|| UNKNOWN.to_owned(), plain),
            arguments: arguments.map_or_else(|| "{}".to_owned(), plain),
        }
    }
}

/// A JSON string as its text, anything else as it is written.
fn plain(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// Messages with their texts as the core reads them.
pub(super) struct Texts(Vec<Units>);

struct Units {
    role: String,
    text: Vec<u16>,
    call_id: Vec<u16>,
    calls: Vec<[Vec<u16>; 3]>,
    images: usize,
}

impl Texts {
    pub(super) fn of(messages: &[Said]) -> Self {
        let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        let read = |message: &Said| Units {
            role: message.role.clone(),
            text: units(&message.text),
            call_id: units(message.call_id.as_deref().unwrap_or_default()),
            calls: message
                .calls
                .iter()
                .map(|call| [units(&call.id), units(&call.name), units(&call.arguments)])
                .collect(),
            images: message.images,
        };
        Self(messages.iter().map(read).collect())
    }

    /// The conversation with each result linked to its call by the core's own rule.
    pub(super) fn transcript(&self) -> Transcript {
        Transcript::new(self.0.iter().map(|units| Arc::new(outline(&units.raw()))).collect())
    }

    /// Tokens of each message.
    pub(super) fn tokens(&self) -> Vec<usize> {
        let rules = Rules::default();
        self.0.iter().map(|units| count(&units.raw(), &rules)).collect()
    }
}

impl Units {
    fn raw(&self) -> Raw<'_> {
        let role = match self.role.as_str() {
            "system" => RawRole::System,
            "user" | "summary" => RawRole::User,
            "assistant" => RawRole::Assistant {
                api: &[],
                provider: &[],
                model: &[],
                usage: Usage::default(),
                has_text_id: false,
            },
            "tool" => RawRole::ToolResult { call_id: &self.call_id, tool_name: &[], marker: None },
            _ => RawRole::Other,
        };
        let calls = self.calls.iter().map(|[id, name, arguments]| Part::Call {
            id,
            name,
            arguments,
            is_signed: false,
        });
        let images = std::iter::repeat_n(Part::Image { len: 0 }, self.images);
        let parts = std::iter::once(Part::Text(&self.text)).chain(calls).chain(images).collect();
        Raw { role, timestamp_ms: None, is_sent: true, parts, fingerprint: 0, identity: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_of_a_call() {
        let body = r#"{"role":"assistant","content":"x","toolCalls":[
            {"id":"1","name":"read","arguments":{"path":"a","n":12345678901234567890}},
            {"id":2,"function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{}]}"#;
        let said = Said::from_json(body);
        let calls: Vec<_> = said.calls.iter().map(|c| (&*c.id, &*c.name, &*c.arguments)).collect();
        assert_eq!(
            calls,
            [
                ("1", "read", r#"{"path":"a","n":12345678901234567890}"#),
                ("2", "bash", r#"{"command":"ls"}"#),
                ("", "unknown", "{}"),
            ]
        );
    }

    #[test]
    fn half_a_surrogate_pair_and_what_is_no_message_are_read_too() {
        assert_eq!(Said::from_json(r#"{"role":"user","content":"a\ud800"}"#).text, "a\u{fffd}");
        assert_eq!(Said::from_json("[]").role, "");
        assert_eq!(Said::from_json(r#"{"role":"user","content":"a","blocks":[{"type":"image"}]}"#).images, 1);
    }

    #[test]
    fn tokens_are_those_of_texts_calls_and_images() {
        let messages = [
            Said { role: "user".into(), text: "hello world".into(), images: 1, ..Said::default() },
            Said {
                role: "assistant".into(),
                calls: vec![ToolCall { id: "1".into(), name: "ls".into(), arguments: "{}".into() }],
                ..Said::default()
            },
        ];
        assert_eq!(Texts::of(&messages).tokens(), [2 + 1200, 2]);
    }
}
