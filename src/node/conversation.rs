//! One conversation of a hook, which lives across its calls: the facts of its messages by position, what was sent and what
//! was reported.
//!
//! A call says where each message stood, and asks for a plan, which reads what is new; of many messages the earlier ones are read
//! ahead. The caller makes one call at a time.

use std::mem::{replace, take};
use std::sync::Arc;

use napi::bindgen_prelude::Int32ArraySlice;
use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::json;

use super::blocking::{Promise, blocking};
use super::content_cache;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use super::options::{CallTerms, Options};
use super::read::{Batch, Rows};
use super::wire::{Answer, answer, edits_of, form_of};
use crate::context::decide::{self, Mode};
use crate::context::facts::measure::Rules;
use crate::context::facts::transcript::Message;
use crate::context::request::plan::{Action, Edit};

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
    /// The others: they may come back when a call with another list is withdrawn.
    gone: Vec<Arc<Message>>,
}

#[napi]
impl Conversation {
    /// A conversation without messages, by options in JSON (`options.rs`), that shares its lessons with others of its hook.
    #[napi(constructor)]
    pub fn new(options: String, lessons: &Lessons) -> Result<Self> {
        guarded(|| {
            let options = Options::read(&options)?;
            let state = State::new(options.schedule);
            let (lessons, state) = (lessons.0.clone(), Arc::new(Mutex::new(state)));
            Ok(Self { options: Arc::new(options), lessons, state })
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
    pub fn read_ahead(&self, from: u32, rows: Rows<'_>) -> Result<Promise<()>> {
        guarded(|| {
            let batch = Batch::take(&rows)?;
            let (options, state, from) = (self.options.clone(), self.state.clone(), from as usize);
            Ok(blocking(move || {
                let read = facts_of(&batch, &options.rules)?;
                let ahead = &mut state.lock().ahead;
                ahead.truncate(from);
                ahead.extend(read);
                Ok(())
            }))
        })
    }

    /// Changes the list and plans over it, on a worker thread: both or, where it rejects, neither. The
    /// first `kept` messages stay; `positions` are those that the others had, -1 for a new one. What was not read ahead of the new
    /// ones crosses here. `terms` are the model settings of this call, as JSON (`options.rs`).
    #[napi(ts_return_type = "Promise<Answer>")]
    pub fn plan(
        &self,
        kept: u32,
        positions: Int32ArraySlice<'_>,
        rows: Rows<'_>,
        terms: String,
    ) -> Result<Promise<Answer>> {
        guarded(|| {
            let (positions, batch) = (positions.to_vec(), Batch::take(&rows)?);
            let (options, lessons, state) = (self.options.clone(), self.lessons.clone(), self.state.clone());
            Ok(blocking(move || {
                let terms = CallTerms::read(&terms)?.over(&options);
                let read = facts_of(&batch, &options.rules)?;
                let mut state = state.lock();
                state.take_in(kept as usize, &positions, read)?;
                let conversation = Arc::make_mut(&mut state.conversation);
                let decision = conversation.decide(&terms, &mut lessons.lock());
                let (before, edits) = (state.sent.take(), edits_of(&decision.plan));
                let (told, first_changed) =
                    before.as_ref().map_or_else(Default::default, |before| before.beside(&edits));
                let transcript = state.conversation.transcript();
                let answer = answer(&decision, &edits, transcript, told, first_changed);
                let kept = transcript.messages().len();
                state.sent = Some(Request { edits: edits.into(), kept, gone: Vec::new() });
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
            Ok(blocking(move || {
                drop(freed);
                Ok(())
            }))
        })
    }

    /// Explains the last plan, as JSON: by message the `forms` of the calls that its results answer, empty where none was read,
    /// and the results that are `kept` whole, each with the file or tool whose newest state it shows.
    #[napi]
    pub fn explanation(&self) -> Result<String> {
        guarded(|| {
            let conversation = self.state.lock().conversation.clone();
            let transcript = conversation.transcript();
            let forms: Vec<_> =
                (0..transcript.messages().len()).map(|index| form_of(index, transcript)).collect();
            let kept = conversation.kept_states().into_iter();
            let kept: Vec<_> = kept.map(|of| json!({ "index": of.index, "name": of.name })).collect();
            Ok(json!({ "forms": forms, "kept": kept }).to_string())
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
            sent.go_on(known, kept, &rest);
        }
        conversation.go_on(kept, rest);
        Ok(())
    }
}

impl Request {
    /// Goes on with a list that keeps the first `kept` messages of the `known` one; `rest` follows them.
    fn go_on(&mut self, known: &[Arc<Message>], kept: usize, rest: &[Arc<Message>]) {
        if kept < self.kept {
            let cut = known.iter().take(self.kept).skip(kept).cloned();
            self.gone.splice(..0, cut);
            self.kept = kept;
        }
        if kept == self.kept {
            let same = self.gone.iter().zip(rest).take_while(|(was, is)| was.is_same(is)).count();
            self.gone.drain(..same);
            self.kept += same;
        }
    }

    /// Its edits that the next request may have too, and the first message that the next one sends otherwise.
    fn beside(&self, next: &[Edit]) -> (&[Edit], Option<usize>) {
        let edited = first_difference(&self.edits, next).filter(|&at| at < self.kept);
        let told = self.edits.partition_point(|edit| edit.index < self.kept);
        // What differs behind the last answer is the tail of one request.
        let is_rewritten = self.gone.iter().any(|message| message.assistant().is_some());
        (self.edits.get(..told).unwrap_or_default(), edited.or(is_rewritten.then_some(self.kept)))
    }
}

/// The first message that two requests send in different forms.
fn first_difference(last: &[Edit], next: &[Edit]) -> Option<usize> {
    let same = last.iter().zip(next).take_while(|(was, is)| was == is).count();
    let (mut one, mut other) = (each_form(last, same), each_form(next, same));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return None,
            (was, is) if was == is => {}
            (was, is) => return was.into_iter().chain(is).map(|(index, ..)| index).min(),
        }
    }
}

/// The form of each message that is edited, from an edit on.
fn each_form(edits: &[Edit], from: usize) -> impl Iterator<Item = (usize, &Action, u32)> {
    let each =
        edits.iter().skip(from).flat_map(|edit| (edit.index..edit.end()).map(move |index| (index, edit)));
    each.map(|(index, edit)| (index, &edit.action, edit.images_out))
}

/// The facts of what was handed in; equal content that was measured under equal rules is looked up.
fn facts_of(batch: &Batch, rules: &Rules) -> Result<Vec<Arc<Message>>> {
    let hash = content_cache::hash_of(rules);
    Ok(batch.messages()?.iter().map(|message| content_cache::facts_of(message, rules, hash)).collect())
}
