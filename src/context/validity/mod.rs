//! The providers' rules: what a request must obey, or the provider refuses it and the conversation is stuck.
//!
//! [`check`] names the messages that break a rule, [`repair`] the fewest losses that mend them. A rule about two
//! requests (thinking is kept byte for byte, a reasoning item stays beside its call) cannot be seen in one transcript:
//! the layers keep those by construction, and [`unbound`] names the thinking that a change of what precedes it costs.

mod binding;
mod check;
mod repair;

pub use binding::{binds_thinking, holds_turn, unbound};
pub use check::{Problem, check};
pub use repair::{Mend, repair};

use crate::context::transcript::{Link, Transcript};

/// Tool results that answer no call a provider would see right before them: every request over one is refused.
///
/// The hook leaves these out, and so does [`repair`].
pub fn orphans(transcript: &Transcript) -> impl Iterator<Item = usize> + '_ {
    (0..transcript.len()).filter(|&index| transcript.link(index) == Link::Orphan)
}

/// Wire protocols that share their rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Anthropic Messages, also behind Bedrock.
    Anthropic,
    /// OpenAI chat completions and their imitators.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini.
    Google,
    /// Unknown: only what all of them ask for.
    Any,
}

impl Family {
    /// The family of a pi `api` name.
    #[must_use]
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

/// A rule, by what breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A tool result without its call before it.
    OrphanResult,
    /// A tool result with another message between it and its call.
    LateResult,
    /// A second result for the same call.
    DuplicateResult,
    /// A tool call without its result when the next message comes.
    UnansweredCall,
    /// The conversation opens with what the model or a tool said.
    StartsWithReply,
    /// A message in which there is nothing, or nothing but white space.
    EmptyMessage,
    /// A text block that is empty or white space, beside other blocks.
    BlankText,
    /// Half a surrogate pair: no valid JSON for the provider.
    LoneSurrogate,
    /// A tool call id with characters outside `[a-zA-Z0-9_-]`.
    CallIdPattern,
    /// Two tool calls of one id.
    DuplicateCallId,
    /// Text after a tool call in one assistant message.
    TextAfterCall,
    /// The request ends on an assistant text that ends in white space.
    TrailingSpace,
    /// An assistant message of thinking alone.
    ThinkingAlone,
    /// A Gemini 3 step of the open turn whose first call has lost its thought signature.
    UnsignedCall,
    /// A tool call right after something else the model said.
    CallAfterReply,
    /// The request ends on what the model said.
    EndsOnReply,
}

impl Rule {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OrphanResult => "orphan-result",
            Self::LateResult => "late-result",
            Self::DuplicateResult => "duplicate-result",
            Self::UnansweredCall => "unanswered-call",
            Self::StartsWithReply => "starts-with-reply",
            Self::EmptyMessage => "empty-message",
            Self::BlankText => "blank-text",
            Self::LoneSurrogate => "lone-surrogate",
            Self::CallIdPattern => "call-id-pattern",
            Self::DuplicateCallId => "duplicate-call-id",
            Self::TextAfterCall => "text-after-call",
            Self::TrailingSpace => "trailing-space",
            Self::ThinkingAlone => "thinking-alone",
            Self::UnsignedCall => "unsigned-call",
            Self::CallAfterReply => "call-after-reply",
            Self::EndsOnReply => "ends-on-reply",
        }
    }

    /// The answer of the provider, in its words as far as they do not vary; never text of the conversation.
    #[must_use]
    pub const fn says(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::OrphanResult | Self::LateResult | Self::DuplicateResult, Family::Chat) => {
                "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            }
            (Self::OrphanResult | Self::LateResult | Self::DuplicateResult, Family::Responses) => {
                "No tool call found for function call output with this call_id"
            }
            (
                Self::OrphanResult | Self::LateResult | Self::DuplicateResult | Self::UnansweredCall,
                Family::Google,
            ) => {
                "the number of function response parts must equal the number of function call parts of the function call turn"
            }
            (Self::OrphanResult | Self::LateResult, _) => {
                "unexpected tool_use_id found in tool_result blocks: each tool_result block must have a corresponding tool_use block in the previous message"
            }
            (Self::DuplicateResult, _) => {
                "each tool_use must have a single result: found multiple tool_result blocks with one id"
            }
            (Self::UnansweredCall, Family::Chat) => {
                "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
            }
            (Self::UnansweredCall, Family::Responses) => "No tool output found for function call",
            (Self::UnansweredCall, _) => {
                "tool_use ids were found without tool_result blocks immediately after"
            }
            (Self::StartsWithReply, _) => "the first message must use the user role",
            (Self::EmptyMessage, Family::Google) => "contents.parts must not be empty",
            (Self::EmptyMessage, _) => "all messages must have non-empty content",
            (Self::BlankText, _) => "text content blocks must contain non-whitespace text",
            (Self::LoneSurrogate, _) => {
                "the request body is not valid JSON: no low surrogate in string, or a low one alone"
            }
            (Self::CallIdPattern, _) => "tool_use.id: string should match pattern '^[a-zA-Z0-9_-]+$'",
            (Self::DuplicateCallId, _) => "tool_use ids must be unique",
            (Self::TextAfterCall, _) => {
                "tool_use ids were found without tool_result blocks immediately after: text follows the tool_use"
            }
            (Self::TrailingSpace, _) => "final assistant content cannot end with trailing whitespace",
            (Self::ThinkingAlone, Family::Responses) => {
                "item of type 'reasoning' was provided without its required following item"
            }
            (Self::ThinkingAlone, _) => "the final block in an assistant message cannot be thinking",
            (Self::UnsignedCall, _) => "function call is missing a thought_signature in functionCall parts",
            (Self::CallAfterReply, _) => {
                "a function call turn must come immediately after a user turn or after a function response turn"
            }
            (Self::EndsOnReply, _) => "a request must end with a user turn or a function response turn",
        }
    }
}
