//! The origin of an assistant message, and the rules of its wire protocol.

use crate::contract::Family;

/// Protocols that refuse two messages of one side in a row, or a user message after tool results, each with a part of the model's
/// name. On servers for OpenAI's protocol the chat templates of Mistral's models and of Gemma refuse them.
const ALTERNATING: [(&str, &str); 5] = [
    ("bedrock-converse-stream", ""),
    ("mistral-conversations", ""),
    ("openai-completions", "stral"),
    ("openai-completions", "xtral"),
    ("openai-completions", "gemma"),
];

/// Parts of the names of models that refuse a call without its thinking, over any protocol.
const WANT_THINKING: [&str; 3] = ["deepseek", "kimi", "moonshot"];

/// Who made an assistant message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Source {
    /// Wire protocol, such as `anthropic-messages`.
    pub api: Box<str>,
    /// Provider, such as `anthropic`.
    pub provider: Box<str>,
    /// Model id.
    pub model: Box<str>,
}

impl Source {
    /// Returns `true` if the provider wants the user's side and the answers in turn.
    pub fn alternates(&self) -> bool {
        let names = |part| self.model.to_lowercase().contains(part);
        ALTERNATING.iter().any(|&(api, part)| *self.api == *api && names(part))
    }

    /// Returns `true` for models that want their thinking back beside calls over Anthropic's protocol, too.
    pub fn wants_thinking_back(&self) -> bool {
        let model = self.model.to_lowercase();
        WANT_THINKING.iter().any(|name| model.contains(name) || self.provider.contains(name))
    }
}

impl Family {
    /// The family of a pi `api` name.
    pub fn of(api: &str) -> Self {
        match api {
            "anthropic-messages" | "bedrock-converse-stream" => Self::Anthropic,
            "openai-completions" | "mistral-conversations" => Self::Chat,
            "openai-responses" | "azure-openai-responses" | "openai-codex-responses" => Self::Responses,
            "google-generative-ai" | "google-vertex" | "google-gemini-cli" => Self::Google,
            _ => Self::Any,
        }
    }
}
