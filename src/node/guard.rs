//! The context guard and the cutting of single texts, for JavaScript.

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Float64ArraySlice, Uint32ArraySlice, Utf16String};
use napi::{Env, JsString, Result, ScopedTask};
use napi_derive::napi;

use super::count::units;
use super::engine::Engine;
use super::guarded::guarded;
use super::wire::{Header, encode};
use crate::guard;
use crate::layers::Limits;
use crate::layers::tool_results::{Cap, Shortening};
use crate::measure::{Counting, Rules};
use crate::text::{Utf16Len, clip};
use crate::transcript::{Message, Transcript};

/// The guard's options, already checked by `lib/guard.js`.
#[napi(object)]
pub struct GuardOptions {
    pub max_tool_result_chars: u32,
    pub truncate_head_chars: u32,
    pub truncate_tail_chars: u32,
    pub reserve_tokens: f64,
    pub counts_chars: bool,
}

#[napi]
impl Engine {
    /// An engine whose facts are those the guard needs.
    #[napi(factory)]
    #[expect(clippy::needless_pass_by_value, reason = "napi hands objects over by value")]
    pub fn for_guard(options: GuardOptions) -> Result<Self> {
        guarded(|| {
            let limits = Limits { reserve_tokens: options.reserve_tokens, ..Limits::default() };
            let rules = Rules {
                shortening: Shortening::Ends(Cap {
                    max_len: Utf16Len(options.max_tool_result_chars as usize),
                    head: Utf16Len(options.truncate_head_chars as usize),
                    tail: Utf16Len(options.truncate_tail_chars as usize),
                }),
                counting: if options.counts_chars { Counting::Chars } else { Counting::Exact },
                ..Rules::default()
            };
            Ok(Self::with(limits, rules))
        })
    }

    /// What the guard would do with the messages in these slots, worked out on a worker thread.
    #[napi(ts_return_type = "Promise<Float64Array>")]
    pub fn plan_guard(
        &self,
        slots: Uint32ArraySlice<'_>,
        context_window: f64,
    ) -> Result<AsyncTask<GuardTask>> {
        guarded(|| {
            let limits = Limits { context_window, ..self.limits.clone() };
            Ok(AsyncTask::new(GuardTask { messages: self.facts(&slots)?, limits }))
        })
    }
}

/// A guard's plan under way.
pub struct GuardTask {
    messages: Vec<Arc<Message>>,
    limits: Limits,
}

impl<'a> ScopedTask<'a> for GuardTask {
    type Output = Vec<f64>;
    type JsValue = Float64ArraySlice<'a>;

    fn compute(&mut self) -> Result<Vec<f64>> {
        guarded(|| {
            let transcript = Transcript::new(std::mem::take(&mut self.messages));
            let draft = guard::draft(&transcript, &self.limits);
            let header = Header {
                tokens_before: transcript.tokens() as f64,
                tokens_after: draft.tokens() as f64,
                budget: self.limits.budget(),
            };
            Ok(encode(&header, &draft.finish(), &[]))
        })
    }

    fn resolve(&mut self, env: &'a Env, numbers: Vec<f64>) -> Result<Float64ArraySlice<'a>> {
        guarded(|| Float64ArraySlice::copy_from(env, numbers))
    }
}

/// Head and tail of a text over `max` UTF-16 units; nothing if it is not cut.
#[napi]
pub fn cut_to_ends(text: JsString<'_>, max: u32, head: u32, tail: u32) -> Result<Option<Utf16String>> {
    guarded(|| {
        let cap = Cap {
            max_len: Utf16Len(max as usize),
            head: Utf16Len(head as usize),
            tail: Utf16Len(tail as usize),
        };
        Ok(cap.cut(&units(&text)?).map(Utf16String::from))
    })
}

/// A text of at most `max` UTF-16 units: its beginning and an ellipsis, where it is longer.
#[napi]
pub fn clip_text(text: JsString<'_>, max: u32) -> Result<Utf16String> {
    guarded(|| {
        let units = units(&text)?;
        let max = max as usize;
        let is_long = units.len() > max;
        Ok(Utf16String::from(if is_long { clip(&units, Utf16Len(max.saturating_sub(1))) } else { units }))
    })
}
