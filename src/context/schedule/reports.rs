//! The part of a call that both schedules take in alike when its answer comes: what the provider counted, and what its cache
//! gave.

use super::cache_watch::{Answered, CacheWatch, Sight};
use super::calibration::{Calibration, Call, Sent};
use super::verdict::Verdict;
use crate::context::account::Account;
use crate::context::transcript::{Body, Message, Transcript};
use crate::tokens::estimate::{Estimate, Size};

/// A call of the past as a schedule saw it when it took in the answer.
#[derive(Clone, Copy, Debug)]
pub struct Played {
    /// Position of the answer.
    pub index: usize,
    /// The transcript as it was.
    pub raw: Size,
    /// The sent part of it.
    pub sent: Size,
    /// The estimate of its prompt.
    pub estimate: Estimate,
    /// The decision of the sticky schedule; `None` where the layers were recomputed.
    pub verdict: Option<Verdict>,
    /// True if this process planned it.
    pub is_lived: bool,
    /// The cache as this call showed it.
    pub sight: Sight,
}

/// The request that an answer came to.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The sent part of the transcript.
    pub sent: Size,
    /// The estimate of its prompt.
    pub estimate: Estimate,
    /// The decision of the sticky schedule; `None` where the layers were recomputed.
    pub verdict: Option<Verdict>,
    /// The oldest message that was sent otherwise than before, with the tokens before it.
    pub touched: Option<(usize, f64)>,
    /// True if this process planned it.
    pub is_lived: bool,
    /// Tokens of the window it was planned for.
    pub context_window: f64,
    /// Seconds a cache entry lives, where the host sets them.
    pub fixed_ttl: Option<f64>,
}

/// The lessons of the reports so far.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// How the provider counts.
    pub calibration: Calibration,
    /// Its cache, as far as it is known.
    pub watch: CacheWatch,
    /// When the newest message was made that is neither an answer nor a tool's, in ms.
    newest_input_ms: Option<f64>,
    /// The same of the newest summary.
    summary_ms: Option<f64>,
    /// True if the host rewrote the list.
    is_rewritten: bool,
}

impl Reports {
    /// No lessons yet; `calibrates` where the provider's counts are learned from.
    #[must_use]
    pub fn new(calibrates: bool) -> Self {
        Self { calibration: Calibration::new(calibrates), ..Self::default() }
    }

    /// Takes in a message that stands before the next call.
    pub fn pass(&mut self, message: &Message) {
        let is_input = !matches!(message.body, Body::Assistant(_) | Body::ToolResult(_));
        if is_input && message.timestamp_ms > self.newest_input_ms {
            self.newest_input_ms = message.timestamp_ms;
        }
        if matches!(message.body, Body::Summary) {
            self.summary_ms = message.timestamp_ms;
        }
    }

    /// True if an answer of that time was to a call that did not have the summary before it.
    pub fn is_older_than_summary(&self, time_ms: Option<f64>) -> bool {
        is_older(time_ms, self.summary_ms)
    }

    /// Takes in the answer at `index`, which is not in the account yet.
    pub fn enter(
        &mut self,
        account: &Account,
        index: usize,
        message: &Message,
        request: Request,
    ) -> Option<Played> {
        let assistant = message.assistant()?;
        let Request { sent, estimate, verdict, touched, is_lived, .. } = request;
        let raw = account.raw();
        let is_stale = is_older(message.timestamp_ms, self.newest_input_ms);
        let sight = self.watch.enter(Answered {
            index,
            source: &assistant.source,
            usage: &assistant.usage,
            prompt: self.calibration.prompt_of(&assistant.usage),
            time_ms: newest_ms(account),
            is_stale,
            reached: message.is_sent || assistant.usage.prompt_tokens().is_some(),
            touched,
            estimated: (estimate.tokens(sent), estimate.tokens(raw)),
            base: estimate.base,
            fixed_ttl: request.fixed_ttl,
        });
        if message.is_sent || assistant.usage.refused.is_some() {
            self.calibration.observe(Call {
                index,
                assistant,
                sent: Sent { raw, edited: sent },
                // Of a list that was rewritten this process knows what it planned, whatever the times say.
                is_stale: is_stale && !(is_lived && self.is_rewritten),
                context_window: request.context_window,
            });
        }
        Some(Played { index, raw, sent, estimate, verdict, is_lived, sight })
    }

    /// Takes in what was reported late.
    pub fn catch_up(&mut self, account: &mut Account, transcript: &Transcript) {
        let late = self.calibration.catch_up(transcript.messages());
        account.renew(transcript, &late);
    }

    /// Goes on with a list that its host rewrote. The calls answered before `known` were taken in already.
    pub fn goes_on(&mut self, known: usize) {
        (self.newest_input_ms, self.summary_ms, self.is_rewritten) = (None, None, true);
        self.calibration.rewrite();
        self.watch.goes_on(known);
    }
}

fn is_older(time_ms: Option<f64>, than: Option<f64>) -> bool {
    time_ms.zip(than).is_some_and(|(time, than)| time < than)
}

/// When the newest message was made, in ms.
pub fn newest_ms(account: &Account) -> Option<f64> {
    account.rows().last().and_then(|row| row.message.timestamp_ms)
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
