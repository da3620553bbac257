//! Plays the calls of a transcript: what both schedules do alike with a message, and with an answer.
//!
//! A schedule is a fold: messages go in one by one, and before each answer stands a call that was decided then.

use super::economy::Policy;
use super::reports::{Reports, Request, newest_ms};
use super::verdict::Arithmetic;
use crate::context::account::Account;
use crate::context::layers::Limits;
use crate::context::plan::Plan;
use crate::context::transcript::{Message, Transcript};
use crate::tokens::estimate::Size;

/// A schedule and its memory.
pub trait Schedule {
    /// The account of the messages taken in, and the lessons of their reports.
    fn parts(&mut self) -> (&mut Account, &mut Reports);

    /// The limits that hold for the next call.
    fn limits(&self) -> &Limits;

    /// Decides about the call that `message` answers, as was decided when it was made.
    fn request(&mut self, index: usize, message: &Message) -> Request;

    /// Takes in the next message.
    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript);

    /// The plan of the call that follows what was taken in, the size of the smallest request that could be sent, and why.
    fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>);

    /// Sets what the host says of its model now.
    fn set_terms(&mut self, transcript: &Transcript, policy: Policy, limits: &Limits);

    /// Goes on with a list that its host rewrote from `at` on. The calls answered before `known` were taken in already.
    fn rewrite(&mut self, transcript: &Transcript, at: usize, known: usize);

    /// Takes in what is new in `transcript` before `end`, and tells of each call.
    fn play(&mut self, transcript: &Transcript, end: usize, observe: &mut dyn FnMut(&Request)) {
        let (account, reports) = self.parts();
        reports.watch.set_times(transcript.cache_times());
        let known = account.len();
        let mut is_caught_up = false;
        for (index, message) in transcript.messages().iter().enumerate().take(end).skip(known) {
            if let Some(assistant) = message.assistant() {
                let request = self.request(index, message);
                let (account, reports) = self.parts();
                // A late report was not known yet when this call was planned.
                if !std::mem::replace(&mut is_caught_up, true) {
                    reports.catch_up(account, transcript);
                }
                reports.enter(account, index, (message, assistant), request);
                observe(&request);
            }
            self.enter(index, message, transcript);
        }
        if !is_caught_up {
            let (account, reports) = self.parts();
            reports.catch_up(account, transcript);
        }
    }
}

/// The first answer of a rewritten list that was not known, if it can be to the call that `account` stood at: a message that
/// is older does not answer it.
pub fn answer_to_last(account: &Account, transcript: &Transcript, known: usize) -> Option<usize> {
    let is_answer =
        |&index: &usize| transcript.get(index).is_some_and(|message| message.assistant().is_some());
    let index = (known..transcript.len()).find(is_answer)?;
    let answered_ms = transcript.get(index)?.timestamp_ms;
    (answered_ms.is_none() || answered_ms >= newest_ms(account)).then_some(index)
}
