//! One hook's engine: it holds the facts of the messages that JavaScript still holds, and plans over them.
//!
//! JavaScript gives each message object a slot and frees it with the object. Reading and planning run on a worker;
//! the slots are shared with it behind a lock that is held for copies of pointers only.

use std::sync::Arc;

use napi::bindgen_prelude::{Array, Float64ArraySlice, Uint32ArraySlice, Utf16String};
use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{CancelFlag, Numbers, Promise, blocking};
use super::content_cache;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::ledger::{LedgerBook, LedgerTerms};
use super::options::{EngineOptions, mode};
use super::read::Batch;
use super::wire::{Header, encode};
use crate::cancel::Cancel;
use crate::context::guard::guard;
use crate::context::layers::Limits;
use crate::context::ledger;
use crate::context::measure::Rules;
use crate::context::schedule::economy::{Policy, Prices};
use crate::context::schedule::{Decision, Memo, Mode, decide};
use crate::context::transcript::{Message, Transcript};
use crate::contract::CACHE_TTL_SECONDS;
use crate::fault;
use crate::tokens::estimate::Estimate;

/// The engine of one hook.
#[napi]
pub struct Engine {
    limits: Limits,
    planner: Planner,
    rules: Arc<Rules>,
    slots: Arc<Slots>,
    last: Arc<Last>,
}

/// The transcript of the last plan: the next one mostly goes on from there. A plan takes it out and puts its own there.
#[derive(Default)]
struct Last(Mutex<Option<Transcript>>);

/// What a plan is made by.
#[derive(Clone)]
pub(super) enum Planner {
    /// The hook's layers, moving when their schedule lets them.
    Layers(Mode, Policy, Arc<Memo>),
    /// The context guard.
    Guard,
}

impl Planner {
    fn decide(&self, transcript: &Transcript, limits: &Limits, said: &Said) -> Decision {
        match self {
            Self::Layers(mode, policy, memo) => {
                let set =
                    |(prices, learns_ttl)| Policy { prices, learns_prices: false, learns_ttl, ..*policy };
                let policy = said.prices.map_or(*policy, set);
                decide(transcript, *mode, &policy, limits, said.overhead_tokens, memo)
            }
            Self::Guard => {
                let plan = guard(transcript, limits).plan();
                Decision { floor: plan.after, plan, estimate: Estimate::PLAIN, arithmetic: None, miss: None }
            }
        }
    }
}

/// What the host says of its model at a call.
struct Said {
    overhead_tokens: Option<f64>,
    /// And whether their time to live is learned.
    prices: Option<(Prices, bool)>,
}

/// What a plan is asked for with.
#[napi(object)]
pub struct PlanRequest {
    /// The model's window in tokens.
    pub context_window: f64,
    /// What the host says of its prompt and tools; without it, it is learned.
    pub overhead_tokens: Option<f64>,
    /// Tokens above which batches act.
    pub max_prompt_tokens: Option<f64>,
    /// The cache's prices relative to input and its seconds, where the host's function names them at this call.
    pub cache: Option<CachePrices>,
    /// When the host kept the cache warm, in ms.
    pub warmed_at: Option<Vec<f64>>,
    /// When it gave it up, in ms.
    pub cold_at: Option<Vec<f64>>,
    /// Whether messages dropped side by side are an edit each.
    pub by_message: bool,
}

/// Prices of a provider's prompt cache relative to input, and its time to live.
#[napi(object)]
pub struct CachePrices {
    /// Reading a cached token.
    pub read: f64,
    /// Writing a token.
    pub write: f64,
    /// Seconds an entry lives unread; learned where the host does not say.
    pub ttl_seconds: Option<f64>,
}

impl Engine {
    pub(super) fn with(limits: Limits, planner: Planner, rules: Rules) -> Self {
        Self { limits, planner, rules: Arc::new(rules), slots: Arc::default(), last: Arc::default() }
    }

    /// The limits with what the host says of its model now.
    fn limits_now(&self, context_window: f64, max_prompt_tokens: Option<f64>) -> Limits {
        Limits {
            context_window,
            max_prompt_tokens: max_prompt_tokens.unwrap_or(f64::INFINITY),
            ..self.limits.clone()
        }
    }
}

#[napi]
impl Engine {
    /// An engine without messages.
    #[napi(constructor)]
    pub fn new(options: EngineOptions) -> Result<Self> {
        guarded(|| {
            let limits = Limits::from(&options);
            let (mode, policy) = (mode(&options.schedule)?, Policy::from(&options));
            Ok(Self::with(limits, Planner::Layers(mode, policy, Arc::default()), Rules::from(options)))
        })
    }

    /// Reads messages into their slots, here and now: for the few a running conversation adds.
    #[napi]
    pub fn read(&self, numbers: Float64ArraySlice<'_>, strings: Array<'_>) -> Result<()> {
        guarded(|| {
            let batch = Batch::take(&numbers, &strings)?;
            read_into(&self.slots, &batch, &self.rules, &Cancel::default())
        })
    }

    /// `read` on a worker thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn read_async(
        &self,
        numbers: Float64ArraySlice<'_>,
        strings: Array<'_>,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            let batch = Batch::take(&numbers, &strings)?;
            let (rules, slots) = (self.rules.clone(), self.slots.clone());
            Ok(blocking(flag, move |cancel| read_into(&slots, &batch, &rules, cancel)))
        })
    }

    /// Plans over the messages in these slots, on a worker thread.
    ///
    /// The worker looks the slots up: touching a thousand messages' facts takes the main thread 40 µs.
    #[napi(ts_return_type = "Promise<Float64Array>")]
    pub fn plan(
        &self,
        slots: Uint32ArraySlice<'_>,
        request: PlanRequest,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<Numbers>> {
        guarded(|| {
            let (wanted, slots) = (slots.to_vec(), self.slots.clone());
            let limits = self.limits_now(request.context_window, request.max_prompt_tokens);
            let kept_warm = request.warmed_at.unwrap_or_default();
            let given_up = request.cold_at.unwrap_or_default();
            let prices = request.cache.map(|CachePrices { read, write, ttl_seconds }| {
                let ttl = ttl_seconds.unwrap_or(CACHE_TTL_SECONDS);
                (Prices { read, write, ttl_seconds: ttl }, ttl_seconds.is_none())
            });
            let said = Said { overhead_tokens: request.overhead_tokens, prices };
            let (planner, last) = (self.planner.clone(), self.last.clone());
            Ok(blocking(flag, move |cancel| {
                let before = last.0.lock().take().unwrap_or_default();
                let mut transcript = slots.transcript(&wanted, before)?;
                transcript.set_cache_times(kept_warm, given_up);
                cancel.check()?;
                let numbers = planned(&planner, &transcript, &limits, &said, request.by_message);
                // Schedules keep the messages they planned over anyway; the guard keeps none.
                if matches!(planner, Planner::Layers(..)) {
                    *last.0.lock() = Some(transcript);
                }
                Ok(Numbers(numbers))
            }))
        })
    }

    /// Enters the messages in these slots into a book, on a worker thread; calls before `from` are in it already.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn enter(
        &self,
        book: &LedgerBook,
        slots: Uint32ArraySlice<'_>,
        from: u32,
        terms: LedgerTerms,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            let (wanted, slots, book) = (slots.to_vec(), self.slots.clone(), book.0.clone());
            let LedgerTerms { context_window, overhead_tokens, max_prompt_tokens, warmed_at, cold_at } =
                terms;
            let limits = self.limits_now(context_window, max_prompt_tokens);
            let Planner::Layers(mode, policy, _) = self.planner.clone() else {
                return Err(Failure::invalid("the guard keeps no ledger"));
            };
            Ok(blocking(flag, move |cancel| {
                let mut transcript = Transcript::new(slots.get(&wanted)?);
                transcript.set_cache_times(warmed_at.unwrap_or_default(), cold_at.unwrap_or_default());
                cancel.check()?;
                let options = ledger::Options { mode, policy: &policy, limits: &limits, overhead_tokens };
                book.lock().enter(&transcript, from as usize, options);
                Ok(())
            }))
        })
    }

    /// The text that replaces a tool result.
    #[napi]
    pub fn shortened(&self, slot: u32) -> Result<Option<Utf16String>> {
        guarded(|| {
            let message = self.slots.get(&[slot])?.pop();
            let shortened = message.as_ref().and_then(|message| message.tool_result()?.shortened.as_ref());
            Ok(shortened.map(|shortened| Utf16String::from(shortened.text.to_vec())))
        })
    }

    /// The marker lines for gaps of `omitted` lines in a tool result, the first and the last saying more. `own` are the
    /// host's, if it makes its own.
    #[napi]
    pub fn gap_markers(
        &self,
        slot: u32,
        omitted: Uint32ArraySlice<'_>,
        own: Option<Vec<Utf16String>>,
    ) -> Result<Vec<Utf16String>> {
        guarded(|| {
            let message = self.slots.get(&[slot])?.pop();
            let result = message.as_ref().and_then(|message| message.tool_result());
            let marker = self.rules.marker;
            let mut markers: Vec<Vec<u16>> = match &own {
                Some(own) => own.iter().map(|line| line.to_vec()).collect(),
                None => omitted.iter().map(|&omitted| marker.gap(omitted as usize)).collect(),
            };
            if let (Some(result), Some(&omitted), None) = (result, omitted.first(), &own)
                && let Some(first) = markers.first_mut()
            {
                *first = marker.marker(omitted as usize, result.text_len);
            }
            if let (Some(handle), Some(last)) = (result.and_then(|result| result.handle), markers.last_mut())
            {
                last.extend(marker.handle(handle));
            }
            Ok(markers.into_iter().map(Utf16String::from).collect())
        })
    }

    /// What stands where an image was.
    #[napi]
    pub fn image_marker(&self) -> Result<Utf16String> {
        guarded(|| Ok(Utf16String::from(self.rules.marker.image())))
    }

    /// Frees the facts of a message that is gone.
    #[napi]
    pub fn release(&self, slot: u32) -> Result<()> {
        guarded(|| {
            self.slots.set(slot as usize, None);
            Ok(())
        })
    }
}

/// Facts by slot.
#[derive(Default)]
struct Slots(Mutex<Vec<Option<Arc<Message>>>>);

impl Slots {
    fn set(&self, slot: usize, message: Option<Arc<Message>>) {
        let mut slots = self.0.lock();
        fault::step();
        if slot >= slots.len() {
            slots.resize(slot + 1, None);
        }
        if let Some(place) = slots.get_mut(slot) {
            *place = message;
        }
    }

    fn get(&self, wanted: &[u32]) -> Result<Vec<Arc<Message>>> {
        let slots = self.0.lock();
        fault::step();
        let messages = wanted.iter().map(|&slot| slots.get(slot as usize).cloned().flatten());
        messages
            .collect::<Option<_>>()
            .ok_or_else(|| Failure::internal("a message was planned over before it was read"))
    }

    /// The messages in these slots, taken over from the transcript `last` as far as it is the same.
    fn transcript(&self, wanted: &[u32], mut last: Transcript) -> Result<Transcript> {
        let shared = {
            let slots = self.0.lock();
            let is_same = |slot: u32, known: &Arc<Message>| {
                let now = slots.get(slot as usize).and_then(Option::as_ref);
                now.is_some_and(|now| Arc::ptr_eq(now, known))
            };
            let known = wanted.iter().zip(last.messages());
            known.take_while(|&(&slot, known)| is_same(slot, known)).count()
        };
        let newer = self.get(wanted.get(shared..).unwrap_or_default())?;
        last.go_on(shared, newer.into_iter());
        Ok(last)
    }
}

/// The plan as numbers.
fn planned(
    planner: &Planner,
    transcript: &Transcript,
    limits: &Limits,
    said: &Said,
    by_message: bool,
) -> Vec<f64> {
    let Decision { plan, floor, estimate, arithmetic, miss } = planner.decide(transcript, limits, said);
    fault::step();
    let header = Header {
        tokens_before: estimate.tokens(plan.before),
        tokens_after: estimate.tokens(plan.after),
        tokens_at_least: estimate.tokens(floor),
        budget: limits.budget(),
        threshold: limits.threshold(),
        scale: estimate.scale,
        arithmetic,
        miss,
    };
    encode(&header, &plan, by_message)
}

/// Measures what is new; equal content that was measured under equal rules is looked up.
fn read_into(slots: &Slots, batch: &Batch, rules: &Rules, cancel: &Cancel) -> Result<()> {
    let rules_hash = content_cache::hash_of(rules);
    for message in batch.messages()? {
        cancel.check()?;
        slots.set(
            message.slot,
            Some(content_cache::facts_of(&message.raw, message.is_protected, rules, rules_hash)),
        );
    }
    Ok(())
}
