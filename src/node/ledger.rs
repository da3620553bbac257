//! The ledger for JavaScript: a book that takes in list after list, and its report.

use std::sync::Arc;

use napi_derive::napi;
use parking_lot::Mutex;

use super::blocking::{CancelFlag, Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use crate::context::ledger::{Book, Missed, Move, Quantiles, Report};
use crate::context::schedule::tariff::Tariff;

const PER_MILLION: f64 = 1e-6;

/// The calls of one conversation.
#[napi]
#[derive(Default)]
pub struct LedgerBook(pub(super) Arc<Mutex<Book>>);

/// The terms that the host names for its model.
#[napi(object)]
pub struct LedgerTerms {
    /// Its window.
    pub context_window: f64,
    /// Tokens that are sent beside the messages.
    pub overhead_tokens: Option<f64>,
    /// Most tokens a prompt should have.
    pub max_prompt_tokens: Option<f64>,
    /// When the host kept the cache warm, in ms.
    pub warmed_at: Option<Vec<f64>>,
    /// When it gave it up, in ms.
    pub cold_at: Option<Vec<f64>>,
}

/// Dollars for a million tokens.
#[napi(object)]
pub struct LedgerPrices {
    /// Neither read from the cache nor written to it.
    pub input: f64,
    /// Read from the cache.
    pub read: f64,
    /// Written to it.
    pub write: f64,
    /// Of the answer.
    pub output: f64,
}

/// The bill of a conversation: tokens as reported, dollars.
#[napi(object)]
pub struct LedgerReport {
    /// All calls.
    pub calls: f64,
    /// Without a usable report.
    pub unreported: f64,
    /// Without a price.
    pub unpriced: f64,
    /// From which the hook had left something out.
    pub edited: f64,
    /// That would not have fitted the window unedited.
    pub over_window: f64,
    /// Tokens of all prompts.
    pub prompt: f64,
    /// Read from the cache.
    pub cache_read: f64,
    /// Written to it.
    pub cache_write: f64,
    /// Of all answers.
    pub output: f64,
    /// Dollars paid.
    pub billed: f64,
    /// The part of them that was reckoned from prices.
    pub estimated: f64,
    /// Dollars that would have been paid more without the hook.
    pub saved: f64,
    /// Every miss.
    pub misses: Vec<LedgerMiss>,
    /// Every move.
    pub moves: Vec<LedgerMove>,
    /// Errors of the estimated prompts.
    pub prompt_error: LedgerErrors,
    /// Errors of the expected cache reads.
    pub read_error: LedgerErrors,
}

/// A call that read less from the cache than it could have.
#[napi(object)]
pub struct LedgerMiss {
    /// The call, from 1.
    pub call: f64,
    /// Position of its answer.
    pub index: f64,
    /// Why.
    pub cause: String,
    /// Tokens that were not read.
    pub tokens: f64,
    /// Its cost; nothing without a price.
    pub dollars: Option<f64>,
}

/// A call at which the hook changed what it had sent before.
#[napi(object)]
pub struct LedgerMove {
    /// The call, from 1.
    pub call: f64,
    /// Position of its answer.
    pub index: f64,
    /// Why it moved.
    pub reason: String,
    /// Tokens it took out.
    pub tokens: f64,
    /// Tokens that were written anew.
    pub rewritten: f64,
    /// Dollars that took.
    pub cost: f64,
    /// Dollars it brought since.
    pub saved: f64,
}

/// Shares of what was reported.
#[napi(object)]
pub struct LedgerErrors {
    /// Their number.
    pub count: f64,
    /// Half are at most this.
    pub median: f64,
    /// 95 of 100 are.
    pub p95: f64,
}

#[napi]
impl LedgerBook {
    /// A book without calls.
    #[napi(constructor)]
    pub fn new() -> Result<Self> {
        guarded(|| Ok(Self::default()))
    }

    /// The report of all calls.
    #[napi(ts_return_type = "Promise<LedgerReport>")]
    pub fn report(
        &self,
        prices: Option<LedgerPrices>,
        flag: Option<&CancelFlag>,
    ) -> Result<Promise<LedgerReport>> {
        guarded(|| {
            let book = self.0.clone();
            let tariff = prices.map(|of| Tariff {
                input: of.input * PER_MILLION,
                read: of.read * PER_MILLION,
                write: of.write * PER_MILLION,
                output: of.output * PER_MILLION,
                ..Tariff::default()
            });
            Ok(blocking(flag, move |_| Ok(book.lock().report(tariff).into())))
        })
    }
}

impl From<Report> for LedgerReport {
    fn from(report: Report) -> Self {
        Self {
            calls: report.calls as f64,
            unreported: report.unreported as f64,
            unpriced: report.unpriced as f64,
            edited: report.edited as f64,
            over_window: report.over_window as f64,
            prompt: report.prompt,
            cache_read: report.cache_read,
            cache_write: report.cache_write,
            output: report.output,
            billed: report.billed,
            estimated: report.estimated,
            saved: report.saved,
            misses: report.misses.into_iter().map(Into::into).collect(),
            moves: report.moves.into_iter().map(Into::into).collect(),
            prompt_error: report.prompt_error.into(),
            read_error: report.read_error.into(),
        }
    }
}

impl From<Missed> for LedgerMiss {
    fn from(miss: Missed) -> Self {
        Self {
            call: miss.call as f64 + 1.0,
            index: miss.index as f64,
            cause: miss.cause.as_str().into(),
            tokens: miss.tokens.round(),
            dollars: miss.dollars,
        }
    }
}

impl From<Move> for LedgerMove {
    fn from(of: Move) -> Self {
        Self {
            call: of.call as f64 + 1.0,
            index: of.index as f64,
            reason: of.verdict.map_or("recomputed at every call", |verdict| verdict.as_str()).into(),
            tokens: of.tokens.round(),
            rewritten: of.rewritten.round(),
            cost: of.cost,
            saved: of.saved,
        }
    }
}

impl From<Quantiles> for LedgerErrors {
    fn from(of: Quantiles) -> Self {
        Self { count: of.count as f64, median: of.median, p95: of.p95 }
    }
}
