//! The documented layers. They say what may be edited, not when.
//!
//! Each reads and edits the account.

pub mod images;
pub mod keep;
pub mod shrink;
pub mod thinking;
pub mod tool_results;
pub mod window;

use serde::Deserialize;

use crate::context::request::account::ImageSize;
use crate::contract::{
    CONTEXT_RATIO, CONTEXT_WINDOW, KEEP_RECENT_IMAGES, KEEP_RECENT_MESSAGES, KEEP_RECENT_THINKING,
    KEEP_RECENT_TOOL_RESULTS, RESERVE_TOKENS,
};
use crate::tokens::estimate::Estimate;

/// Largest share of the window for the default reserve, which is made for large windows.
pub const MAX_RESERVE_SHARE: f64 = 0.25;

/// Limits of the layers, as the host set them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// The model's context window in tokens.
    pub context_window: f64,
    /// Share of it above which the window slides.
    pub context_ratio: f64,
    /// Newest tool results that stay full.
    pub keep_recent_tool_results: usize,
    /// Newest assistant messages with thinking that keep it.
    pub keep_recent_thinking: usize,
    /// Newest images that stay, whoever sent them.
    pub keep_recent_images: usize,
    /// Newest messages that the window never drops.
    pub keep_recent_messages: usize,
    /// Turns that may lose their thinking.
    pub thinking_scope: ThinkingScope,
    /// Permission for layer 4 to act.
    pub overflow: Overflow,
    /// Tokens of the window kept free for the answer. `None` is the default, at most a quarter of the window.
    pub reserve_tokens: Option<f64>,
    /// Where the newest states stay whole.
    pub keeping: Keeping,
    /// Tokens above which the window slides at the latest: below a size where the provider charges more per token.
    pub max_prompt_tokens: f64,
    /// Tokens that requests reserve for the answer, as a refusal named them.
    #[serde(skip)]
    pub output_tokens: f64,
    /// Most tokens of a request, after a refusal that named no limit.
    #[serde(skip)]
    pub most_tokens: f64,
    /// Tokens of the newest message, if the window excludes it and prompt and tools; `None` if it includes them.
    #[serde(skip)]
    pub excluded_tokens: Option<f64>,
    /// Most images of a request, as refusals taught it.
    #[serde(skip)]
    pub most_images: ImageSize,
}

/// Where the newest states that an agent works by stay whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keeping {
    /// Nowhere.
    Nothing,
    /// On the ladder of the sticky schedule.
    Ladder,
    /// In the documented layers, too: the host asked for it.
    Layers,
}

/// Turns that may lose their thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingScope {
    /// Every turn.
    All,
    /// Only turns before the last user message.
    ClosedTurns,
}

/// The response to a request that is over the window after layers 1 to 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Overflow {
    /// Shrink on until it fits.
    Shrink,
    /// Let the provider refuse it.
    Keep,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            context_window: CONTEXT_WINDOW,
            context_ratio: CONTEXT_RATIO,
            keep_recent_tool_results: KEEP_RECENT_TOOL_RESULTS,
            keep_recent_thinking: KEEP_RECENT_THINKING,
            keep_recent_images: KEEP_RECENT_IMAGES,
            keep_recent_messages: KEEP_RECENT_MESSAGES,
            thinking_scope: ThinkingScope::All,
            overflow: Overflow::Shrink,
            reserve_tokens: None,
            keeping: Keeping::Nothing,
            max_prompt_tokens: f64::INFINITY,
            output_tokens: 0.0,
            most_tokens: f64::INFINITY,
            excluded_tokens: None,
            most_images: ImageSize::MAX,
        }
    }
}

impl Limits {
    /// The limits with the newest message, prompt and tools added to a window that excludes them.
    #[must_use]
    pub fn whole(&self, estimate: &Estimate) -> Self {
        let excluded = self.excluded_tokens.map_or(0.0, |newest| estimate.base + estimate.growth * newest);
        Self { context_window: self.context_window + excluded, ..self.clone() }
    }

    /// Tokens above which the window slides.
    pub fn threshold(&self) -> f64 {
        (self.context_window * self.context_ratio).min(self.max_prompt_tokens).min(self.most_tokens)
    }

    /// Most tokens of a prompt that the host set itself; infinite if it set none.
    pub fn host_limit(&self) -> f64 {
        let is_default = self.context_ratio.total_cmp(&CONTEXT_RATIO).is_eq();
        let share = if is_default { f64::INFINITY } else { self.context_window * self.context_ratio };
        share.min(self.max_prompt_tokens)
    }

    /// Tokens of a request above which user text is cut: the whole window, unless the host set a reserve.
    pub fn most_words(&self) -> f64 {
        let window = (self.context_window - self.output_tokens).min(self.most_tokens);
        if self.reserve_tokens.is_some() { self.budget() } else { window }
    }

    /// Most tokens of a request: the window without the reserve, by default at most a quarter of it.
    pub fn budget(&self) -> f64 {
        let usual = || RESERVE_TOKENS.min(self.context_window * MAX_RESERVE_SHARE);
        let reserve = self.reserve_tokens.unwrap_or_else(usual).max(self.output_tokens);
        (self.context_window - reserve).min(self.most_tokens)
    }
}
