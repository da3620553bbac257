//! The providers' rules: a provider refuses a request that breaks one, and the conversation is stuck.
//! [`check`] finds the messages that break a rule, [`repair`] the fewest losses that fix them. One transcript cannot show a
//! rule about two requests (thinking is kept byte for byte, a reasoning item stays beside its call). The layers keep such
//! rules by construction, and [`strip_unbound`] strips thinking whose prefix changed.

mod binding;
mod check;
mod repair;

pub use binding::{binds_thinking, holds_turn, strip_among, strip_bound, strip_unbound, strip_within};
pub use check::{Mend, Problem, check};
pub use repair::{Repair, repair};

pub use crate::contract::{Family, Rule};

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
