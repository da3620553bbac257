//! The core's view of a session's message: what linking, counting and searching need. Nothing is decided here.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::context::measure::{Part, Raw, RawRole, Rules, count, outline};
use crate::context::transcript::{Transcript, Usage};
use crate::replay::mend_json;
use crate::text::utf16;

/// A message of any provider, as `lib/sessions/compression.js` and `rounds.js` write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Said {
    /// `system`, `user`, `assistant`, `tool`; `summary` of what came before, by pi itself; anything else is none of these.
    pub role: String,
    /// Its text.
    pub content: String,
    /// Tool calls it makes.
    pub tool_calls: Vec<ToolCall>,
    /// The call it answers.
    pub tool_call_id: Option<String>,
    /// The word that it failed, of the tool or the provider; `None` if nobody said anything of the kind.
    pub is_error: Option<bool>,
    /// Images beside its text.
    pub images: usize,
    /// True of the summary of the last time.
    pub is_summary: bool,
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as JSON.
    pub arguments: String,
}

/// Reads JSON as JavaScript writes it: with lone surrogates, which are no UTF-8.
///
/// # Errors
/// Those of [`serde_json`], for what is no JSON or another value.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json)
        .or_else(|_| serde_json::from_str(&mend_json(json.as_bytes()).unwrap_or_default()))
}

/// The conversation with each result linked to its call by the core's own rule.
pub(super) fn transcript(messages: &[Said]) -> Transcript {
    Transcript::new(messages.iter().map(|said| Arc::new(as_raw(said, outline))).collect())
}

/// Tokens of each message.
pub(super) fn tokens(messages: &[Said]) -> Vec<usize> {
    let rules = Rules::default();
    messages.iter().map(|said| as_raw(said, |raw| count(raw, &rules))).collect()
}

/// The answer of `read` about a message with its texts as the core reads them.
fn as_raw<T>(said: &Said, read: impl FnOnce(&Raw<'_>) -> T) -> T {
    let text = utf16(&said.content);
    let call_id = utf16(said.tool_call_id.as_deref().unwrap_or_default());
    let calls = said.tool_calls.iter();
    let calls: Vec<_> =
        calls.map(|call| [&call.id, &call.name, &call.arguments].map(|text| utf16(text))).collect();
    let role = match said.role.as_str() {
        "system" => RawRole::System,
        "user" | "summary" => RawRole::User,
        "assistant" => RawRole::Assistant {
            api: &[],
            provider: &[],
            model: &[],
            usage: Usage::default(),
            has_text_id: false,
        },
        "tool" => RawRole::ToolResult { call_id: &call_id, tool_name: &[], marker: None },
        _ => RawRole::Other,
    };
    let calls =
        calls.iter().map(|[id, name, arguments]| Part::Call { id, name, arguments, is_signed: false });
    let images = std::iter::repeat_n(Part::Image { len: 0 }, said.images);
    let parts = std::iter::once(Part::Text(&text)).chain(calls).chain(images).collect();
    read(&Raw { role, timestamp_ms: None, is_sent: true, parts, fingerprint: 0, identity: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_read_too() {
        let said: Said = read(r#"{"role":"user","content":"a\ud800"}"#).expect("JSON");
        assert_eq!((said.role.as_str(), said.content.as_str()), ("user", "a\u{fffd}"));
        assert!(read::<Said>("7").is_err());
    }

    #[test]
    fn tokens_are_those_of_texts_calls_and_images() {
        let messages = [
            Said { role: "user".into(), content: "hello world".into(), images: 1, ..Said::default() },
            Said {
                role: "assistant".into(),
                tool_calls: vec![ToolCall { id: "1".into(), name: "ls".into(), arguments: "{}".into() }],
                ..Said::default()
            },
        ];
        assert_eq!(tokens(&messages), [2 + 1200, 2]);
    }
}
