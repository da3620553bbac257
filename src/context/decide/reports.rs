//! Reads from answers, under both schedules, how the provider counted and what its cache served.

use super::cache_watch::CacheWatch;
use super::calibration::{Calibration, SentSizes};
use crate::context::facts::transcript::{Body, Message, Transcript};
use crate::context::request::account::Account;

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest {
    /// The sizes sent.
    pub sent: SentSizes,
    /// The oldest message sent in another form than before.
    pub touched: Option<usize>,
    /// True if this process planned it, with this list or another.
    pub is_ours: bool,
}

/// Everything learned from answers: token counts and cache behaviour.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// How models count.
    pub calibration: Calibration,
    /// The state of their caches.
    pub watch: CacheWatch,
    /// Timestamp of the newest message that is neither an answer nor a tool result, in ms.
    newest_input_ms: Option<f64>,
    /// Timestamp of the newest summary, in ms.
    summary_ms: Option<f64>,
    /// True if the message before the next one is a summary.
    is_behind_summary: bool,
    /// True if any answer so far came with usage.
    pub(super) is_reported: bool,
    /// True if the host rewrote the list, or a summary in it shows that it did before.
    pub(super) is_rewritten: bool,
}

impl Reports {
    /// Nothing learned yet. `calibrates` learns from the provider's counts.
    pub fn new(calibrates: bool) -> Self {
        Self { calibration: Calibration::new(calibrates), ..Self::default() }
    }

    /// Enters a message before the next call.
    pub fn pass(&mut self, message: &Message) {
        self.is_reported |= message.reported_tokens().is_some();
        let is_input = !matches!(message.body, Body::Assistant(_) | Body::ToolResult(_));
        if is_input && message.timestamp_ms > self.newest_input_ms {
            self.newest_input_ms = message.timestamp_ms;
        }
        self.is_behind_summary = matches!(message.body, Body::Summary);
        if self.is_behind_summary {
            (self.summary_ms, self.is_rewritten) = (message.timestamp_ms, true);
        }
    }

    /// Returns `true` if an answer of this time, to a call not planned here, is older than the summary. An answer right after a
    /// summary always is, because a host sends a message first.
    pub fn is_older_than_summary(&self, time_ms: Option<f64>) -> bool {
        self.is_behind_summary || is_older(time_ms, self.summary_ms)
    }

    /// Enters the answer at `index`, which is not in the account yet.
    pub fn enter(&mut self, account: &Account, index: usize, message: &Message, request: AnsweredRequest) {
        let Some(assistant) = message.assistant() else { return };
        let AnsweredRequest { sent, touched, is_ours } = request;
        let is_stale = self.is_behind_summary || is_older(message.timestamp_ms, self.newest_input_ms);
        let reached = message.is_sent || assistant.usage.prompt_tokens().is_some();
        self.watch.enter(index, assistant, newest_ms(account), reached, touched);
        // Without a rewrite, a recording may have been made without the hook, so both sizes stay possible. After one, this
        // process knows the size sent.
        let raw = if self.is_rewritten && is_ours { sent.edited } else { sent.raw };
        let sent = SentSizes { raw, ..sent };
        if message.is_sent || assistant.usage.refused.is_some() {
            self.calibration.observe(index, assistant, sent, is_stale && !is_ours, is_ours);
        }
    }

    /// Enters late reports.
    pub fn catch_up(&mut self, account: &mut Account, transcript: &Transcript) {
        let late = self.calibration.catch_up(transcript.messages());
        self.is_reported |= !late.is_empty();
        account.renew(transcript, &late);
    }

    /// Continues with a rewritten list. `is_tail`: only the tail of one request changed.
    pub fn after_rewrite(&mut self, is_tail: bool) {
        (self.newest_input_ms, self.summary_ms, self.is_rewritten) = (None, None, true);
        if !is_tail {
            self.calibration.rewrite();
            self.watch.rewrite();
        }
    }
}

fn is_older(time_ms: Option<f64>, than: Option<f64>) -> bool {
    time_ms.zip(than).is_some_and(|(time, than)| time < than)
}

/// Timestamp of the newest message, in ms.
pub fn newest_ms(account: &Account) -> Option<f64> {
    account.rows().last().and_then(|row| row.message.timestamp_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::measure::{Raw, RawRole, outline};
    use crate::context::facts::transcript::Usage;
    use crate::tokens::estimate::Size;

    fn message(role: RawRole<'_>, timestamp_ms: f64) -> Message {
        outline(&Raw { timestamp_ms: Some(timestamp_ms), ..Raw::new(role, Vec::new()) })
    }

    /// Enters an answer of this time with a report of 50 000 tokens. Returns `true` if the report taught anything.
    fn takes_in(reports: &mut Reports, timestamp_ms: f64, is_ours: bool) -> bool {
        let usage = Usage { input: Some(50_000.0), ..Usage::default() };
        let role = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
        let (answer, estimate) = (message(role, timestamp_ms), reports.calibration.estimate());
        let edited = Size { cl100k: 30_000, messages: 1, ..Size::default() };
        let sent = SentSizes { edited, ..SentSizes::default() };
        let request = AnsweredRequest { sent, touched: None, is_ours };
        reports.enter(&Account::default(), 3, &answer, request);
        reports.calibration.estimate() != estimate
    }

    #[test]
    fn a_report_from_before_the_newest_input_is_of_another_list() {
        let after_input = || {
            let mut reports = Reports::new(true);
            reports.pass(&message(RawRole::User, 5_000.0));
            reports.pass(&message(RawRole::User, 4_000.0));
            reports
        };
        assert!(!takes_in(&mut after_input(), 4_999.0, false));
        assert!(takes_in(&mut after_input(), 5_000.0, false), "at the same time");
        assert!(
            takes_in(&mut after_input(), 4_999.0, true),
            "it knows what it sent, whatever the clock of inputs says"
        );
        let mut rewritten = after_input();
        rewritten.after_rewrite(false);
        rewritten.pass(&message(RawRole::User, 5_000.0));
        assert!(takes_in(&mut rewritten, 4_999.0, true), "it knows what it sent");
        assert!(takes_in(&mut Reports::new(true), 0.0, false), "no input at all");
    }

    #[test]
    fn only_a_summary_makes_a_call_older_than_a_summary() {
        let mut reports = Reports::new(true);
        reports.pass(&message(RawRole::User, 9_000.0));
        assert!(!reports.is_older_than_summary(Some(1.0)));
        reports.pass(&message(RawRole::Summary, 5_000.0));
        assert!(reports.is_older_than_summary(None), "right behind it");
        assert!(!takes_in(&mut reports, 6_000.0, false) && takes_in(&mut reports, 6_000.0, true));
        reports.pass(&message(RawRole::User, 9_000.0));
        assert!(reports.is_older_than_summary(Some(4_999.0)));
        assert!(!reports.is_older_than_summary(Some(5_000.0)) && !reports.is_older_than_summary(None));
        reports.after_rewrite(false);
        assert!(!reports.is_older_than_summary(Some(1.0)));
    }
}
