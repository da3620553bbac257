//! The context guard and the cutting of single texts, for JavaScript.

use napi::JsString;
use napi::bindgen_prelude::Utf16String;
use napi_derive::napi;

use super::conversation::{Conversation, Planner, Set};
use super::failure::Result;
use super::guarded::guarded;
use super::read::units;
use crate::context::guard::cap;
use crate::context::layers::{Limits, Overflow};
use crate::context::measure::{Counting, Rules};
use crate::context::shorten::Shortening;
use crate::text::Utf16Len;
use crate::tokens::Tokenizer;

/// The guard's options, already checked by `lib/tools/guard.js`.
#[napi(object)]
pub struct GuardOptions {
    /// Only longer tool results are cut; UTF-16 code units.
    pub max_tool_result_chars: u32,
    /// The part of the beginning that stays.
    pub truncate_head_chars: u32,
    /// The part of the end that stays.
    pub truncate_tail_chars: u32,
    /// Tokens of the window kept free for the answer.
    pub reserve_tokens: f64,
    /// True if tokens are estimated by length.
    pub counts_chars: bool,
}

#[napi]
impl Conversation {
    /// A conversation whose facts are those the guard needs.
    #[napi(factory)]
    pub fn for_guard(options: GuardOptions) -> Result<Self> {
        guarded(|| {
            let reserve_tokens = options.reserve_tokens;
            let limits = Limits { reserve_tokens, overflow: Overflow::Keep, ..Limits::default() };
            let rules = Rules {
                shortening: Shortening::Ends(cap(
                    Utf16Len(options.max_tool_result_chars as usize),
                    Utf16Len(options.truncate_head_chars as usize),
                    Utf16Len(options.truncate_tail_chars as usize),
                )),
                counting: if options.counts_chars {
                    Counting::Chars
                } else {
                    Counting::Exact(Tokenizer::cl100k())
                },
                ..Rules::default()
            };
            Ok(Self::with(Set { limits, planner: Planner::Guard, rules }))
        })
    }
}

/// Head and tail of a text over `max` UTF-16 units; nothing if it is not cut.
#[napi]
pub fn cut_to_ends(text: JsString<'_>, max: u32, head: u32, tail: u32) -> Result<Option<Utf16String>> {
    guarded(|| {
        let cap = cap(Utf16Len(max as usize), Utf16Len(head as usize), Utf16Len(tail as usize));
        Ok(cap.cut(&units(&text)?).map(Utf16String::from))
    })
}
