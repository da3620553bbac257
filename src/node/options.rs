//! Turns the options of a hook into the settings of the core.
//!
//! `lib/hook/options.js` has checked every option and filled in every default. Here only names are turned into values, and
//! a name without one is an error.

use napi_derive::napi;

use super::encode::tokenizer;
use super::failure::{Failure, Result};
use crate::context::layers::{Limits, Overflow, ThinkingScope};
use crate::context::measure::{Counting, Rules};
use crate::context::schedule::Mode;
use crate::context::schedule::economy::{Policy, Prices};
use crate::context::shorten::{LineSummary, MarkerLanguage, Shortening};
use crate::contract::CACHE_TTL_SECONDS;
use crate::text::Utf16Len;
use crate::tokens::Tokenizer;

/// The hook's options, already checked by `lib/hook/options.js`.
#[napi(object)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct EngineOptions {
    /// Share of the window above which it slides.
    pub context_ratio: f64,
    /// Newest tool results that stay full.
    pub keep_recent_tool_results: u32,
    /// Newest messages with thinking that keep it.
    pub keep_recent_thinking: u32,
    /// Newest images of old tool results that stay.
    pub keep_recent_images: u32,
    /// Newest messages the window never drops.
    pub keep_recent_messages: u32,
    /// Lines kept from the beginning of a summarised result.
    pub summary_head_lines: u32,
    /// Lines kept from its end.
    pub summary_tail_lines: u32,
    /// Only longer results are summarised; UTF-16 code units.
    pub min_summary_chars: u32,
    /// Longer kept lines are cut to this; UTF-16 code units.
    pub summary_line_chars: u32,
    /// The language of the marker line: `en` or `zh`.
    pub marker: String,
    /// True if the marker ends with the handle by which the model can recall the original.
    pub recall: bool,
    /// True if the long arguments of old calls may be cleared.
    pub clear_tool_inputs: bool,
    /// Tools whose results are never touched.
    pub exclude_tools: Vec<String>,
    /// `closedTurns` if the open turn keeps its thinking, else `all`.
    pub thinking_scope: String,
    /// `shrink` if layer 4 may act, else `keep`.
    pub overflow: String,
    /// Tokens of the window kept free for the answer.
    pub reserve_tokens: f64,
    /// Tokens of one image.
    pub image_tokens: u32,
    /// True if the provider's own counts are learned from.
    pub calibrate: bool,
    /// Number of the encoding texts are counted by; cl100k_base's without one.
    pub encoding: Option<f64>,
    /// `everyCall`, `sticky` or `auto`.
    pub schedule: String,
    /// Price of reading a cached token, relative to input.
    pub cache_read: f64,
    /// Price of writing a token to the cache, relative to input.
    pub cache_write: f64,
    /// Seconds a cache entry lives unread; learned where the host does not say.
    pub cache_ttl_seconds: Option<f64>,
    /// True if those three are learned from the transcript, as far as it tells them.
    pub learns_prices: bool,
    /// Tokens of context at which a token must be worth its ordinary price.
    pub economy: f64,
}

impl From<&EngineOptions> for Limits {
    fn from(options: &EngineOptions) -> Self {
        Self {
            context_ratio: options.context_ratio,
            keep_recent_tool_results: options.keep_recent_tool_results as usize,
            keep_recent_thinking: options.keep_recent_thinking as usize,
            keep_recent_images: options.keep_recent_images as usize,
            keep_recent_messages: options.keep_recent_messages as usize,
            thinking_scope: match options.thinking_scope.as_str() {
                "closedTurns" => ThinkingScope::ClosedTurns,
                _ => ThinkingScope::All,
            },
            overflow: if options.overflow == "shrink" { Overflow::Shrink } else { Overflow::Keep },
            reserve_tokens: options.reserve_tokens,
            ..Self::default()
        }
    }
}

/// The schedule of that name.
pub(super) fn mode(schedule: &str) -> Result<Mode> {
    match schedule {
        "everyCall" => Ok(Mode::EveryCall),
        "sticky" | "auto" => Ok(Mode::Sticky),
        other => Err(Failure::invalid(format!("there is no schedule {other}"))),
    }
}

impl From<&EngineOptions> for Policy {
    fn from(options: &EngineOptions) -> Self {
        Self {
            prices: Prices {
                read: options.cache_read,
                write: options.cache_write,
                ttl_seconds: options.cache_ttl_seconds.unwrap_or(CACHE_TTL_SECONDS),
            },
            economy: options.economy,
            learns_prices: options.learns_prices,
            learns_ttl: !options.learns_prices && options.cache_ttl_seconds.is_none(),
            calibrate: options.calibrate,
        }
    }
}

impl From<EngineOptions> for Rules {
    fn from(options: EngineOptions) -> Self {
        Self {
            shortening: Shortening::Lines(LineSummary {
                head_lines: options.summary_head_lines as usize,
                tail_lines: options.summary_tail_lines as usize,
                min_len: Utf16Len(options.min_summary_chars as usize),
                line_len: Utf16Len(options.summary_line_chars as usize),
            }),
            marker: if options.marker == "en" { MarkerLanguage::En } else { MarkerLanguage::Zh },
            names_handle: options.recall,
            counting: Counting::Exact(tokenizer(options.encoding).unwrap_or(Tokenizer::cl100k())),
            clear_tool_inputs: options.clear_tool_inputs,
            exclude_tools: options.exclude_tools.into_iter().map(Into::into).collect(),
            image_tokens: options.image_tokens as usize,
        }
    }
}
