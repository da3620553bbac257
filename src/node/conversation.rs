//! One conversation of a hook, which lives across its calls: the facts of its messages by position, what was sent and what
//! was reported.
//!
//! A call says by a splice what changed, and asks for a plan, which reads what is new; of many messages the earlier ones are read
//! ahead. The caller makes one call at a time.

use std::mem::take;
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Float64ArraySlice};
use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{CancelFlag, Promise, blocking};
use super::content_cache;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::options::Options;
use super::read::Batch;
use super::wire::{Answer, answer};
use crate::cancel::Cancel;
use crate::context::layers::Limits;
use crate::context::measure::Rules;
use crate::context::plan::Edit;
use crate::context::schedule::calibration::LearnedWindow;
use crate::context::schedule::economy::Prices;
use crate::context::schedule::{self, Decision, Terms};
use crate::context::transcript::Message;
use crate::contract::CACHE_TTL_SECONDS;

/// A conversation of one hook.
#[napi]
pub struct Conversation {
    options: Arc<Options>,
    state: Arc<Mutex<State>>,
}

#[derive(Clone)]
struct State {
    conversation: schedule::Conversation,
    /// Facts that were read ahead, by their position among what the next splice brings.
    ahead: Vec<Option<Arc<Message>>>,
    /// Splices that no plan has taken in yet.
    splices: Vec<Change>,
    /// The edits of the last answer.
    told: Vec<Edit>,
    terms: CallTerms,
}

/// A splice with what it brings: facts that were read ahead, and the messages behind those.
#[derive(Clone)]
struct Change(Splice, Vec<Option<Arc<Message>>>, Arc<Batch>);

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

/// The host's word on its model at a call, and how the plan is wanted.
#[napi(object)]
#[derive(Clone, Default)]
pub struct CallTerms {
    /// The model's window in tokens.
    pub context_window: f64,
    /// Tokens of prompt and tools by the host's word; learned without one.
    pub overhead_tokens: Option<f64>,
    /// Tokens above which batches act.
    pub max_prompt_tokens: Option<f64>,
    /// Tokens of the model's window, where a refusal in another conversation taught it.
    pub learned_window: Option<f64>,
    /// Tokens of it that requests ask for the answer.
    pub learned_output: Option<f64>,
    /// The cache's prices relative to input, where the host's function names them at this call.
    pub cache_read: Option<f64>,
    /// That of writing.
    pub cache_write: Option<f64>,
    /// Seconds an entry lives unread; learned where the host does not say.
    pub ttl_seconds: Option<f64>,
    /// When the host kept the cache warm, in ms.
    pub warmed_at: Option<Vec<f64>>,
    /// When it gave it up, in ms.
    pub cold_at: Option<Vec<f64>>,
    /// True if messages dropped side by side are an edit each.
    pub by_message: bool,
}

#[napi]
impl Conversation {
    /// A conversation without messages, by options in JSON (`options.rs`).
    #[napi(constructor)]
    pub fn new(options: String) -> Result<Self> {
        guarded(|| {
            let options = Options::read(&options)?;
            let conversation = schedule::Conversation::new(options.schedule);
            let state = State {
                conversation,
                ahead: Vec::new(),
                splices: Vec::new(),
                told: Vec::new(),
                terms: CallTerms::default(),
            };
            Ok(Self { options: Arc::new(options), state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Another one that goes on from here.
    #[napi]
    pub fn fork(&self) -> Result<Self> {
        guarded(|| {
            let state = self.state.lock().clone();
            Ok(Self { options: self.options.clone(), state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Reads messages of the next splice ahead, from its position `from` on, on a worker thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn read_ahead(
        &self,
        from: u32,
        numbers: Float64ArraySlice<'_>,
        strings: Array<'_>,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            if from == 0 {
                self.state.lock().ahead.clear();
            }
            let batch = Batch::take(&numbers, &strings)?;
            let (options, state, from) = (self.options.clone(), self.state.clone(), from as usize);
            Ok(blocking(flag, move |cancel| {
                let read = facts_of(&batch, &options.rules, cancel)?;
                let ahead = &mut state.lock().ahead;
                ahead.resize(ahead.len().max(from + read.len()), None);
                for (place, facts) in ahead.iter_mut().skip(from).zip(read) {
                    *place = Some(facts);
                }
                Ok(())
            }))
        })
    }

    /// Changes the list by `splice`, which is read when the next plan begins. What was not read ahead of what is new crosses
    /// here.
    #[napi]
    pub fn splice(&self, splice: Splice, numbers: Float64ArraySlice<'_>, strings: Array<'_>) -> Result<()> {
        guarded(|| {
            let batch = Arc::new(Batch::take(&numbers, &strings)?);
            let mut state = self.state.lock();
            let ahead = take(&mut state.ahead);
            state.splices.push(Change(splice, ahead, batch));
            Ok(())
        })
    }

    /// The terms that hold from the next plan on.
    #[napi]
    pub fn set_terms(&self, terms: CallTerms) -> Result<()> {
        guarded(|| {
            self.state.lock().terms = terms;
            Ok(())
        })
    }

    /// Plans over the list on a worker thread. `is_told` if the last answer was applied: what it said is not said again.
    #[napi(ts_return_type = "Promise<Answer>")]
    pub fn plan(&self, is_told: bool, flag: Option<&CancelFlag>) -> Result<Promise<Answer>> {
        guarded(|| {
            let (options, state) = (self.options.clone(), self.state.clone());
            Ok(blocking(flag, move |_| {
                let mut state = state.lock();
                if !is_told {
                    state.told.clear();
                }
                let terms = state.take_in(&options)?;
                let limits = options.limits(&terms);
                let decision = decide(&mut state.conversation, &options, &terms, limits);
                let told = take(&mut state.told);
                let transcript = state.conversation.transcript();
                let answer = answer(&decision, transcript, &told, terms.by_message);
                state.told = decision.plan.edits;
                Ok(answer)
            }))
        })
    }

    /// Tokens of each message, as they were measured for the last plan.
    #[napi]
    pub fn tokens(&self) -> Result<Vec<u32>> {
        guarded(|| {
            let state = self.state.lock();
            let messages = state.conversation.transcript().messages().iter();
            Ok(messages.map(|message| message.tokens as u32).collect())
        })
    }
}

impl Options {
    fn limits(&self, terms: &CallTerms) -> Limits {
        let max_prompt_tokens = terms.max_prompt_tokens.unwrap_or(f64::INFINITY);
        Limits { context_window: terms.context_window, max_prompt_tokens, ..self.limits.clone() }
    }
}

impl State {
    /// Takes in what changed since the last plan, and the host's word on its cache. The terms that hold.
    fn take_in(&mut self, options: &Options) -> Result<CallTerms> {
        for Change(Splice { at, removed, inserted, added }, mut newer, batch) in take(&mut self.splices) {
            let read = facts_of(&batch, &options.rules, &Cancel::default())?;
            let count = (inserted + added) as usize;
            newer.truncate(count.saturating_sub(read.len()));
            newer.extend(read.into_iter().map(Some));
            let newer = newer.into_iter().collect::<Option<Vec<_>>>().filter(|newer| newer.len() == count);
            let newer = newer.ok_or_else(|| Failure::internal("a message of the splice was never read"))?;
            if removed > 0 || inserted > 0 {
                self.told.retain(|edit| edit.index < at as usize);
            }
            self.conversation.splice(at as usize, removed as usize, inserted as usize, newer);
        }
        let terms = self.terms.clone();
        let times = |of: &Option<Vec<f64>>| of.clone().unwrap_or_default();
        self.conversation.set_cache_times(times(&terms.warmed_at), times(&terms.cold_at));
        Ok(terms)
    }
}

/// The layers' decision, where their schedule lets them move.
fn decide(
    conversation: &mut schedule::Conversation,
    options: &Options,
    terms: &CallTerms,
    limits: Limits,
) -> Decision {
    let mut policy = options.policy;
    if let (Some(read), Some(write)) = (terms.cache_read, terms.cache_write) {
        let ttl_seconds = terms.ttl_seconds.unwrap_or(CACHE_TTL_SECONDS);
        policy.prices = Prices { read, write, ttl_seconds };
        (policy.learns_prices, policy.learns_ttl) = (false, terms.ttl_seconds.is_none());
    }
    let known_window = known_window(terms);
    conversation.decide(&Terms { policy, limits, overhead_tokens: terms.overhead_tokens, known_window })
}

fn known_window(terms: &CallTerms) -> Option<LearnedWindow> {
    Some(LearnedWindow { tokens: terms.learned_window?, output: terms.learned_output.unwrap_or(0.0) })
}

/// The facts of what was handed in; equal content that was measured under equal rules is looked up.
fn facts_of(batch: &Batch, rules: &Rules, cancel: &Cancel) -> Result<Vec<Arc<Message>>> {
    let rules_hash = content_cache::hash_of(rules);
    let facts = batch.messages()?.into_iter().map(|message| {
        cancel.check()?;
        Ok(content_cache::facts_of(&message.raw, message.is_protected, rules, rules_hash))
    });
    facts.collect()
}
