//! What both languages must agree on: the positions by which roles, blocks, actions and layers cross the boundary as
//! numbers, the marker of a cut text, and the documented defaults.
//!
//! JavaScript needs its half before the addon is loaded, in `lib/wire.js`; a test holds the two against each other.

use std::collections::HashMap;

use napi_derive::napi;

use super::failure::Result;
use super::guarded::guarded;
use crate::context::cuts::CUT_MARKER;
use crate::context::guard;
use crate::context::layers;
use crate::context::measure;
use crate::context::plan::{Action, Layer, Reason};
use crate::context::recall;
use crate::context::schedule::economy::Prices;
use crate::context::schedule::verdict::Verdict;
use crate::context::shorten;

/// Roles as messages are described with them.
#[derive(Clone, Copy)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    ToolResult,
    Summary,
    Other,
}

impl Role {
    const ALL: [(Self, &str); 6] = [
        (Self::System, "system"),
        (Self::User, "user"),
        (Self::Assistant, "assistant"),
        (Self::ToolResult, "toolResult"),
        (Self::Summary, "summary"),
        (Self::Other, "other"),
    ];

    pub(super) fn at(position: usize) -> Option<Self> {
        Self::ALL.get(position).map(|(role, _)| *role)
    }
}

/// Kinds of content blocks, likewise.
#[derive(Clone, Copy)]
pub(super) enum Block {
    Text,
    Thinking,
    ToolCall,
    Image,
    Counted,
    Unknown,
}

impl Block {
    const ALL: [(Self, &str); 6] = [
        (Self::Text, "text"),
        (Self::Thinking, "thinking"),
        (Self::ToolCall, "toolCall"),
        (Self::Image, "image"),
        (Self::Counted, "counted"),
        (Self::Unknown, "unknown"),
    ];

    pub(super) fn at(position: usize) -> Option<Self> {
        Self::ALL.get(position).map(|(block, _)| *block)
    }
}

/// Actions in the order of their numbers.
const ACTIONS: [&str; 6] = ["summarize", "stripThinking", "drop", "truncate", "keepLines", "omitImages"];

/// The number of an action in a plan.
pub(super) fn number_of(action: &Action) -> usize {
    match action {
        Action::Summarize => 0,
        Action::StripThinking => 1,
        Action::Drop => 2,
        Action::Truncate(_) => 3,
        Action::KeepLines(_) => 4,
        Action::OmitImages => 5,
    }
}

/// Layers in the order of their numbers, which are their positions in `Layer`.
const LAYERS: [(Layer, &str); 5] = [
    (Layer::Repair, "repair"),
    (Layer::ToolResults, "toolResults"),
    (Layer::Thinking, "thinking"),
    (Layer::Window, "window"),
    (Layer::Shrink, "shrink"),
];

/// The number of a layer in a plan.
pub(super) fn number_of_layer(layer: Layer) -> usize {
    LAYERS.iter().position(|(known, _)| *known == layer).unwrap_or(LAYERS.len())
}

/// The table, for the test that compares it with `lib/wire.js`.
#[napi(object, object_from_js = false)]
pub struct Contract {
    /// Roles by position.
    pub roles: Vec<&'static str>,
    /// Kinds of blocks by position.
    pub blocks: Vec<&'static str>,
    /// Actions by position.
    pub actions: Vec<&'static str>,
    /// Layers by position.
    pub layers: Vec<&'static str>,
    /// Reasons by position, in words.
    pub reasons: Vec<&'static str>,
    /// Verdicts of the sticky schedule by position, in words.
    pub verdicts: Vec<&'static str>,
    /// What stands before and after the number in the marker of a cut text.
    pub cut_marker: Vec<&'static str>,
    /// The documented defaults by the name of their option.
    pub defaults: HashMap<&'static str, f64>,
}

/// What both languages must agree on.
#[napi]
pub fn contract() -> Result<Contract> {
    guarded(|| {
        Ok(Contract {
            roles: Role::ALL.iter().map(|(_, name)| *name).collect(),
            blocks: Block::ALL.iter().map(|(_, name)| *name).collect(),
            actions: ACTIONS.to_vec(),
            layers: LAYERS.iter().map(|(_, name)| *name).collect(),
            reasons: Reason::ALL.iter().map(|reason| reason.as_str()).collect(),
            verdicts: Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect(),
            cut_marker: CUT_MARKER.to_vec(),
            defaults: defaults().into_iter().collect(),
        })
    })
}

fn defaults() -> [(&'static str, f64); 21] {
    let prices = Prices::default();
    [
        ("contextWindow", layers::CONTEXT_WINDOW),
        ("contextRatio", layers::CONTEXT_RATIO),
        ("reserveTokens", layers::RESERVE_TOKENS),
        ("keepRecentToolResults", layers::KEEP_RECENT_TOOL_RESULTS as f64),
        ("keepRecentThinking", layers::KEEP_RECENT_THINKING as f64),
        ("keepRecentImages", layers::images::KEEP_RECENT_IMAGES as f64),
        ("keepRecentMessages", layers::KEEP_RECENT_MESSAGES as f64),
        ("summaryHeadLines", shorten::SUMMARY_HEAD_LINES as f64),
        ("summaryTailLines", shorten::SUMMARY_TAIL_LINES as f64),
        ("minSummaryChars", shorten::MIN_SUMMARY_LEN.0 as f64),
        ("summaryLineChars", shorten::SUMMARY_LINE_LEN.0 as f64),
        ("imageTokens", measure::IMAGE_TOKENS as f64),
        ("wireFieldChars", measure::WIRE_FIELD_MAX_LEN.0 as f64),
        ("cacheRead", prices.read),
        ("cacheWrite", prices.write),
        ("cacheTtlSeconds", prices.ttl_seconds),
        ("maxToolResultChars", guard::MAX_TOOL_RESULT_LEN.0 as f64),
        ("truncateHeadChars", guard::TRUNCATE_HEAD_LEN.0 as f64),
        ("truncateTailChars", guard::TRUNCATE_TAIL_LEN.0 as f64),
        ("recallPageChars", recall::PAGE_LEN.0 as f64),
        ("recallMaxPageChars", recall::MAX_PAGE_LEN.0 as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_and_action_has_its_place() {
        for (position, (layer, _)) in LAYERS.iter().enumerate() {
            assert_eq!((number_of_layer(*layer), *layer as usize), (position, position));
        }
        assert_eq!(ACTIONS.get(number_of(&Action::Truncate(Vec::new()))), Some(&"truncate"));
    }
}
