//! A message as the host hands it in: its texts borrowed, its blocks in order, nothing counted yet.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::context::facts::transcript::{Signature, Thinking, Usage};
use crate::text::{NEWLINE, Utf16Len, is_blank};

/// A message as it was read, its texts borrowed.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    /// Who speaks.
    pub role: RawRole<'a>,
    /// ms since 1970.
    pub timestamp_ms: Option<f64>,
    /// False for what pi never sends, such as a bashExecution with `excludeFromContext`.
    pub is_sent: bool,
    /// True if the host asked that no layer touches it.
    pub is_protected: bool,
    /// True for a tool result that reports a failure.
    pub is_error: bool,
    /// Content blocks, in order.
    pub parts: Vec<Part<'a>>,
    /// Hash of everything read.
    pub fingerprint: u128,
    /// Hash of everything but the reported usage.
    pub identity: u128,
}

/// A role with the fields only it has.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "most messages are answers")]
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
        /// Usage as the provider reported it.
        usage: Usage,
        /// True if one of its texts carries the id the provider gave it.
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
    /// `custom`, `bashExecution`
    Custom,
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
        /// Its text.
        text: &'a [u16],
        /// The beginning of its signature.
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
        /// True if a thought signature came with it.
        is_signed: bool,
    },
    /// An image.
    Image {
        /// Characters of it in the request.
        len: usize,
    },
    /// Text that counts but is no content block: a command, a list of tools.
    Counted(&'a [u16]),
    /// A block of a kind unknown here.
    Unknown,
}

impl<'a> Raw<'a> {
    /// A sent message without time or hashes.
    pub fn new(role: RawRole<'a>, parts: Vec<Part<'a>>) -> Self {
        let (is_sent, is_protected, is_error) = (true, false, false);
        let (fingerprint, identity) = (0, 0);
        Self { role, timestamp_ms: None, is_sent, is_protected, is_error, parts, fingerprint, identity }
    }

    /// The text blocks.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a [u16]> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(*text),
            _ => None,
        })
    }

    /// Length of all its texts.
    pub fn text_len(&self) -> Utf16Len {
        let len = |part: &Part<'_>| match part {
            Part::Text(text) | Part::Counted(text) | Part::Thinking { text, .. } => text.len(),
            Part::Call { name, arguments, .. } => name.len() + arguments.len(),
            Part::Image { .. } | Part::Unknown => 0,
        };
        Utf16Len(self.parts.iter().map(len).sum())
    }

    /// The text blocks joined by newlines; a single one is borrowed.
    pub fn joined_text(&self) -> Cow<'a, [u16]> {
        match self.texts().collect::<Vec<_>>().as_slice() {
            [text] => Cow::Borrowed(*text),
            texts => Cow::Owned(texts.join(&NEWLINE)),
        }
    }

    /// Positions of the tool calls that repeat the id of an earlier one: no provider accepts that.
    pub fn repeated_calls(&self) -> Vec<usize> {
        let calls = self.parts.iter().enumerate().filter_map(|(at, part)| match part {
            Part::Call { id, .. } => Some((at, *id)),
            _ => None,
        });
        let mut seen = HashSet::new();
        calls.filter(|(_, id)| !seen.insert(*id)).map(|(at, _)| at).collect()
    }

    /// The message without the parts at these ascending positions.
    pub(super) fn without(&self, left_out: &[usize]) -> Cow<'_, Self> {
        if left_out.is_empty() {
            return Cow::Borrowed(self);
        }
        let parts = self.parts.iter().enumerate().filter(|(at, _)| left_out.binary_search(at).is_err());
        Cow::Owned(Self { parts: parts.map(|(_, part)| *part).collect(), ..*self })
    }

    /// Ids of the tool calls.
    pub fn call_ids(&self) -> impl Iterator<Item = &'a [u16]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { id, .. } => Some(*id),
            _ => None,
        })
    }

    pub(super) fn thinking(&self) -> Option<Thinking> {
        let signatures = self.parts.iter().filter_map(|part| match part {
            Part::Thinking { signature, .. } => Some(kind_of(signature)),
            _ => None,
        });
        Some(Thinking { tokens: 0, signature: signatures.max()? })
    }
}

impl Part<'_> {
    /// Returns `true` if a provider accepts a message that holds this block alone.
    pub(super) fn stands_alone(&self) -> bool {
        match self {
            Self::Text(text) => !is_blank(text),
            Self::Call { .. } | Self::Image { .. } | Self::Unknown => true,
            Self::Thinking { .. } | Self::Counted(_) => false,
        }
    }
}

pub(super) fn text(units: &[u16]) -> Box<str> {
    String::from_utf16_lossy(units).into()
}

/// The kind of a signature. Sealed ones have mixed characters.
fn kind_of(signature: &[u16]) -> Signature {
    let is_of_name = |&unit: &u16| {
        u8::try_from(unit)
            .is_ok_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_json = |&first: &u16| first == u16::from(b'{') || first == u16::from(b'[');
    match signature.first() {
        Some(first) if is_json(first) => Signature::Item,
        Some(_) if signature.iter().all(is_of_name) => Signature::Field,
        _ => Signature::Sealed,
    }
}
