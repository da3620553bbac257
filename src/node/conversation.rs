//! One conversation of a hook, which lives across its calls: the facts of its messages by position, what was sent and what
//! was reported.
//!
//! A call says where each message stood, and asks for a plan, which reads what is new; of many messages the earlier ones are read
//! ahead. The caller makes one call at a time.

use std::mem::{replace, take};
use std::sync::Arc;

use napi::bindgen_prelude::{Array, Float64ArraySlice, Int32ArraySlice};
use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{CancelFlag, Promise, blocking};
use super::content_cache;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::options::Options;
use super::read::Batch;
use super::wire::{Answer, answer, edits_of, form_of};
use crate::cancel::Cancel;
use crate::context::decide::economy::{Policy, Prices};
use crate::context::decide::{self, Mode, Terms};
use crate::context::facts::measure::Rules;
use crate::context::facts::transcript::Message;
use crate::context::request::layers::Limits;
use crate::context::request::plan::{Action, Edit};
use crate::contract::CACHE_TTL_SECONDS;

/// What the conversations of a hook that count by one encoding learn for each other.
#[napi]
#[derive(Default)]
pub struct Lessons(Arc<Mutex<decide::Lessons>>);

#[napi]
impl Lessons {
    /// Nothing learned yet.
    #[napi(constructor)]
    pub fn new() -> Result<Self> {
        guarded(|| Ok(Self::default()))
    }
}

/// A conversation of one hook.
#[napi]
pub struct Conversation {
    options: Arc<Options>,
    lessons: Arc<Mutex<decide::Lessons>>,
    state: Arc<Mutex<State>>,
}

#[derive(Clone)]
struct State {
    /// Shared with a fork until either of them is planned: it is copied on a worker.
    conversation: Arc<decide::Conversation>,
    /// Facts of the first new messages of the next call that were read ahead.
    ahead: Vec<Arc<Message>>,
    /// The last request, if there was one.
    sent: Option<Request>,
    /// The request before it, which is the last one again if that is withdrawn.
    before: Option<Request>,
}

/// A request beside the list as it is now.
#[derive(Clone)]
struct Request {
    /// As JavaScript has them.
    edits: Arc<[Edit]>,
    /// Number of its messages that the list still begins with.
    kept: usize,
    /// True if an answer stood behind them: what differs behind the last answer is the tail of one request.
    is_rewritten: bool,
}

/// The host's word on its model at a call.
#[napi(object)]
#[derive(Clone)]
pub struct CallTerms {
    /// The model's window in tokens.
    pub context_window: f64,
    /// Tokens of prompt and tools by the host's word; learned without one.
    pub overhead_tokens: Option<f64>,
    /// Tokens above which batches act.
    pub max_prompt_tokens: Option<f64>,
    /// The cache, where the host names it.
    pub cache: Option<CacheTerms>,
    /// When the host kept the cache warm, in ms.
    pub warmed_at: Option<Vec<f64>>,
    /// When it gave it up, in ms.
    pub cold_at: Option<Vec<f64>>,
}

/// The cache of a model by the host's word.
#[napi(object)]
#[derive(Clone, Copy)]
pub struct CacheTerms {
    /// The price of reading relative to input.
    pub read: f64,
    /// That of writing.
    pub write: f64,
    /// Seconds an entry lives unread; learned where the host does not say.
    pub ttl_seconds: Option<f64>,
}

/// What a dry run says of the last plan beside its edits.
#[napi(object, object_from_js = false)]
pub struct Explanation {
    /// The form of the call that each tool result answers; empty where none was read.
    pub forms: Vec<String>,
    /// The tool results that stay whole as the newest state of something.
    pub kept: Vec<KeptState>,
}

/// A tool result that stays whole.
#[napi(object, object_from_js = false)]
pub struct KeptState {
    /// Its position.
    pub index: u32,
    /// The file or tool whose newest state it shows.
    pub name: String,
}

#[napi]
impl Conversation {
    /// A conversation without messages, by options in JSON (`options.rs`), that shares its lessons with others of its hook.
    #[napi(constructor)]
    pub fn new(options: String, lessons: Option<&Lessons>) -> Result<Self> {
        guarded(|| {
            let options = Options::read(&options)?;
            let state = State::new(options.schedule);
            let lessons = lessons.map(|of| of.0.clone()).unwrap_or_default();
            Ok(Self { options: Arc::new(options), lessons, state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Another one that goes on from here.
    #[napi]
    pub fn fork(&self) -> Result<Self> {
        guarded(|| {
            let state = self.state.lock().clone();
            let (options, lessons) = (self.options.clone(), self.lessons.clone());
            Ok(Self { options, lessons, state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Reads new messages of the next call ahead, from position `from` of them on, on a worker thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn read_ahead(
        &self,
        from: u32,
        numbers: Float64ArraySlice<'_>,
        strings: Array<'_>,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<()>> {
        guarded(|| {
            let batch = Batch::take(&numbers, &strings)?;
            let (options, state, from) = (self.options.clone(), self.state.clone(), from as usize);
            Ok(blocking(flag, move |cancel| {
                let read = facts_of(&batch, &options.rules, cancel)?;
                let ahead = &mut state.lock().ahead;
                ahead.truncate(from);
                ahead.extend(read);
                Ok(())
            }))
        })
    }

    /// Changes the list and plans over it, on a worker thread: both or, where it rejects with `ERR_CANCELLED`, neither. The
    /// first `kept` messages stay; `positions` are those that the others had, -1 for a new one. What was not read ahead of the new
    /// ones crosses here.
    #[napi(ts_return_type = "Promise<Answer>")]
    pub fn plan(
        &self,
        kept: u32,
        positions: Int32ArraySlice<'_>,
        numbers: Float64ArraySlice<'_>,
        strings: Array<'_>,
        terms: CallTerms,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<Answer>> {
        guarded(|| {
            let (positions, batch) = (positions.to_vec(), Batch::take(&numbers, &strings)?);
            let (options, lessons, state) = (self.options.clone(), self.lessons.clone(), self.state.clone());
            Ok(blocking(flag, move |cancel| {
                let read = facts_of(&batch, &options.rules, cancel)?;
                let mut state = state.lock();
                cancel.check()?;
                state.take_in(kept as usize, &positions, read)?;
                let conversation = Arc::make_mut(&mut state.conversation);
                let times = |of: &Option<Vec<f64>>| of.clone().unwrap_or_default();
                conversation.set_cache_times(times(&terms.warmed_at), times(&terms.cold_at));
                let decision = conversation.decide(&terms.over(&options), &mut lessons.lock());
                let (before, edits) = (state.sent.take(), edits_of(&decision.plan));
                let (told, first_changed) =
                    before.as_ref().map_or_else(Default::default, |before| before.beside(&edits));
                let transcript = state.conversation.transcript();
                let answer = answer(&decision, &edits, transcript, told, first_changed);
                let kept = transcript.len();
                state.sent = Some(Request { edits: edits.into(), kept, is_rewritten: false });
                state.before = before;
                Ok(answer)
            }))
        })
    }

    /// Says that the last plan is not sent.
    #[napi]
    pub fn withdraw(&self) -> Result<()> {
        guarded(|| {
            let mut state = self.state.lock();
            state.sent = state.before.take();
            Arc::make_mut(&mut state.conversation).withdraw(&mut self.lessons.lock());
            Ok(())
        })
    }

    /// Frees its memory on a worker thread: the collector of JavaScript does not see it. Nothing is asked of it any more.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn free(&self) -> Result<Promise<()>> {
        guarded(|| {
            let freed = replace(&mut *self.state.lock(), State::new(self.options.schedule));
            Ok(blocking(None, move |_| {
                drop(freed);
                Ok(())
            }))
        })
    }

    /// Explains the last plan.
    #[napi]
    pub fn explanation(&self) -> Result<Explanation> {
        guarded(|| {
            let conversation = self.state.lock().conversation.clone();
            let transcript = conversation.transcript();
            let kept = conversation.kept_states().into_iter();
            Ok(Explanation {
                forms: (0..transcript.len()).map(|index| form_of(index, transcript)).collect(),
                kept: kept.map(|of| KeptState { index: of.index as u32, name: of.name.into() }).collect(),
            })
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

impl CallTerms {
    /// The settings of the hook with the host's word at this call.
    fn over(&self, options: &Options) -> Terms {
        let mut policy = Policy { learns_prices: self.cache.is_none(), ..options.policy };
        if let Some(CacheTerms { read, write, ttl_seconds }) = self.cache {
            policy.prices = Prices { read, write, ttl_seconds: ttl_seconds.unwrap_or(CACHE_TTL_SECONDS) };
            policy.learns_ttl = ttl_seconds.is_none();
        }
        let max_prompt_tokens = self.max_prompt_tokens.unwrap_or(f64::INFINITY);
        let limits =
            Limits { context_window: self.context_window, max_prompt_tokens, ..options.limits.clone() };
        Terms { policy, limits, overhead_tokens: self.overhead_tokens }
    }
}

impl State {
    /// Before any call.
    fn new(schedule: Mode) -> Self {
        let conversation = Arc::new(decide::Conversation::new(schedule));
        Self { conversation, ahead: Vec::new(), sent: None, before: None }
    }

    /// Takes in a change of the list, of whose new messages these were read last.
    fn take_in(&mut self, kept: usize, positions: &[i32], read: Vec<Arc<Message>>) -> Result<()> {
        let count = positions.iter().filter(|&&position| position < 0).count();
        let mut newer = take(&mut self.ahead);
        newer.truncate(count.saturating_sub(read.len()));
        let mut newer = newer.into_iter().chain(read);
        let conversation = Arc::make_mut(&mut self.conversation);
        let known = conversation.transcript().messages();
        let place = |&position: &i32| match usize::try_from(position) {
            Ok(position) => known.get(position).cloned(),
            Err(_) => newer.next(),
        };
        let rest = positions.iter().map(place).collect::<Option<Vec<_>>>();
        let rest = rest.ok_or_else(|| Failure::internal("a message of the list was never read"))?;
        if let Some(sent) = &mut self.sent {
            let mut gone = known.iter().take(sent.kept).skip(kept);
            sent.is_rewritten |= gone.any(|message| message.assistant().is_some());
            sent.kept = sent.kept.min(kept);
        }
        conversation.go_on(kept, rest);
        Ok(())
    }
}

impl Request {
    /// Its edits that the next request may have too, and the first message that the next one sends otherwise.
    fn beside(&self, next: &[Edit]) -> (&[Edit], Option<usize>) {
        let edited = first_difference(&self.edits, next).filter(|&at| at < self.kept);
        let told = self.edits.partition_point(|edit| edit.index < self.kept);
        (self.edits.get(..told).unwrap_or_default(), edited.or(self.is_rewritten.then_some(self.kept)))
    }
}

/// The first message that two requests send in different forms.
fn first_difference(last: &[Edit], next: &[Edit]) -> Option<usize> {
    let (mut one, mut other) = (each_form(last), each_form(next));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => return was.into_iter().chain(is).map(|(index, ..)| index).min(),
        }
    }
}

/// The form of each message that is edited.
fn each_form(edits: &[Edit]) -> impl Iterator<Item = (usize, &Action, u32)> {
    let each = edits.iter().flat_map(|edit| (edit.index..edit.end()).map(move |index| (index, edit)));
    each.map(|(index, edit)| (index, &edit.action, edit.images_out))
}

/// The facts of what was handed in; equal content that was measured under equal rules is looked up.
fn facts_of(batch: &Batch, rules: &Rules, cancel: &Cancel) -> Result<Vec<Arc<Message>>> {
    let rules_hash = content_cache::hash_of(rules);
    let facts = batch.messages()?.into_iter().map(|message| {
        cancel.check()?;
        Ok(content_cache::facts_of(&message, rules, rules_hash))
    });
    facts.collect()
}
