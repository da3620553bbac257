//! What the core sees of a conversation: per message the facts that decisions need, never its text.
//!
//! `measure` makes the messages. This room links each tool result to its call and finds groups and turns; it counts no
//! tokens and decides nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cuts::CutTable;
use crate::handle::Handle;
use crate::text::Utf16Len;
use crate::traits::Traits;

/// A conversation in sending order, with each tool result linked to the call it answers.
///
/// ```
/// use std::sync::Arc;
///
/// use pi_strata::measure::{Part, Raw, RawRole, outline};
/// use pi_strata::transcript::{Link, Transcript, Usage};
///
/// let id: Vec<u16> = "call_1".encode_utf16().collect();
/// let asks = RawRole::Assistant {
///     api: &[], provider: &[], model: &[], usage: Usage::default(), has_text_id: false,
/// };
/// let call = Part::Call { id: &id, name: &[], arguments: &[], is_signed: false };
/// let answers = RawRole::ToolResult { call_id: &id, tool_name: &[], marker: None };
/// let messages = [
///     Raw::new(RawRole::User, vec![]),
///     Raw::new(asks, vec![call]),
///     Raw::new(answers, vec![]),
///     Raw::new(answers, vec![]),
/// ];
/// let transcript = Transcript::new(messages.iter().map(|message| Arc::new(outline(message))).collect());
/// assert_eq!(transcript.link(2), Link::ResultOf(1));
/// assert_eq!(transcript.link(3), Link::Orphan, "the call has its result");
/// assert_eq!(transcript.group(1).collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    links: Vec<Linked>,
}

/// A link with what finding the rest of its group takes.
#[derive(Clone, Copy, Debug)]
struct Linked {
    link: Link,
    /// Of a result, the position of its call among the calls of its assistant message.
    call: usize,
    /// The next result of the same group.
    next: Option<usize>,
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
    /// Whether the host asked that nothing is done to it.
    pub is_protected: bool,
    /// Tokens of the unedited message: 0 where pi does not send it.
    pub tokens: usize,
    /// When it was made, in ms since 1970; `None` where missing or not finite.
    pub timestamp_ms: Option<f64>,
    /// 128-bit hash of everything that was read of it.
    pub fingerprint: u128,
    /// The same without what the provider reported: that may come in later.
    pub identity: u128,
    /// What it is about.
    pub traits: Traits,
    /// How its long texts can be cut; empty where they may not be.
    pub cuts: CutTable,
    /// Its images, in order.
    pub images: Images,
}

/// The images of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Characters of each in the request.
    pub lens: Box<[u32]>,
    /// Tokens saved where a marker takes the place of one.
    pub tokens_saved: u32,
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
    /// What the provider reported of the call it answers.
    pub usage: Usage,
    /// Ids of its tool calls, in order.
    pub call_ids: Vec<Box<str>>,
    /// Its thinking blocks, where it has any.
    pub thinking: Option<Thinking>,
    /// Whether something a provider accepts would be left without the thinking.
    pub has_other_content: bool,
    /// Whether one of its texts carries the id the provider gave it.
    pub has_text_id: bool,
}

/// What a provider reported of one call: tokens, and dollars where the host priced them. `None` where nothing usable was
/// said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Prompt tokens that were neither read from the cache nor written to it.
    pub input: Option<f64>,
    /// Prompt tokens read from the cache.
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the cache.
    pub cache_write: Option<f64>,
    /// Those of them written to live for an hour.
    pub cache_write_1h: Option<f64>,
    /// Tokens of the answer.
    pub output: Option<f64>,
    /// Dollars for `input`.
    pub cost_input: Option<f64>,
    /// Dollars for `cache_read`.
    pub cost_cache_read: Option<f64>,
    /// Dollars for `cache_write`.
    pub cost_cache_write: Option<f64>,
    /// Dollars for `output`.
    pub cost_output: Option<f64>,
    /// Dollars for all of it.
    pub cost_total: Option<f64>,
}

impl Usage {
    /// Tokens of the prompt: input + cache read + cache write; `None` unless that is a usable count.
    #[must_use]
    pub fn prompt_tokens(&self) -> Option<f64> {
        const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
        let tokens = self.input? + self.cache_read.unwrap_or(0.0) + self.cache_write.unwrap_or(0.0);
        (tokens > 0.0 && tokens <= MAX_EXACT).then_some(tokens)
    }

    /// Whether any of the prompt came from the cache.
    #[must_use]
    pub fn shows_cache(&self) -> bool {
        self.cache_read.is_some_and(|tokens| tokens > 0.0)
    }
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
    /// Whether it is what the model asked to read back.
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

impl Transcript {
    /// Links each tool result to its call.
    #[must_use]
    pub fn new(messages: Vec<Arc<Message>>) -> Self {
        let mut links = Vec::with_capacity(messages.len());
        link(&messages, &mut links);
        Self { messages, links }
    }

    /// Lets go of all but its first `len` messages and takes in these after them, as if it had been made of them: what
    /// a conversation adds costs no more because it is long.
    pub fn go_on(&mut self, len: usize, newer: impl Iterator<Item = Arc<Message>>) {
        self.messages.truncate(len);
        self.links.truncate(len);
        // Whoever speaks closes the groups before: from the last one on the links may have changed.
        let reopened = self.messages.iter().rposition(|message| message.body.ends_calls()).unwrap_or(0);
        self.links.truncate(reopened);
        self.messages.extend(newer);
        link(&self.messages, &mut self.links);
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
        self.links.get(index).map_or(Link::Own, |linked| linked.link)
    }

    /// Of a tool result, the position of its call among those of the assistant message it answers.
    #[must_use]
    pub fn call_position(&self, index: usize) -> usize {
        self.links.get(index).map_or(0, |linked| linked.call)
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
    pub fn group(&self, start: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(start), |&index| self.links.get(index)?.next)
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

    /// Keeps every layer away from it.
    pub fn protect(&mut self) {
        self.is_protected = true;
        self.cuts = CutTable::default();
        if let Body::ToolResult(result) = &mut self.body {
            result.is_excluded = true;
            result.shortened = None;
        }
    }

    /// Whether `other` is the same message or one of equal content; a report may have come in since.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let is_equal = std::ptr::eq(self, other) || self.fingerprint == other.fingerprint;
        is_equal || (self.identity == other.identity && self.reported_tokens().is_none())
    }

    /// Tokens of the prompt it answered, as the provider counted them.
    #[must_use]
    pub fn reported_tokens(&self) -> Option<f64> {
        self.assistant()?.usage.prompt_tokens()
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
        let images = size_of_val(&*self.images.lens);
        size_of::<Self>() + owned + images + self.traits.heap_bytes() + self.cuts.heap_bytes()
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

impl Body {
    /// Whether no result after it answers a call before it.
    fn ends_calls(&self) -> bool {
        matches!(self, Self::Assistant(_) | Self::User | Self::Summary)
    }
}

/// Links the messages that have no link yet; the first of them opens no group that began before.
///
/// A result answers the nearest assistant message before it, if that one is sent, has its id, no earlier result took
/// it and nobody has spoken since: anything else reaches the provider without its call. A message of an unknown
/// role may be one the host never sends, so it does not count as speaking.
fn link(messages: &[Arc<Message>], links: &mut Vec<Linked>) {
    let mut open: Option<OpenCalls<'_>> = None;
    for (index, message) in messages.iter().enumerate().skip(links.len()) {
        let mut linked = Linked { link: Link::Own, call: 0, next: None };
        match &message.body {
            Body::Assistant(assistant) => open = message.is_sent.then(|| OpenCalls::of(index, assistant)),
            Body::ToolResult(result) => {
                let answered =
                    open.as_mut().and_then(|calls| calls.take(&result.call_id).map(|at| (calls, at)));
                linked.link = Link::Orphan;
                if let Some((calls, call)) = answered {
                    linked = Linked { link: Link::ResultOf(calls.message), call, next: None };
                    if let Some(before) = links.get_mut(calls.newest_member) {
                        before.next = Some(index);
                    }
                    calls.newest_member = index;
                }
            }
            Body::User | Body::Summary => open = None,
            Body::System | Body::Other => {}
        }
        links.push(linked);
    }
}

/// The calls of the newest assistant message that have no result yet.
struct OpenCalls<'a> {
    message: usize,
    newest_member: usize,
    unanswered: Unanswered<'a>,
}

/// Calls that no result has answered: nearly every message has a few, and those need no table.
enum Unanswered<'a> {
    /// The ids, and a bit for each that was answered.
    Few(&'a [Box<str>], u32),
    /// Positions by id, the first call of an id last.
    Many(HashMap<&'a str, Vec<usize>>),
}

/// As many calls as there are bits.
const FEW_CALLS: usize = u32::BITS as usize;

impl<'a> OpenCalls<'a> {
    fn of(message: usize, assistant: &'a Assistant) -> Self {
        let ids = &*assistant.call_ids;
        let unanswered = if ids.len() <= FEW_CALLS {
            Unanswered::Few(ids, 0)
        } else {
            let mut by_id: HashMap<&str, Vec<usize>> = HashMap::with_capacity(ids.len());
            for (position, id) in ids.iter().enumerate().rev() {
                by_id.entry(id).or_default().push(position);
            }
            Unanswered::Many(by_id)
        };
        Self { message, newest_member: message, unanswered }
    }

    /// The first call of this id that has no result yet; from now on it has one.
    fn take(&mut self, id: &str) -> Option<usize> {
        match &mut self.unanswered {
            Unanswered::Few(ids, answered) => {
                let is_open = |position: usize| *answered & (1 << position) == 0;
                let found = ids.iter().enumerate().position(|(at, known)| is_open(at) && &**known == id)?;
                *answered |= 1 << found;
                Some(found)
            }
            Unanswered::Many(by_id) => by_id.get_mut(id)?.pop(),
        }
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
