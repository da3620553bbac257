//! One conversation of a hook, which lives across its calls: the facts of its messages by position, what was sent and what
//! was reported.
//!
//! A call brings what is new with `read`, a few messages at once or many on a worker, and asks for a plan, which says by a
//! splice where they stand. The caller makes one call at a time.

use std::mem::take;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{CancelFlag, Promise, blocking};
use super::content_cache;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::ledger::{LedgerBook, LedgerTerms};
use super::options::{EngineOptions, mode};
use super::read::Batch;
use super::wire::{Answer, answer};
use crate::cancel::Cancel;
use crate::context::guard::guard;
use crate::context::layers::Limits;
use crate::context::ledger;
use crate::context::measure::Rules;
use crate::context::plan::Edit;
use crate::context::schedule::economy::{Policy, Prices};
use crate::context::schedule::{self, Decision, Mode, Terms};
use crate::context::transcript::Message;
use crate::contract::CACHE_TTL_SECONDS;
use crate::tokens::estimate::Estimate;

/// A conversation of one hook.
#[napi]
pub struct Conversation {
    set: Arc<Set>,
    state: Arc<Mutex<State>>,
}

/// By what a hook was made.
pub(super) struct Set {
    pub(super) limits: Limits,
    pub(super) planner: Planner,
    pub(super) rules: Rules,
}

/// The planner of a hook.
pub(super) enum Planner {
    /// The hook's layers, moving when their schedule lets them.
    Layers(Mode, Policy),
    /// The context guard.
    Guard,
}

#[derive(Clone)]
struct State {
    conversation: schedule::Conversation,
    /// Facts of the messages that the next splice brings, by their position among them.
    newer: Vec<Option<Arc<Message>>>,
    /// Splices that no plan has taken in yet.
    splices: Vec<(Splice, Vec<Arc<Message>>)>,
    /// The edits of the last answer.
    told: Vec<Edit>,
}

/// The change of the list since the last call: of what was read, the first `inserted` messages stand where `removed` ones
/// stood from `at` on, and the others at the end.
#[napi(object)]
#[derive(Clone, Copy)]
pub struct Splice {
    /// The first position that changed.
    pub at: u32,
    /// Messages that went from there.
    pub removed: u32,
    /// New messages in their place.
    pub inserted: u32,
    /// New messages behind all.
    pub added: u32,
}

/// The request for a plan.
#[napi(object)]
pub struct PlanRequest {
    /// The change of the list.
    pub splice: Splice,
    /// The model's window in tokens.
    pub context_window: f64,
    /// Tokens of prompt and tools by the host's word; learned without one.
    pub overhead_tokens: Option<f64>,
    /// Tokens above which batches act.
    pub max_prompt_tokens: Option<f64>,
    /// The cache's prices relative to input and its seconds, where the host's function names them at this call.
    pub cache: Option<CachePrices>,
    /// When the host kept the cache warm, in ms.
    pub warmed_at: Option<Vec<f64>>,
    /// When it gave it up, in ms.
    pub cold_at: Option<Vec<f64>>,
    /// True if messages dropped side by side are an edit each.
    pub by_message: bool,
    /// True if the last answer was applied: what it said is not said again.
    pub is_told: bool,
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

impl Conversation {
    pub(super) fn with(set: Set) -> Self {
        let mode = if let Planner::Layers(mode, _) = set.planner { mode } else { Mode::EveryCall };
        let conversation = schedule::Conversation::new(mode);
        let state = State { conversation, newer: Vec::new(), splices: Vec::new(), told: Vec::new() };
        Self { set: Arc::new(set), state: Arc::new(Mutex::new(state)) }
    }

    fn limits(&self, context_window: f64, max_prompt_tokens: Option<f64>) -> Limits {
        let max_prompt_tokens = max_prompt_tokens.unwrap_or(f64::INFINITY);
        Limits { context_window, max_prompt_tokens, ..self.set.limits.clone() }
    }

    /// A batch as it was handed in. The first of several is that of position 0.
    fn take_batch(&self, from: u32, numbers: &Float64ArraySlice<'_>, strings: &Array<'_>) -> Result<Batch> {
        if from == 0 {
            self.state.lock().newer.clear();
        }
        Batch::take(numbers, strings)
    }
}

#[napi]
impl Conversation {
    /// A conversation without messages.
    #[napi(constructor)]
    pub fn new(options: EngineOptions) -> Result<Self> {
        guarded(|| {
            let limits = Limits::from(&options);
            let planner = Planner::Layers(mode(&options.schedule)?, Policy::from(&options));
            Ok(Self::with(Set { limits, planner, rules: Rules::from(options) }))
        })
    }

    /// Another one that goes on from here.
    #[napi]
    pub fn fork(&self) -> Result<Self> {
        guarded(|| {
            let state = self.state.lock().clone();
            Ok(Self { set: self.set.clone(), state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Reads messages of the next splice, from its position `from` on, here and now: for the few a running conversation adds.
    #[napi]
    pub fn read(&self, from: u32, numbers: Float64ArraySlice<'_>, strings: Array<'_>) -> Result<()> {
        guarded(|| {
            let batch = self.take_batch(from, &numbers, &strings)?;
            read_into(&self.state, from as usize, &batch, &self.set.rules, &Cancel::default())
        })
    }

    /// `read` on a worker thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn read_async(
        &self,
        from: u32,
        numbers: Float64ArraySlice<'_>,
        strings: Array<'_>,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            let batch = self.take_batch(from, &numbers, &strings)?;
            let (set, state) = (self.set.clone(), self.state.clone());
            Ok(blocking(flag, move |cancel| read_into(&state, from as usize, &batch, &set.rules, cancel)))
        })
    }

    /// Plans over the list as it is now, on a worker thread. The splice holds from now on, whatever becomes of the plan.
    #[napi(ts_return_type = "Promise<Answer>")]
    pub fn plan(&self, request: PlanRequest, flag: Option<&CancelFlag>) -> Result<Promise<Answer>> {
        guarded(|| {
            self.state.lock().note(request.splice)?;
            let limits = self.limits(request.context_window, request.max_prompt_tokens);
            let (set, state) = (self.set.clone(), self.state.clone());
            Ok(blocking(flag, move |_| {
                let mut request = request;
                let mut state = state.lock();
                if !request.is_told {
                    state.told.clear();
                }
                state.take_in();
                let (warmed, lost) = (request.warmed_at.take(), request.cold_at.take());
                state.conversation.set_cache_times(warmed.unwrap_or_default(), lost.unwrap_or_default());
                let decision = set.planner.decide(&mut state.conversation, &request, limits.clone());
                let told = take(&mut state.told);
                let answer =
                    answer(&decision, &limits, state.conversation.transcript(), &told, request.by_message);
                state.told = decision.plan.edits;
                Ok(answer)
            }))
        })
    }

    /// Enters the list as it is now into a book, on a worker thread; calls before `from` are in it already.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn enter(
        &self,
        splice: Splice,
        book: &LedgerBook,
        from: u32,
        terms: LedgerTerms,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            self.state.lock().note(splice)?;
            let (set, state, book) = (self.set.clone(), self.state.clone(), book.0.clone());
            let LedgerTerms { context_window, overhead_tokens, max_prompt_tokens, warmed_at, cold_at } =
                terms;
            let limits = self.limits(context_window, max_prompt_tokens);
            Ok(blocking(flag, move |_| {
                let Planner::Layers(mode, policy) = &set.planner else {
                    return Err(Failure::invalid("the guard keeps no ledger"));
                };
                let mut state = state.lock();
                state.take_in();
                state
                    .conversation
                    .set_cache_times(warmed_at.unwrap_or_default(), cold_at.unwrap_or_default());
                let options = ledger::Options { mode: *mode, policy, limits: &limits, overhead_tokens };
                book.lock().enter(state.conversation.transcript(), from as usize, options);
                Ok(())
            }))
        })
    }
}

impl State {
    /// Notes a splice of what was read.
    fn note(&mut self, splice: Splice) -> Result<()> {
        let count = splice.inserted as usize + splice.added as usize;
        let newer = take(&mut self.newer).into_iter().take(count).collect::<Option<Vec<_>>>();
        let newer = newer.filter(|newer| newer.len() == count);
        let newer =
            newer.ok_or_else(|| Failure::internal("a message was planned over before it was read"))?;
        self.splices.push((splice, newer));
        Ok(())
    }

    fn take_in(&mut self) {
        for (Splice { at, removed, inserted, .. }, newer) in take(&mut self.splices) {
            let at = at as usize;
            if removed > 0 || inserted > 0 {
                self.told.retain(|edit| edit.index < at);
            }
            self.conversation.splice(at, removed as usize, inserted as usize, newer);
        }
    }
}

impl Planner {
    fn decide(
        &self,
        conversation: &mut schedule::Conversation,
        request: &PlanRequest,
        limits: Limits,
    ) -> Decision {
        let Self::Layers(_, policy) = self else {
            let plan = guard(conversation.transcript(), &limits).plan();
            let (floor, estimate) = (plan.after, Estimate::PLAIN);
            return Decision { plan, floor, estimate, arithmetic: None, miss: None, is_refused: false };
        };
        let set = |&CachePrices { read, write, ttl_seconds }: &CachePrices| Policy {
            prices: Prices { read, write, ttl_seconds: ttl_seconds.unwrap_or(CACHE_TTL_SECONDS) },
            learns_prices: false,
            learns_ttl: ttl_seconds.is_none(),
            ..*policy
        };
        let policy = request.cache.as_ref().map_or(*policy, set);
        conversation.decide(&Terms { policy, limits, overhead_tokens: request.overhead_tokens })
    }
}

/// Measures what is new; equal content that was measured under equal rules is looked up.
fn read_into(state: &Mutex<State>, from: usize, batch: &Batch, rules: &Rules, cancel: &Cancel) -> Result<()> {
    let rules_hash = content_cache::hash_of(rules);
    let mut read = Vec::new();
    for message in batch.messages()? {
        cancel.check()?;
        read.push(Some(content_cache::facts_of(&message.raw, message.is_protected, rules, rules_hash)));
    }
    let end = from + read.len();
    let newer = &mut state.lock().newer;
    newer.resize(newer.len().max(end), None);
    if let Some(places) = newer.get_mut(from..end) {
        places.swap_with_slice(&mut read);
    }
    Ok(())
}
