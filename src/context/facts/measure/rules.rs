//! Settings of the measurement: how to count texts and shorten long tool results.

use serde::Deserialize;

use crate::context::facts::shorten::{LineSummary, MarkerLanguage};
use crate::context::facts::traits::keep::KeepRules;
use crate::contract::IMAGE_TOKENS;
use crate::tokens::{Tokenizer, estimate::by_length};

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rules {
    /// The way to shorten long tool results.
    pub shortening: LineSummary,
    /// The language of the marker line, where the message brings no marker of its own.
    pub marker: MarkerLanguage,
    /// True if a marker ends with the handle by which the original can be recalled.
    pub names_handle: bool,
    /// The way to count texts.
    #[serde(skip)]
    pub counting: Counting,
    /// Tools whose results are never touched.
    pub exclude_tools: Vec<Box<str>>,
    /// Tokens of one image.
    pub image_tokens: usize,
    /// Names of the states that stay whole; `None` for no state.
    pub keep: Option<KeepRules>,
}

/// Ways to find the tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Exactly, by an encoding.
    Exact(&'static Tokenizer),
    /// By its length, for hosts that need only a bound.
    Chars,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            shortening: LineSummary::default(),
            marker: MarkerLanguage::Zh,
            names_handle: false,
            counting: Counting::Exact(Tokenizer::cl100k()),
            exclude_tools: Vec::new(),
            image_tokens: IMAGE_TOKENS,
            keep: None,
        }
    }
}

impl Rules {
    /// Tokens of a text.
    pub(super) fn tokens(&self, text: &[u16]) -> usize {
        match self.counting {
            Counting::Exact(tokenizer) => tokenizer.count_utf16(text),
            Counting::Chars => by_length(text),
        }
    }
}
