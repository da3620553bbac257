//! The report of a book: sums, misses, and how well the calls were predicted.

use super::Call;
use super::moves::{Move, moves};
use super::presence::presence;
use crate::context::schedule::cache_watch::{self, Cause};
use crate::context::schedule::tariff::{MAX_PRICE, Tariff};
use crate::context::transcript::Usage;

/// Reports before an estimate can be held to anything.
const REPORTS_TO_TEACH: usize = 2;

/// The bill of a conversation. Dollars, and the provider's tokens as reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// All calls, failed ones too.
    pub calls: usize,
    /// Those of them that nothing usable was reported of.
    pub unreported: usize,
    /// Those that were reported, but have no price.
    pub unpriced: usize,
    /// Those during which the hook was at work and something of the transcript was left out.
    pub edited: usize,
    /// Those that would not have fitted the window unedited.
    pub over_window: usize,
    /// Tokens of all prompts.
    pub prompt: f64,
    /// Those of them read from the cache.
    pub cache_read: f64,
    /// Those of them written to it.
    pub cache_write: f64,
    /// Tokens of all answers.
    pub output: f64,
    /// Paid.
    pub billed: f64,
    /// The part of it that no bill tells and that was reckoned from prices.
    pub estimated: f64,
    /// Paid more without the hook; below zero where it cost more than it brought.
    pub saved: f64,
    /// Every miss, oldest first.
    pub misses: Vec<Missed>,
    /// Every move, oldest first.
    pub moves: Vec<Move>,
    /// Errors of the estimated prompts, as shares of what was reported.
    pub prompt_error: Quantiles,
    /// Errors of the expected cache reads where nothing was missed, as shares of the larger of both.
    pub read_error: Quantiles,
}

/// A miss, and the call that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missed {
    /// The call, counted from 0.
    pub call: usize,
    /// Position of its answer in its list.
    pub index: usize,
    /// Why.
    pub cause: Cause,
    /// Tokens that could have been read, and were not.
    pub tokens: f64,
    /// Their cost beyond being read; `None` without a price.
    pub dollars: Option<f64>,
}

/// Of a list of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// Their number.
    pub count: usize,
    /// Half are at most this.
    pub median: f64,
    /// 95 of 100 are at most this.
    pub p95: f64,
}

impl Quantiles {
    fn of(mut errors: Vec<f64>) -> Self {
        errors.sort_unstable_by(f64::total_cmp);
        let count = errors.len();
        let at = |percent: usize| {
            errors.get((count * percent / 100).min(count.saturating_sub(1))).copied().unwrap_or(0.0)
        };
        Self { count, median: at(50), p95: at(95) }
    }
}

/// `tariffs` are those of the sources.
pub(super) fn report(calls: &[Call], tariffs: &[Option<Tariff>]) -> Report {
    let presence = presence(calls);
    let tariff_of = |call: &Call| call.tariff(tariffs);
    let mut report = Report { calls: calls.len(), ..Report::default() };
    let mut causes = Vec::with_capacity(calls.len());
    for (at, (call, &is_present)) in calls.iter().zip(&presence).enumerate() {
        let found = call.played.sight.miss.map(|miss| Missed {
            call: at,
            index: call.played.index,
            cause: if is_present { miss.cause } else { miss.cause_unedited },
            tokens: miss.tokens,
            dollars: tariff_of(call).map(|tariff| miss.tokens * cache_watch::extra(tariff, &call.usage)),
        });
        causes.push(found.map(|miss| miss.cause));
        report.misses.extend(found);
    }
    let (moves, saved) = moves(calls, &presence, &causes, tariffs);
    report.moves = moves;
    for ((call, &is_present), saved) in calls.iter().zip(&presence).zip(saved) {
        report.add(call, is_present, saved, tariff_of(call));
    }
    (report.prompt_error, report.read_error) = errors(calls, &presence);
    report
}

impl Report {
    fn add(&mut self, call: &Call, is_present: bool, saved: f64, tariff: Option<Tariff>) {
        let Some(prompt) = call.played.sight.prompt else {
            self.unreported += 1;
            return;
        };
        self.prompt += prompt;
        self.cache_read += call.played.sight.read;
        self.cache_write += call.usage.cache_write.unwrap_or(0.0);
        self.output += call.usage.output.unwrap_or(0.0);
        if is_present && call.is_comparable() {
            let taken = call.taken();
            self.edited += usize::from(taken > 0.0);
            self.over_window += usize::from(prompt + taken > call.played.request.context_window);
        }
        let reckoned = tariff.map(|tariff| reckoned(&call.usage, prompt, tariff));
        match (billed(&call.usage, prompt), reckoned) {
            (Some(dollars), _) => self.billed += dollars,
            (None, Some(dollars)) => {
                self.billed += dollars;
                self.estimated += dollars;
            }
            (None, None) => self.unpriced += 1,
        }
        self.saved += saved;
    }
}

/// The cost of a call as the transcript says it; nothing and absurd sums are no bills.
fn billed(usage: &Usage, prompt: f64) -> Option<f64> {
    let most = MAX_PRICE * (prompt + usage.output.unwrap_or(0.0));
    let is_believed = |dollars: &f64| *dollars > 0.0 && *dollars <= most;
    let parts = [usage.cost_input, usage.cost_cache_read, usage.cost_cache_write, usage.cost_output];
    let sum: f64 = parts.into_iter().flatten().sum();
    usage.cost_total.filter(is_believed).or(Some(sum).filter(is_believed))
}

/// The cost of its tokens by price.
fn reckoned(usage: &Usage, prompt: f64, tariff: Tariff) -> f64 {
    let read = usage.cache_read.unwrap_or(0.0).min(prompt);
    let written = usage.cache_write.unwrap_or(0.0).min(prompt - read);
    let output = usage.output.unwrap_or(0.0);
    (prompt - read - written) * tariff.input
        + read * tariff.read
        + written * tariff.write
        + output * tariff.output
}

fn errors(calls: &[Call], presence: &[bool]) -> (Quantiles, Quantiles) {
    let (mut prompts, mut reads) = (Vec::new(), Vec::new());
    let mut reports = 0;
    for (call, &is_present) in calls.iter().zip(presence) {
        let sight = &call.played.sight;
        let Some(prompt) = sight.prompt.filter(|_| !sight.is_stale) else { continue };
        reports = if call.nth == 0 { 0 } else { reports + 1 };
        let predicted = call.played.request.estimate.tokens(call.size(is_present));
        if reports >= REPORTS_TO_TEACH {
            prompts.push((predicted - prompt).abs() / prompt);
        }
        let expected = if is_present { sight.expected } else { sight.expected_unedited };
        // A miss stands in a list of its own; here it would hide how well the other reads were foreseen.
        if let Some(expected) = expected.filter(|_| sight.miss.is_none()) {
            reads.push((expected - sight.read).abs() / expected.max(sight.read).max(1.0));
        }
    }
    (Quantiles::of(prompts), Quantiles::of(reads))
}
