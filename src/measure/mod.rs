//! Reads the texts of a message once and keeps what decisions need of them: counts, hashes, and the short text that may
//! replace a long tool result.
//!
//! The work that grows with text is here, so it runs off the host's main thread. Nothing is decided.

mod input;
mod rules;
mod traits;

pub use self::input::{Part, Raw, RawRole, WIRE_FIELD_MAX_LEN};
pub use self::rules::{Counting, IMAGE_TOKENS, Rules};

use self::input::text;
use crate::cuts::CutTable;
use crate::handle::Handle;
use crate::shorten::Shortening;
use crate::text::{Utf16Len, has_lone_surrogate, is_blank};
use crate::traits::Traits;
use crate::transcript::{Assistant, Body, Message, Shortened, Source, ToolResult};

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
    if is_wanted { CutTable::of(raw.texts(), |text| rules.tokens(text)) } else { CutTable::default() }
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
                handle: rules.names_handle.then(|| Handle::of(call_id, &joined)),
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
                line.extend(rules.marker.handle(Handle::of(call_id, text)));
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

impl Part<'_> {
    fn tokens(&self, rules: &Rules) -> usize {
        match self {
            Self::Text(text) | Self::Counted(text) | Self::Thinking { text, .. } => rules.tokens(text),
            Self::Call { name, arguments, .. } => rules.tokens(name) + rules.tokens(arguments),
            Self::Image => rules.image_tokens,
            Self::Unknown => 0,
        }
    }
}
