//! One conversation of a hook across its calls: the facts of its messages by position, and its last requests. A call passes
//! the former position of each message and the new messages, and gets a plan. Many new messages are read ahead in parts. The
//! caller makes one call at a time.

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

/// Lessons shared by the conversations of a hook that count by one encoding.
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
    /// Shared with a fork until either is planned: a worker copies it then.
    conversation: Arc<decide::Conversation>,
    /// Facts of the new messages of the next call that were read ahead.
    ahead: Vec<Arc<Message>>,
    /// The last request, if there was one.
    sent: Option<Request>,
    /// The request before it: withdrawing the last one restores it.
    before: Option<Request>,
}

/// A request, compared with the current list.
#[derive(Clone)]
struct Request {
    /// Its edits, as JavaScript has them.
    edits: Arc<[Edit]>,
    /// Length of the prefix that the list still shares with it.
    kept: usize,
    /// Its other messages: they may come back when a call with another list is withdrawn.
    gone: Vec<Arc<Message>>,
}

#[napi]
impl Conversation {
    /// A conversation without messages. `options` are JSON (`options.rs`); `lessons` are shared with others of its hook.
    #[napi(constructor)]
    pub fn new(options: String, lessons: &Lessons) -> Result<Self> {
        guarded(|| {
            let options = Options::read(&options)?;
            let state = State::new(options.schedule);
            let (lessons, state) = (lessons.0.clone(), Arc::new(Mutex::new(state)));
            Ok(Self { options: Arc::new(options), lessons, state })
        })
    }

    /// Returns a copy that continues on its own.
    #[napi]
    pub fn fork(&self) -> Result<Self> {
        guarded(|| {
            let state = self.state.lock().clone();
            let (options, lessons) = (self.options.clone(), self.lessons.clone());
            Ok(Self { options, lessons, state: Arc::new(Mutex::new(state)) })
        })
    }

    /// Reads new messages of the next call ahead on a worker thread, from the new message at `from` on.
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

    /// Changes the list and plans the next call on a worker thread. After a rejection no call may follow. The first `kept`
    /// messages stay; `positions` are the former positions of the others, -1 for new ones. `rows` are the new ones not read
    /// ahead. `terms` are the model settings of this call, as JSON (`options.rs`).
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
                state.change(kept as usize, &positions, read)?;
                let conversation = Arc::make_mut(&mut state.conversation);
                let decision = conversation.decide(&terms, &mut lessons.lock());
                let (before, edits) = (state.sent.take(), edits_of(&decision.plan));
                let (known, first_changed) =
                    before.as_ref().map_or_else(Default::default, |before| before.compare(&edits));
                let transcript = state.conversation.transcript();
                let answer = answer(&decision, &edits, transcript, known, first_changed);
                let kept = transcript.messages().len();
                state.sent = Some(Request { edits: edits.into(), kept, gone: Vec::new() });
                state.before = before;
                Ok(answer)
            }))
        })
    }

    /// Withdraws the last plan: it is not sent.
    #[napi]
    pub fn withdraw(&self) -> Result<()> {
        guarded(|| {
            let mut state = self.state.lock();
            state.sent = state.before.take();
            Arc::make_mut(&mut state.conversation).withdraw(&mut self.lessons.lock());
            Ok(())
        })
    }

    /// Frees its memory on a worker thread: JavaScript's collector does not see it. No call may follow.
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

    /// Explains the last plan, as JSON: `forms`, by message the form of the call that a result answers, empty for none, and
    /// `kept`, the results that stay whole, each with the file or tool whose newest state it shows.
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

    /// Tokens of each message, as measured for the last plan.
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
    /// The state before any call.
    fn new(schedule: Mode) -> Self {
        let conversation = Arc::new(decide::Conversation::new(schedule));
        Self { conversation, ahead: Vec::new(), sent: None, before: None }
    }

    /// Changes the list. `read` are the last of its new messages.
    fn change(&mut self, kept: usize, positions: &[i32], read: Vec<Arc<Message>>) -> Result<()> {
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
            sent.follow(known, kept, &rest);
        }
        conversation.go_on(kept, rest);
        Ok(())
    }
}

impl Request {
    /// Compares with a new list: the first `kept` messages of `known`, then `rest`.
    fn follow(&mut self, known: &[Arc<Message>], kept: usize, rest: &[Arc<Message>]) {
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

    /// Its edits that the next request may repeat, and the first message that the next one sends in another form.
    fn compare(&self, next: &[Edit]) -> (&[Edit], Option<usize>) {
        let edited = first_difference(&self.edits, next).filter(|&at| at < self.kept);
        let shared = self.edits.partition_point(|edit| edit.index < self.kept);
        // A change after the last answer affects only the tail of one request.
        let is_rewritten = self.gone.iter().any(|message| message.assistant().is_some());
        (self.edits.get(..shared).unwrap_or_default(), edited.or(is_rewritten.then_some(self.kept)))
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

/// The facts of a batch. Content measured before under equal rules is looked up.
fn facts_of(batch: &Batch, rules: &Rules) -> Result<Vec<Arc<Message>>> {
    let hash = content_cache::hash_of(rules);
    Ok(batch.messages()?.iter().map(|message| content_cache::facts_of(message, rules, hash)).collect())
}
