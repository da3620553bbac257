//! Reads the texts of a message once and keeps the facts for decisions: counts, hashes, and the short text that may replace
//! a long tool result.
//!
//! The work that grows with text is here, so it runs off the host's main thread. Nothing is decided.

mod input;
mod rules;
mod traits;

pub use self::input::{Part, Raw, RawRole};
pub use self::rules::{Counting, Rules};

use self::input::text;
use crate::context::facts::cuts::CutTable;
use crate::context::facts::handle::{Handle, RECALL_TOOL};
use crate::context::facts::traits::Traits;
use crate::context::facts::transcript::{Assistant, Body, Images, Message, Shortened, Source, ToolResult};
use crate::text::{has_lone_surrogate, is_blank};

/// Tokens of a message; 0 for what pi does not send.
pub fn count(raw: &Raw<'_>, rules: &Rules) -> usize {
    if raw.is_sent { Counts::of(&raw.parts, rules).all } else { 0 }
}

/// The facts of a message. Each text is counted once.
pub fn measure(raw: &Raw<'_>, rules: &Rules) -> Message {
    let repeated = raw.repeated_calls();
    let sent = raw.without(&repeated);
    let repeated_tokens = repeated.iter().filter_map(|&at| raw.parts.get(at)).map(|part| part.tokens(rules));
    let repeated_calls = (!repeated.is_empty()).then(|| repeated_tokens.sum());
    let raw = sent.as_ref();
    let counts = Counts::of(&raw.parts, rules);
    let mut message = outline_by(raw, rules);
    match (&mut message.body, raw.role) {
        (Body::Assistant(assistant), _) => {
            assistant.repeated_calls = repeated_calls;
            if let Some(thinking) = &mut assistant.thinking {
                thinking.tokens = counts.thinking;
            }
        }
        (Body::ToolResult(result), RawRole::ToolResult { marker, .. }) if !result.is_excluded => {
            result.shortened = shorten(&raw.joined_text(), marker, result.handle, counts, rules);
        }
        _ => {}
    }
    let traits = raw.traits(&message, counts.texts, rules);
    let tokens = if raw.is_sent { counts.all } else { 0 };
    let cuts = cuts(raw, &message.body, rules);
    let mut message = Message { tokens, traits, cuts, images: images(raw, rules), ..message };
    if raw.is_protected {
        message.protect();
    }
    message
}

/// The possible cuts of tool results, unless the host excluded the tool, of user-side messages, and of closing answers that the
/// order of turns keeps. Of counted texts only the fields of a message can be cut, no blocks of its content.
fn cuts(raw: &Raw<'_>, body: &Body, rules: &Rules) -> CutTable {
    let (is_cuttable, handle) = match body {
        Body::ToolResult(result) => (!result.is_excluded, result.handle),
        Body::User | Body::Summary | Body::Custom | Body::Other => (true, None),
        Body::Assistant(answer) => (answer.call_ids.is_empty() && answer.source.alternates(), None),
        Body::System => (false, None),
    };
    if !is_cuttable || !raw.is_sent {
        return CutTable::default();
    }
    let marker = |omitted| rules.marker.cut(omitted, handle);
    let has_fields = matches!(body, Body::Summary | Body::Custom);
    let fields = raw.parts.iter().filter_map(|part| match part {
        Part::Counted(text) if has_fields => Some(*text),
        _ => None,
    });
    CutTable::of(raw.texts().chain(fields), marker, |text| rules.tokens(text))
}

/// The images of a message, and the tokens saved by a marker in place of one.
fn images(raw: &Raw<'_>, rules: &Rules) -> Images {
    let lens = raw.parts.iter().filter_map(|part| match part {
        Part::Image { len } => Some(*len as u32),
        _ => None,
    });
    let lens: Box<[u32]> = lens.collect();
    let marker = || rules.tokens(&rules.marker.image());
    let tokens_saved = if lens.is_empty() { 0 } else { rules.image_tokens.saturating_sub(marker()) };
    Images { lens, tokens_saved: tokens_saved as u32 }
}

/// The facts of a message that need no counting: its role, ids and kinds of blocks.
pub fn outline(raw: &Raw<'_>) -> Message {
    outline_by(raw, &Rules::default())
}

fn outline_by(raw: &Raw<'_>, rules: &Rules) -> Message {
    let body = match raw.role {
        RawRole::System => Body::System,
        RawRole::User => Body::User,
        RawRole::Summary => Body::Summary,
        RawRole::Custom => Body::Custom,
        RawRole::Other => Body::Other,
        RawRole::Assistant { api, provider, model, usage, has_text_id } => Body::Assistant(Assistant {
            source: Source { api: text(api), provider: text(provider), model: text(model) },
            usage,
            call_ids: raw.without(&raw.repeated_calls()).call_ids().map(text).collect(),
            repeated_calls: None,
            thinking: raw.thinking(),
            has_other_content: raw.parts.iter().any(Part::stands_alone),
            has_text_id,
        }),
        RawRole::ToolResult { call_id, tool_name, .. } => Body::ToolResult(ToolResult {
            call_id: text(call_id),
            is_error: raw.is_error,
            is_excluded: rules.exclude_tools.contains(&text(tool_name)),
            is_recalled: rules.names_handle && *text(tool_name) == *RECALL_TOOL,
            handle: rules.names_handle.then(|| Handle::of(call_id, &raw.joined_text())),
            shortened: None,
        }),
    };
    Message {
        body,
        is_sent: raw.is_sent,
        is_protected: false,
        tokens: 0,
        timestamp_ms: raw.timestamp_ms,
        fingerprint: raw.fingerprint,
        identity: raw.identity,
        traits: Traits::default(),
        cuts: CutTable::default(),
        images: Images::default(),
    }
}

/// Tokens of a message's blocks, by kind.
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

/// The summary of a tool result; `None` if it has more tokens than the result, or if a provider would refuse the host's marker.
fn shorten(
    text: &[u16],
    marker: Option<&[u16]>,
    handle: Option<Handle>,
    counts: Counts,
    rules: &Rules,
) -> Option<Shortened> {
    let summary = rules.shortening.summarize(text, |omitted, original| {
        let mut line = marker.map_or_else(|| rules.marker.marker(omitted, original), <[u16]>::to_vec);
        line.extend(rules.marker.handle(handle));
        line
    })?;
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
            Self::Image { .. } => rules.image_tokens,
            Self::Unknown => 0,
        }
    }
}
