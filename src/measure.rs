//! Reads the texts of a message once and keeps what decisions need of them: counts, hashes, and the short text that may
//! replace a long tool result.
//!
//! The work that grows with text is here, so it runs off the host's main thread. Nothing is decided.

use std::borrow::Cow;

use crate::cuts::CutTable;
use crate::layers::tool_results::{Form, MarkerLanguage, Shortening};
use crate::recall;
use crate::text::{Utf16Len, has_lone_surrogate, is_blank};
use crate::tokens::{Tokenizer, estimate::by_length};
use crate::traits::identifiers::{Collector, Identifier};
use crate::traits::lines::{self, Gap, Layout, Line};
use crate::traits::target::Target;
use crate::traits::{Traits, hash_of_text};
use crate::transcript::{Assistant, Body, Message, Shortened, Source, Thinking, ToolResult, Usage};

/// Tokens an image is taken for: what Anthropic charges for about 900 000 pixels (width × height / 750).
pub const IMAGE_TOKENS: usize = 1200;
/// Longest thinking signature that can be the name of a wire field.
pub const WIRE_FIELD_MAX_LEN: Utf16Len = Utf16Len(64);

/// Shorter tool results are not looked at for duplicates: "ok" and its like repeat by chance.
const MIN_COMPARED_LEN: Utf16Len = Utf16Len(200);

const NEWLINE: u16 = b'\n' as u16;

/// What measuring depends on besides the message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// How long tool results are made shorter.
    pub shortening: Shortening,
    /// The language of the marker line, where the message brings no marker of its own.
    pub marker: MarkerLanguage,
    /// Whether a marker ends with the handle by which the original can be recalled.
    pub names_handle: bool,
    /// How texts are counted.
    pub counting: Counting,
    /// Tools whose results are never touched.
    pub exclude_tools: Vec<Box<str>>,
    /// Tokens of one image.
    pub image_tokens: usize,
}

/// How the tokens of a text are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Exactly, by an encoding.
    Exact(&'static Tokenizer),
    /// From its length, for hosts that want no more than a bound.
    Chars,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            shortening: Shortening::Lines(Form::default()),
            marker: MarkerLanguage::Zh,
            names_handle: false,
            counting: Counting::Exact(Tokenizer::cl100k()),
            exclude_tools: Vec::new(),
            image_tokens: IMAGE_TOKENS,
        }
    }
}

impl Rules {
    fn tokens(&self, text: &[u16]) -> usize {
        match self.counting {
            Counting::Exact(tokenizer) => tokenizer.count_utf16(text),
            Counting::Chars => by_length(text),
        }
    }
}

/// A message as it was read, its texts borrowed.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    /// Who speaks.
    pub role: RawRole<'a>,
    /// ms since 1970.
    pub timestamp_ms: Option<f64>,
    /// False for what pi never sends, such as a bashExecution with `excludeFromContext`.
    pub is_sent: bool,
    /// Content blocks, in order.
    pub parts: Vec<Part<'a>>,
    /// Hash of everything read.
    pub fingerprint: u128,
    /// Hash of everything but the reported usage.
    pub identity: u128,
}

/// A role with the fields only it has.
#[derive(Clone, Copy, Debug)]
pub enum RawRole<'a> {
    /// `system`
    System,
    /// `user`
    User,
    /// `assistant`
    Assistant {
        /// Wire protocol.
        api: &'a [u16],
        /// Provider.
        provider: &'a [u16],
        /// Model id.
        model: &'a [u16],
        /// What the provider reported.
        usage: Usage,
        /// Whether one of its texts carries the id the provider gave it.
        has_text_id: bool,
    },
    /// `toolResult`
    ToolResult {
        /// Id of the call.
        call_id: &'a [u16],
        /// Name of the tool.
        tool_name: &'a [u16],
        /// The host's own marker line for this text.
        marker: Option<&'a [u16]>,
    },
    /// `compactionSummary`, `branchSummary`
    Summary,
    /// Anything else.
    Other,
}

/// One content block.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A text block, or content that is a plain string.
    Text(&'a [u16]),
    /// A thinking block.
    Thinking {
        /// What was thought.
        text: &'a [u16],
        /// Its signature if that is short, else empty.
        signature: &'a [u16],
    },
    /// A tool call.
    Call {
        /// Its id.
        id: &'a [u16],
        /// The tool.
        name: &'a [u16],
        /// Its arguments as JSON.
        arguments: &'a [u16],
        /// Whether a thought signature came with it.
        is_signed: bool,
    },
    /// An image.
    Image,
    /// Text that counts but is no content block: a command, a list of tools.
    Counted(&'a [u16]),
    /// A block of a kind unknown here.
    Unknown,
}

/// Tokens of a message; 0 for what pi does not send.
#[must_use]
pub fn count(raw: &Raw<'_>, rules: &Rules) -> usize {
    if raw.is_sent { Counts::of(&raw.parts, rules).all } else { 0 }
}

/// The facts of a message. Each text is counted once.
#[must_use]
pub fn measure(raw: &Raw<'_>, rules: &Rules) -> Message {
    let counts = Counts::of(&raw.parts, rules);
    let body =
        body(raw, counts, |joined, call_id, marker| shorten(joined, call_id, marker, counts, rules), rules);
    let traits = raw.traits(&body, rules);
    let tokens = if raw.is_sent { counts.all } else { 0 };
    Message { cuts: cuts(raw, rules), ..message(raw, body, tokens, traits) }
}

/// How its texts can be cut: what tools answered, unless the host excluded the tool, and what people or the host said.
fn cuts(raw: &Raw<'_>, rules: &Rules) -> CutTable {
    let is_cuttable = match raw.role {
        RawRole::ToolResult { tool_name, .. } => !rules.exclude_tools.contains(&text(tool_name)),
        RawRole::User | RawRole::Summary | RawRole::Other => true,
        RawRole::System | RawRole::Assistant { .. } => false,
    };
    let is_wanted = is_cuttable && raw.is_sent && matches!(rules.shortening, Shortening::Lines(_));
    let texts = raw.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(*text),
        _ => None,
    });
    if is_wanted { CutTable::of(texts, |text| rules.tokens(text)) } else { CutTable::default() }
}

/// The facts of a message that can be told without reading its texts: its role, ids and kinds of blocks.
#[must_use]
pub fn outline(raw: &Raw<'_>) -> Message {
    let rules = Rules::default();
    message(raw, body(raw, Counts::default(), |_, _, _| None, &rules), 0, Traits::default())
}

fn message(raw: &Raw<'_>, body: Body, tokens: usize, traits: Traits) -> Message {
    Message {
        body,
        is_sent: raw.is_sent,
        is_protected: false,
        tokens,
        timestamp_ms: raw.timestamp_ms,
        fingerprint: raw.fingerprint,
        identity: raw.identity,
        traits,
        cuts: CutTable::default(),
    }
}

/// What only that role has. `shorten` makes the summary of a tool result of its text, call id and marker.
fn body(
    raw: &Raw<'_>,
    counts: Counts,
    shorten: impl FnOnce(&[u16], &[u16], Option<&[u16]>) -> Option<Shortened>,
    rules: &Rules,
) -> Body {
    match raw.role {
        RawRole::System => Body::System,
        RawRole::User => Body::User,
        RawRole::Summary => Body::Summary,
        RawRole::Other => Body::Other,
        RawRole::Assistant { api, provider, model, usage, has_text_id } => Body::Assistant(Assistant {
            source: Source { api: text(api), provider: text(provider), model: text(model) },
            usage,
            call_ids: raw.call_ids(),
            thinking: raw.thinking(counts.thinking),
            has_other_content: raw.parts.iter().any(Part::stands_alone),
            has_text_id,
        }),
        RawRole::ToolResult { call_id, tool_name, marker } => {
            let joined = raw.joined_text();
            let tool_name = text(tool_name);
            let is_excluded = rules.exclude_tools.contains(&tool_name);
            let shortened = if is_excluded { None } else { shorten(&joined, call_id, marker) };
            Body::ToolResult(ToolResult {
                call_id: text(call_id),
                tool_name,
                text_len: Utf16Len(joined.len()),
                is_excluded,
                handle: rules.names_handle.then(|| recall::handle_number(call_id, &joined)),
                shortened,
            })
        }
    }
}

/// Tokens of a message's blocks, by what the edits need.
#[derive(Clone, Copy, Default)]
struct Counts {
    all: usize,
    texts: usize,
    thinking: usize,
}

impl Counts {
    fn of(parts: &[Part<'_>], rules: &Rules) -> Self {
        let mut counts = Self::default();
        for part in parts {
            let tokens = part.tokens(rules);
            counts.all += tokens;
            match part {
                Part::Text(_) => counts.texts += tokens,
                Part::Thinking { .. } => counts.thinking += tokens,
                _ => {}
            }
        }
        counts
    }
}

/// The summary of a tool result, unless it would be longer in tokens, then it helps nobody, or a host's own marker
/// makes it one that a provider refuses.
fn shorten(
    text: &[u16],
    call_id: &[u16],
    marker: Option<&[u16]>,
    counts: Counts,
    rules: &Rules,
) -> Option<Shortened> {
    let summary = match &rules.shortening {
        Shortening::Lines(form) => form.summarize(text, |omitted, original| {
            let mut line = marker.map_or_else(|| rules.marker.marker(omitted, original), <[u16]>::to_vec);
            if rules.names_handle {
                line.extend(rules.marker.handle(&recall::handle(call_id, text)));
            }
            line
        }),
        Shortening::Ends(cap) => cap.cut(text),
    }?;
    let message_tokens = counts.all - counts.texts + rules.tokens(&summary);
    let is_sound = !is_blank(&summary) && (!has_lone_surrogate(&summary) || has_lone_surrogate(text));
    let is_gain = message_tokens <= counts.all && is_sound;
    is_gain.then(|| Shortened { text: summary.into(), message_tokens })
}

impl<'a> Raw<'a> {
    fn call_ids(&self) -> Vec<Box<str>> {
        let calls = self.parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(text(id)),
            _ => None,
        });
        calls.collect()
    }

    fn thinking(&self, tokens: usize) -> Option<Thinking> {
        let signatures = self.parts.iter().filter_map(|part| match part {
            Part::Thinking { signature, .. } => Some(is_field_name(signature)),
            _ => None,
        });
        let (blocks, names_wire_field) =
            signatures.fold((0, false), |(blocks, any), is_name| (blocks + 1, any | is_name));
        (blocks > 0).then_some(Thinking { blocks, tokens, names_wire_field })
    }

    fn traits(&self, body: &Body, rules: &Rules) -> Traits {
        let shortened = match body {
            Body::ToolResult(result) => result.shortened.as_ref(),
            _ => None,
        };
        let kept = match body {
            Body::ToolResult(_) => shortened.map(|shortened| {
                self.identifiers(|part| !matches!(part, Part::Text(_)), Some(&shortened.text))
            }),
            Body::Assistant(assistant) if assistant.thinking.is_some() => {
                Some(self.identifiers(|part| !matches!(part, Part::Thinking { .. }), None))
            }
            _ => None,
        };
        let mut shown: Vec<Line> = Vec::new();
        let targets = self.parts.iter().filter_map(|part| match part {
            Part::Call { name, arguments, .. } => Some(Target::of(name, arguments, &mut shown)),
            _ => None,
        });
        let targets = targets.collect();
        let text = match body {
            Body::ToolResult(result) if result.text_len >= MIN_COMPARED_LEN => {
                hash_of_text(&self.joined_text())
            }
            _ => 0,
        };
        let identifiers = self.identifiers(|_| true, None);
        let lines = self.lines(shown);
        let layout = shortened.and_then(|_| {
            let text = self.joined_text();
            Layout::of(&text, &lines, &identifiers, self.gap(&text, body, rules), |line| rules.tokens(line))
        });
        let kept_lines = shortened.map(|shortened| lines::of_texts([&*shortened.text].into_iter()));
        Traits { identifiers, kept, lines, kept_lines, layout, targets, text }
    }

    /// Tokens of the markers for gaps in `text`.
    fn gap(&self, text: &[u16], body: &Body, rules: &Rules) -> Gap {
        let line = |mut line: Vec<u16>| {
            line.push(NEWLINE);
            rules.tokens(&line)
        };
        let omitted = lines::split(text).count();
        let handle = match body {
            Body::ToolResult(result) => result.handle,
            _ => None,
        };
        let handle =
            handle.map_or(0, |number| rules.tokens(&rules.marker.handle(&recall::handle_text(number))));
        let (gap, first) = match self.role {
            RawRole::ToolResult { marker: Some(own), .. } => (line(own.to_vec()), line(own.to_vec())),
            _ => (line(rules.marker.gap(omitted)), line(rules.marker.marker(omitted, Utf16Len(text.len())))),
        };
        Gap { tokens: gap as u32, once: (first.saturating_sub(gap) + handle) as u32 }
    }

    /// The lines of its texts, beside those that its calls show.
    fn lines(&self, mut shown: Vec<Line>) -> Box<[Line]> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) | Part::Counted(text) => Some(*text),
            _ => None,
        });
        let room = lines::MAX_LINES.saturating_sub(shown.len());
        shown.extend(texts.flat_map(lines::split).filter_map(Line::of).take(room));
        lines::distinct(shown)
    }

    /// The identifiers of the parts chosen and of one more text.
    fn identifiers(&self, chosen: impl Fn(&Part<'_>) -> bool, more: Option<&[u16]>) -> Box<[Identifier]> {
        let mut collector = Collector::default();
        for part in self.parts.iter().filter(|part| chosen(part)) {
            match part {
                Part::Text(text) | Part::Counted(text) | Part::Thinking { text, .. } => collector.text(text),
                Part::Call { name, arguments, .. } => {
                    collector.text(name);
                    collector.json(arguments);
                }
                Part::Image | Part::Unknown => {}
            }
        }
        collector.text(more.unwrap_or_default());
        collector.finish()
    }

    /// The text blocks joined by newlines; a single one is borrowed.
    #[must_use]
    pub fn joined_text(&self) -> Cow<'a, [u16]> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(*text),
            _ => None,
        });
        match texts.collect::<Vec<_>>().as_slice() {
            [text] => Cow::Borrowed(*text),
            texts => Cow::Owned(texts.join(&NEWLINE)),
        }
    }
}

impl Part<'_> {
    fn tokens(&self, rules: &Rules) -> usize {
        match self {
            Self::Text(text) | Self::Counted(text) | Self::Thinking { text, .. } => rules.tokens(text),
            Self::Call { name, arguments, .. } => rules.tokens(name) + rules.tokens(arguments),
            Self::Image => rules.image_tokens,
            Self::Unknown => 0,
        }
    }

    /// Whether a provider accepts a message that holds this block alone.
    fn stands_alone(&self) -> bool {
        match self {
            Self::Text(text) => !is_blank(text),
            Self::Call { .. } | Self::Image | Self::Unknown => true,
            Self::Thinking { .. } | Self::Counted(_) => false,
        }
    }
}

fn text(units: &[u16]) -> Box<str> {
    String::from_utf16_lossy(units).into()
}

/// `reasoning_content` and its like; a real signature is long and mixed.
fn is_field_name(signature: &[u16]) -> bool {
    let is_name = |&unit: &u16| {
        u8::try_from(unit)
            .is_ok_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    !signature.is_empty() && signature.len() <= WIRE_FIELD_MAX_LEN.0 && signature.iter().all(is_name)
}
