//! Reads the texts of a message once and keeps what decisions need of them: counts, hashes, and the short text that may
//! replace a long tool result.
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
    let cuts = cuts(raw, message.tool_result().and_then(|result| result.handle), rules);
    let mut message = Message { tokens, traits, cuts, images: images(raw, rules), ..message };
    if raw.is_protected {
        message.protect();
    }
    message
}

/// Cuts of its texts: what tools answered, unless the host excluded the tool, and what people or the host said.
fn cuts(raw: &Raw<'_>, handle: Option<Handle>, rules: &Rules) -> CutTable {
    let is_cuttable = match raw.role {
        RawRole::ToolResult { tool_name, .. } => !rules.excludes(tool_name),
        RawRole::User | RawRole::Summary | RawRole::Custom | RawRole::Other => true,
        RawRole::System | RawRole::Assistant { .. } => false,
    };
    if !is_cuttable || !raw.is_sent {
        return CutTable::default();
    }
    let marker = |omitted| rules.marker.cut(omitted, handle);
    CutTable::of(raw.texts(), marker, |text| rules.tokens(text))
}

/// The images of a message, and the tokens that a marker in the place of one saves.
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

/// The facts of a message that can be told without counting: its role, ids and kinds of blocks.
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
            is_excluded: rules.excludes(tool_name),
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
    marker: Option<&[u16]>,
    handle: Option<Handle>,
    counts: Counts,
    rules: &Rules,
) -> Option<Shortened> {
    let summary = rules.shortening.summarize(text, |omitted, original| {
        let mut line = marker.map_or_else(|| rules.marker.marker(omitted, original), <[u16]>::to_vec);
        line.extend(handle.into_iter().flat_map(|handle| rules.marker.handle(handle)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::transcript::Usage;

    fn utf16(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    const ASSISTANT: RawRole<'_> =
        RawRole::Assistant { api: &[], provider: &[], model: &[], usage: NO_USAGE, has_text_id: false };
    const NO_USAGE: Usage = Usage {
        input: None,
        cache_read: None,
        cache_write: None,
        cache_write_1h: None,
        output: None,
        cost_input: None,
        cost_cache_read: None,
        cost_cache_write: None,
        cost_output: None,
        cost_total: None,
        refused: None,
    };

    #[test]
    fn every_block_counts_for_what_it_is() {
        let (text, name, arguments) = (utf16("hello world"), utf16("bash"), utf16(r#"{"a":1}"#));
        let tokens = |part| count(&Raw::new(ASSISTANT, vec![part]), &Rules::default());
        assert_eq!(tokens(Part::Text(&text)), 2);
        assert_eq!(tokens(Part::Counted(&text)), 2);
        assert_eq!(tokens(Part::Thinking { text: &text, signature: &name }), 2);
        let call = Part::Call { id: &text, name: &name, arguments: &arguments, is_signed: false };
        assert_eq!(tokens(call), tokens(Part::Text(&name)) + tokens(Part::Text(&arguments)));
        assert_eq!(
            (tokens(Part::Image { len: 0 }), tokens(Part::Unknown)),
            (crate::contract::IMAGE_TOKENS, 0)
        );
        let unsent = Raw { is_sent: false, ..Raw::new(ASSISTANT, vec![Part::Image { len: 0 }]) };
        assert_eq!((count(&unsent, &Rules::default()), measure(&unsent, &Rules::default()).tokens), (0, 0));
        let chars = Rules { counting: Counting::Chars, ..Rules::default() };
        assert_eq!(count(&Raw::new(RawRole::User, vec![Part::Text(&utf16("123456789"))]), &chars), 3);
    }

    #[test]
    fn the_name_of_a_wire_field_is_short_and_plain() {
        let names = |signature: &str| {
            let signature = utf16(signature);
            let message = Raw::new(ASSISTANT, vec![Part::Thinking { text: &[], signature: &signature }]);
            outline(&message).assistant().and_then(|of| of.thinking).is_some_and(|of| of.names_wire_field)
        };
        assert!(names("reasoning_content") && names("r1_x") && names(&"a".repeat(64)));
        for other in ["", "Eq4kA", "reasoning content", "aé", &"a".repeat(65)] {
            assert!(!names(other), "{other}");
        }
    }

    #[test]
    fn thinking_is_told_by_tokens_and_what_is_left_without_it() {
        let (thought, blank, said) = (utf16("hello world"), utf16(" \n"), utf16("ok"));
        let thinking = Part::Thinking { text: &thought, signature: &[] };
        let of = |parts: Vec<Part<'_>>| {
            let message = measure(&Raw::new(ASSISTANT, parts), &Rules::default());
            message.assistant().map(|of| (of.thinking.map(|of| of.tokens), of.has_other_content))
        };
        assert_eq!(of(vec![thinking, thinking]), Some((Some(4), false)));
        assert_eq!(of(vec![thinking, Part::Text(&blank)]), Some((Some(2), false)));
        assert_eq!(of(vec![thinking, Part::Text(&said)]), Some((Some(2), true)));
        assert_eq!(of(vec![thinking, Part::Counted(&said)]), Some((Some(2), false)));
        assert_eq!(of(vec![Part::Image { len: 0 }]), Some((None, true)));
    }

    #[test]
    fn tools_that_are_excluded_and_texts_that_are_short_stay_as_they_are() {
        let (id, tool, text) = (utf16("call_1"), utf16("bash"), utf16(&"a line of output\n".repeat(200)));
        let role = RawRole::ToolResult { call_id: &id, tool_name: &tool, marker: None };
        let result = Raw::new(role, vec![Part::Text(&text)]);
        let facts = |rules: &Rules| measure(&result, rules);
        let (plain, named) = (Rules::default(), Rules { names_handle: true, ..Rules::default() });
        let excluded = Rules { exclude_tools: vec!["bash".into()], ..Rules::default() };
        let kept = |rules: &Rules| {
            let facts = facts(rules);
            let result = facts.tool_result().cloned();
            result.map(|of| (of.is_excluded, of.shortened.is_some(), of.handle, facts.cuts.is_empty()))
        };
        assert_eq!(kept(&plain), Some((false, true, None, false)));
        assert_eq!(kept(&named), Some((false, true, Some(Handle::of(&id, &text)), false)));
        assert_eq!(kept(&excluded), Some((true, false, None, true)));
        let other = Rules { exclude_tools: vec!["read".into()], ..Rules::default() };
        assert_eq!(kept(&other), kept(&plain));
    }

    #[test]
    fn a_host_marker_that_breaks_the_text_or_makes_it_longer_is_not_used() {
        let (id, text) = (utf16("call_1"), utf16(&"a line of output\n".repeat(40)));
        let shortened = |marker: &[u16]| {
            let role = RawRole::ToolResult { call_id: &id, tool_name: &[], marker: Some(marker) };
            let message = measure(&Raw::new(role, vec![Part::Text(&text)]), &Rules::default());
            message.tool_result().and_then(|of| of.shortened.clone()).map(|of| (of.text, of.message_tokens))
        };
        let own = shortened(&utf16("<cut>")).expect("is shorter");
        assert!(String::from_utf16_lossy(&own.0).contains("\n<cut>\n"));
        assert_eq!(own.1, Rules::default().tokens(&own.0));
        assert_eq!(shortened(&[0xD800]), None);
        // 600 characters that count far more tokens than the lines they stand for.
        assert_eq!(shortened(&utf16(&"\u{1F9FF}".repeat(280))), None);
    }

    #[test]
    fn only_texts_that_may_be_cut_have_cuts() {
        let text = utf16(&"some words of a long text ".repeat(400));
        let has_cuts =
            |role| !measure(&Raw::new(role, vec![Part::Text(&text)]), &Rules::default()).cuts.is_empty();
        assert!(has_cuts(RawRole::User) && has_cuts(RawRole::Summary) && has_cuts(RawRole::Other));
        assert!(!has_cuts(RawRole::System) && !has_cuts(ASSISTANT));
        let unsent = Raw { is_sent: false, ..Raw::new(RawRole::User, vec![Part::Text(&text)]) };
        assert!(measure(&unsent, &Rules::default()).cuts.is_empty());
        let joined =
            Raw::new(RawRole::User, vec![Part::Text(&[1, 2]), Part::Image { len: 0 }, Part::Text(&[3])]);
        assert_eq!(&*joined.joined_text(), &[1, 2, 10, 3]);
    }
}
