//! Plays the calls of a transcript: what both schedules do alike with a message, and with an answer.
//!
//! A schedule is a fold: messages go in one by one, and before each answer stands a call that was decided then.

use super::calibration::Sent;
use super::economy::Policy;
use super::lessons::Lessons;
use super::reports::{Reports, Request};
use super::verdict::Arithmetic;
use crate::context::facts::transcript::{Message, Transcript};
use crate::context::request::account::Account;
use crate::context::request::layers::Limits;
use crate::context::request::plan::Plan;
use crate::tokens::estimate::Size;

/// A schedule and its memory.
pub trait Schedule {
    /// The account of the messages taken in, and the lessons of their reports.
    fn parts(&mut self) -> (&mut Account, &mut Reports);

    /// The limits that hold for the next call.
    fn limits(&self) -> &Limits;

    /// Decides about the call that `message` answers, as was decided when it was made; not if it was made with another list.
    fn request(&mut self, index: usize, message: &Message, is_elsewhere: bool) -> Request;

    /// Takes in the next message.
    fn enter(&mut self, index: usize, message: &Message, transcript: &Transcript);

    /// The plan of the call that follows what was taken in, the size of the smallest request that could be sent, and why.
    fn plan(&mut self) -> (Plan, Size, Option<Arithmetic>);

    /// Sets what the host says of its model now.
    fn set_terms(&mut self, transcript: &Transcript, policy: Policy, limits: &Limits);

    /// Forgets the call that was planned last.
    fn withdraw(&mut self);

    /// Takes in what is new in `transcript`, and tells of each call. `lessons` say which answers came to calls with another list.
    fn play(&mut self, transcript: &Transcript, lessons: &mut Lessons, observe: &mut dyn FnMut(&Request)) {
        let (account, reports) = self.parts();
        reports.watch.set_times(transcript.cache_times());
        let known = account.len();
        let (is_met, mut is_caught_up) = (known == 0, false);
        for (index, message) in transcript.messages().iter().enumerate().skip(known) {
            if let Some(assistant) = message.assistant() {
                let raw = self.parts().0.raw();
                let sent = lessons.sent_before(transcript, index, raw);
                // A list that was met as it stands is taken for the one that was sent.
                let elsewhere = sent.filter(|sent| !is_met || sent.raw != raw);
                let mut request = self.request(index, message, elsewhere.is_some());
                let (account, reports) = self.parts();
                if request.is_lived {
                    lessons.answered(message, Sent { raw, edited: request.sent });
                } else if let Some(sent) = elsewhere {
                    lessons.answered(message, sent);
                    request.elsewhere = elsewhere;
                }
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
