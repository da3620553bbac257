//! What the core sees of a conversation: per message the facts that decisions need, never its text.
//!
//! Measured messages flow in (`measure` makes them), groups and turns flow out. Nothing here counts tokens or
//! decides anything.

use std::sync::Arc;

use crate::text::Utf16Len;
use crate::traits::Traits;

/// A conversation in sending order, with each tool result linked to the call it answers.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    links: Vec<Link>,
}

/// How a message belongs to its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It stands alone, or is the assistant message that opens a group.
    Own,
    /// A tool result that answers a call of the assistant message at this index.
    ResultOf(usize),
    /// A tool result that answers no call a provider would see before it.
    Orphan,
}

/// The facts of one message. Equal content has equal facts, so they may be shared and cached.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks, with what only that role has.
    pub body: Body,
    /// False where pi leaves it out: stop reasons `error` and `aborted`, and what is excluded from the context.
    pub is_sent: bool,
    /// Tokens of the unedited message: 0 where pi does not send it.
    pub tokens: usize,
    /// When it was made, in ms since 1970; `None` where missing or not finite.
    pub timestamp_ms: Option<f64>,
    /// 128-bit hash of everything that was read of it.
    pub fingerprint: u128,
    /// What it is about.
    pub traits: Traits,
}

/// A message by role.
#[derive(Clone, Debug)]
pub enum Body {
    /// pi 0.86 and later: the prompt and the tools, inside the array.
    System,
    /// What the user said.
    User,
    /// What the model said.
    Assistant(Assistant),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// A `compactionSummary` or `branchSummary`: what is left of earlier messages.
    Summary,
    /// Any other role; a host turns it into user-side text or leaves it out.
    Other,
}

/// The facts of an assistant message.
#[derive(Clone, Debug)]
pub struct Assistant {
    /// Wire protocol, provider and model that made it.
    pub source: Source,
    /// Tokens of the prompt as the provider counted them (input + cache read + cache write), where known.
    pub prompt_tokens: Option<u64>,
    /// Tokens of that prompt which came from the provider's cache.
    pub cache_read_tokens: u64,
    /// Ids of its tool calls, in order.
    pub call_ids: Vec<Box<str>>,
    /// Its thinking blocks, where it has any.
    pub thinking: Option<Thinking>,
    /// Whether something a provider accepts would be left without the thinking.
    pub has_other_content: bool,
    /// Whether one of its texts carries the id the provider gave it.
    pub has_text_id: bool,
}

/// Who made an assistant message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Wire protocol, such as `anthropic-messages`.
    pub api: Box<str>,
    /// Provider, such as `anthropic`.
    pub provider: Box<str>,
    /// Model id.
    pub model: Box<str>,
}

/// The thinking blocks of one assistant message, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// How many blocks, redacted ones too.
    pub blocks: usize,
    /// Their tokens.
    pub tokens: usize,
    /// Whether a signature is the name of a wire field, such as `reasoning_content`.
    pub names_wire_field: bool,
}

/// The facts of a tool result.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// Id of the call it answers.
    pub call_id: Box<str>,
    /// The tool's name.
    pub tool_name: Box<str>,
    /// Length of its text blocks joined by newlines.
    pub text_len: Utf16Len,
    /// Whether the host asked that this tool's results are never touched.
    pub is_excluded: bool,
    /// The number of its recall handle, where markers name it.
    pub handle: Option<u32>,
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

impl Transcript {
    /// Links each tool result to its call.
    #[must_use]
    pub fn new(messages: Vec<Arc<Message>>) -> Self {
        let links = link(&messages);
        Self { messages, links }
    }

    /// The transcript before the message at `end`.
    #[must_use]
    pub fn up_to(&self, end: usize) -> Self {
        let end = end.min(self.len());
        let messages = self.messages.get(..end).unwrap_or_default().to_vec();
        let links = self.links.get(..end).unwrap_or_default().to_vec();
        Self { messages, links }
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The message at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.messages.get(index).map(Arc::as_ref)
    }

    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// True without any message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Tokens of all messages, unedited.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.messages.iter().map(|message| message.tokens).sum()
    }

    /// How the message at `index` belongs to its neighbours.
    #[must_use]
    pub fn link(&self, index: usize) -> Link {
        self.links.get(index).copied().unwrap_or(Link::Own)
    }

    /// Index of the message that opens the group of the message at `index`.
    #[must_use]
    pub fn group_start(&self, index: usize) -> usize {
        match self.link(index) {
            Link::ResultOf(call) => call,
            Link::Own | Link::Orphan => index,
        }
    }

    /// The group that opens at `start`: that message and the tool results that answer it.
    ///
    /// Results follow their call closely, so only the messages up to the next assistant are looked at.
    pub fn group(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        let results = (start + 1..self.len())
            .take_while(|&i| !matches!(self.get(i).map(|m| &m.body), Some(Body::Assistant(_))))
            .filter(move |&i| self.link(i) == Link::ResultOf(start));
        std::iter::once(start).chain(results)
    }

    /// Index of the first user message.
    #[must_use]
    pub fn first_user(&self) -> Option<usize> {
        self.messages.iter().position(|message| message.is_user())
    }

    /// Index of the last user message: what follows it is the open turn.
    #[must_use]
    pub fn last_user(&self) -> Option<usize> {
        self.messages.iter().rposition(|message| message.is_user())
    }
}

impl Message {
    /// True for role `user`.
    #[must_use]
    pub fn is_user(&self) -> bool {
        matches!(self.body, Body::User)
    }

    /// True for role `system`.
    #[must_use]
    pub fn is_system(&self) -> bool {
        matches!(self.body, Body::System)
    }

    /// The assistant's facts, for role `assistant`.
    #[must_use]
    pub fn assistant(&self) -> Option<&Assistant> {
        match &self.body {
            Body::Assistant(assistant) => Some(assistant),
            _ => None,
        }
    }

    /// Its assistant facts, if it is an assistant message that is sent.
    #[must_use]
    pub fn sent_assistant(&self) -> Option<&Assistant> {
        self.assistant().filter(|_| self.is_sent)
    }

    /// Whether a provider sees it as a turn, if nothing else keeps it from being sent.
    #[must_use]
    pub fn is_turn(&self) -> bool {
        self.is_sent && !self.is_system()
    }

    /// Bytes these facts take, for caches that are bounded by them.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let owned = match &self.body {
            Body::Assistant(assistant) => {
                let source = &assistant.source;
                let ids: usize = assistant.call_ids.iter().map(|id| id.len() + size_of::<Box<str>>()).sum();
                ids + source.api.len() + source.provider.len() + source.model.len()
            }
            Body::ToolResult(result) => {
                let shortened =
                    result.shortened.as_ref().map_or(0, |shortened| size_of_val(&*shortened.text));
                shortened + result.call_id.len() + result.tool_name.len()
            }
            _ => 0,
        };
        size_of::<Self>() + owned + self.traits.heap_bytes()
    }

    /// The tool result's facts, for role `toolResult`.
    #[must_use]
    pub fn tool_result(&self) -> Option<&ToolResult> {
        match &self.body {
            Body::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

/// A result answers the nearest assistant message before it, if that one is sent, has its id, no earlier result took
/// it and nobody has spoken since: anything else reaches the provider without its call. A message of an unknown
/// role may be one the host never sends, so it does not count as speaking.
fn link(messages: &[Arc<Message>]) -> Vec<Link> {
    let mut open: Option<(usize, Vec<&str>)> = None;
    let mut links = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        links.push(match &message.body {
            Body::Assistant(assistant) => {
                let ids = if message.is_sent { assistant.call_ids.as_slice() } else { &[] };
                open = Some((index, ids.iter().map(AsRef::as_ref).collect()));
                Link::Own
            }
            Body::ToolResult(result) => match &mut open {
                Some((call, unanswered)) => match unanswered.iter().position(|id| **id == *result.call_id) {
                    Some(position) => {
                        unanswered.swap_remove(position);
                        Link::ResultOf(*call)
                    }
                    None => Link::Orphan,
                },
                None => Link::Orphan,
            },
            Body::User | Body::Summary => {
                open = None;
                Link::Own
            }
            Body::System | Body::Other => Link::Own,
        });
    }
    links
}
