//! The facts of one message, by role.

use super::source::Source;
use crate::context::facts::cuts::CutTable;
use crate::context::facts::handle::Handle;
use crate::context::facts::traits::Traits;
use crate::contract::{Family, Subject};

/// The facts of one message. Equal content has equal facts, so they may be shared and cached.
#[derive(Clone, Debug)]
pub struct Message {
    /// The role, with the facts only it has.
    pub body: Body,
    /// False where pi leaves it out: stop reasons `error` and `aborted`, and what is excluded from the context.
    pub is_sent: bool,
    /// True if the host forbids every edit of it.
    pub is_protected: bool,
    /// Tokens of the unedited message: 0 where pi does not send it.
    pub tokens: usize,
    /// When it was made, in ms since 1970; `None` where missing or not finite.
    pub timestamp_ms: Option<f64>,
    /// 128-bit hash of everything that was read of it.
    pub fingerprint: u128,
    /// The same without the reported usage, which may come in later.
    pub identity: u128,
    /// Its names, lines and targets.
    pub traits: Traits,
    /// The possible cuts of its long texts; empty where they may not be cut.
    pub cuts: CutTable,
    /// Its images, in order.
    pub images: Images,
}

/// The images of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Characters of each in the request.
    pub lens: Box<[u32]>,
    /// Tokens saved by a marker in place of one.
    pub tokens_saved: u32,
}

/// A message by role.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most messages are answers, and facts are shared by pointer")]
pub enum Body {
    /// pi 0.86 and later: the prompt and the tools, inside the array.
    System,
    /// A user message.
    User,
    /// The model's answer.
    Assistant(Assistant),
    /// A tool's result.
    ToolResult(ToolResult),
    /// A `compactionSummary` or `branchSummary` of earlier messages.
    Summary,
    /// pi's `custom` and `bashExecution`: sent as user messages.
    Custom,
    /// Any other role; a host turns it into user-side text or leaves it out.
    Other,
}

/// The facts of an assistant message.
#[derive(Clone, Debug, Default)]
pub struct Assistant {
    /// Wire protocol, provider and model that made it.
    pub source: Source,
    /// The provider's report of the call it answers.
    pub usage: Usage,
    /// Ids of its tool calls, in order, each once: a second call with an id is not sent.
    pub call_ids: Vec<Box<str>>,
    /// Tokens of the calls that repeat an id of this message and are not sent; `None` without one.
    pub repeated_calls: Option<usize>,
    /// Its thinking blocks, where it has any.
    pub thinking: Option<Thinking>,
    /// True if a provider accepts it without its thinking.
    pub has_other_content: bool,
    /// True if one of its texts carries the id the provider gave it.
    pub has_text_id: bool,
}

/// A provider's report of one call: the tokens of its prompt, and the dollars for them where the host priced them. A field
/// without a usable value is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Prompt tokens that were neither read from the cache nor written to it.
    pub input: Option<f64>,
    /// Prompt tokens read from the cache.
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache.
    pub cache_write: Option<f64>,
    /// Prompt tokens written to live for an hour, which `cache_write` includes.
    pub cache_write_1h: Option<f64>,
    /// Dollars for `input`.
    pub cost_input: Option<f64>,
    /// Dollars for `cache_read`.
    pub cost_cache_read: Option<f64>,
    /// Dollars for `cache_write`.
    pub cost_cache_write: Option<f64>,
    /// The refusal, if the request was refused for its length or its images.
    pub refused: Option<Refusal>,
}

/// A refusal of a request: the numbers that it names, and its subject.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Refusal {
    /// Tokens of the prompt.
    pub prompt: Option<f64>,
    /// Most tokens that the endpoint takes for prompt and answer together.
    pub limit: Option<f64>,
    /// Tokens that the request reserved for the answer.
    pub output: Option<f64>,
    /// Tokens by which the request is over the limit.
    pub excess: Option<f64>,
    /// Most images that the endpoint takes.
    pub images: Option<u32>,
    /// Most characters of one image.
    pub image_chars: Option<u32>,
    /// Its subject, if it leaves no doubt.
    pub subject: Option<Subject>,
}

impl Assistant {
    /// Returns `false` if it has nothing but thinking, or if the provider refuses its calls, or its texts with an id, without
    /// it.
    fn may_lose_thinking(&self) -> bool {
        let leads_on = !self.call_ids.is_empty() || self.has_text_id;
        self.has_other_content && !(leads_on && self.needs_its_thinking())
    }

    /// Returns `true` where the provider refuses a call without the thinking before it.
    fn needs_its_thinking(&self) -> bool {
        let Self { source, thinking, .. } = self;
        let signature = thinking.map_or(Signature::Sealed, |thinking| thinking.signature);
        match Family::of(&source.api) {
            Family::Google => false,
            Family::Anthropic => source.wants_thinking_back(),
            Family::Responses => true,
            Family::Chat => signature != Signature::Sealed,
            Family::Any => signature == Signature::Item || source.wants_thinking_back(),
        }
    }
}

impl Refusal {
    /// Tokens of the refused prompt: as named, or the room under the limit if `estimated` is below it.
    pub fn tokens(&self, estimated: f64) -> Option<f64> {
        let most = self.limit.map(|limit| limit - self.output.unwrap_or(0.0));
        self.prompt.or(most.filter(|most| *most > estimated))
    }

    /// The limit: as named, or `prompt` less the excess.
    pub fn limit_for(&self, prompt: f64) -> Option<f64> {
        self.limit.or(self.excess.map(|excess| prompt - excess))
    }

    /// Returns `true` if the model cannot read an image, or takes none at all.
    pub fn is_of_images(&self) -> bool {
        self.subject == Some(Subject::Images) || self.images == Some(0)
    }
}

impl Usage {
    /// Tokens of the prompt: input + cache read + cache write; `None` unless that is a usable count.
    pub fn prompt_tokens(&self) -> Option<f64> {
        /// Ten times the largest context window there has been.
        const MOST: f64 = 100_000_000.0;
        let tokens = self.input? + self.cache_read.unwrap_or(0.0) + self.cache_write.unwrap_or(0.0);
        (tokens > 0.0 && tokens <= MOST).then_some(tokens)
    }

    /// Returns `true` if any of the prompt was read from the cache or written to it.
    pub fn is_cached(&self) -> bool {
        self.cache_read.unwrap_or(0.0) + self.cache_write.unwrap_or(0.0) > 0.0
    }
}

/// The thinking blocks of one assistant message, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// Their tokens.
    pub tokens: usize,
    /// The most telling of their signatures.
    pub signature: Signature,
}

/// The kinds of thinking signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signature {
    /// None, or bytes that only the provider can read.
    Sealed,
    /// The name of a wire field, such as `reasoning_content`.
    Field,
    /// An item of the wire, as JSON.
    Item,
}

/// The facts of a tool result.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// Id of the call it answers.
    pub call_id: Box<str>,
    /// True if it reports a failure.
    pub is_error: bool,
    /// True if the host asked that this tool's results are never touched.
    pub is_excluded: bool,
    /// True if it is a page that the model asked to read back.
    pub is_recalled: bool,
    /// Its handle, where markers name it.
    pub handle: Option<Handle>,
    /// The shorter text it may be replaced by; `None` where it must stay as it is.
    pub shortened: Option<Shortened>,
}

/// A shorter text for a tool result.
#[derive(Clone, Debug)]
pub struct Shortened {
    /// The text, in UTF-16 because the original may hold lone surrogates.
    pub text: Box<[u16]>,
    /// Tokens of the whole message with this text in place of its own.
    pub message_tokens: usize,
}

impl Message {
    /// Returns `true` for role `user`.
    pub fn is_user(&self) -> bool {
        matches!(self.body, Body::User)
    }

    /// Returns `true` for role `toolResult`.
    pub fn is_tool_result(&self) -> bool {
        matches!(self.body, Body::ToolResult(_))
    }

    /// Returns `true` for role `system`.
    pub fn is_system(&self) -> bool {
        matches!(self.body, Body::System)
    }

    /// The assistant's facts, for role `assistant`.
    pub fn assistant(&self) -> Option<&Assistant> {
        match &self.body {
            Body::Assistant(assistant) => Some(assistant),
            _ => None,
        }
    }

    /// Its assistant facts, if it is an assistant message that is sent.
    pub fn sent_assistant(&self) -> Option<&Assistant> {
        self.assistant().filter(|_| self.is_sent)
    }

    /// Returns `true` if it has thinking that may go: it is not protected, and its provider accepts it without.
    pub fn may_lose_thinking(&self) -> bool {
        let assistant = self.assistant().filter(|_| !self.is_protected);
        assistant.is_some_and(|assistant| assistant.thinking.is_some() && assistant.may_lose_thinking())
    }

    /// Tokens of the unedited message, with its repeated calls.
    pub fn whole_tokens(&self) -> usize {
        self.tokens + self.sent_assistant().and_then(|assistant| assistant.repeated_calls).unwrap_or(0)
    }

    /// Returns `true` if it closes the calls before it. An answer that pi leaves out closes them, too. System messages do
    /// not, and other roles may never be sent.
    pub fn speaks(&self) -> bool {
        match self.body {
            Body::User | Body::Assistant(_) | Body::Summary => true,
            Body::Custom => self.is_sent,
            Body::System | Body::ToolResult(_) | Body::Other => false,
        }
    }

    /// Protects it from every layer.
    pub fn protect(&mut self) {
        self.is_protected = true;
        self.cuts = CutTable::default();
        if let Body::ToolResult(result) = &mut self.body {
            result.is_excluded = true;
            result.shortened = None;
        }
    }

    /// Returns `true` if `other` has equal content; it may have gained a usage report.
    pub fn is_same(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            || (self.identity == other.identity && self.reported_tokens().is_none())
    }

    /// Tokens of the prompt it answered, as the provider reported them.
    pub fn reported_tokens(&self) -> Option<f64> {
        self.assistant()?.usage.prompt_tokens()
    }

    /// The tool result's facts, for role `toolResult`.
    pub fn tool_result(&self) -> Option<&ToolResult> {
        match &self.body {
            Body::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}
