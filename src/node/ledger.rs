//! The ledger for JavaScript: a book that takes in list after list, and its report.

use std::sync::Arc;

use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::blocking::{Promise, blocking};
use super::failure::Result;
use super::guarded::guarded;
use super::sessions::parsed;
use crate::context::ledger::{Book, Missed, Move, Quantiles, Report};
use crate::context::schedule::tariff::Tariff;

/// The calls of one conversation.
#[napi]
#[derive(Default)]
pub struct LedgerBook(pub(super) Arc<Mutex<Book>>);

#[napi]
impl LedgerBook {
    /// A book without calls.
    #[napi(constructor)]
    pub fn new() -> Result<Self> {
        guarded(|| Ok(Self::default()))
    }

    /// The report of all calls, as JSON. `prices` is the JSON of a tariff.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn report(&self, prices: Option<String>) -> Result<Promise<String>> {
        guarded(|| {
            let book = self.0.clone();
            let tariff = prices.map(|prices| parsed::<Tariff>(&prices)).transpose()?;
            Ok(blocking(None, move |_| Ok(json_of(&book.lock().report(tariff)).to_string())))
        })
    }
}

/// As the package's `Ledger` has it.
fn json_of(report: &Report) -> Value {
    let miss = |of: &Missed| {
        let Missed { call, index, cause, tokens, dollars } = of;
        json!({ "call": call + 1, "index": index, "cause": cause.as_str(), "tokens": tokens.round(), "dollars": dollars })
    };
    let moved = |of: &Move| {
        let reason = of.verdict.map_or("recomputed at every call", |verdict| verdict.as_str());
        json!({
            "call": of.call + 1, "index": of.index, "reason": reason, "tokens": of.tokens.round(),
            "rewritten": of.rewritten.round(), "cost": of.cost, "saved": of.saved,
        })
    };
    let errors = |of: Quantiles| json!({ "count": of.count, "median": of.median, "p95": of.p95 });
    let Report { prompt, cache_read, cache_write, output, billed, estimated, saved, .. } = *report;
    json!({
        "calls": report.calls, "unreportedCalls": report.unreported, "unpricedCalls": report.unpriced,
        "editedCalls": report.edited, "callsOverWindow": report.over_window,
        "tokens": { "prompt": prompt, "cacheRead": cache_read, "cacheWrite": cache_write, "output": output },
        "hitRate": if prompt > 0.0 { cache_read / prompt } else { 0.0 },
        "dollars": {
            "billed": billed, "estimated": estimated, "withoutHook": billed + saved, "saved": saved,
        },
        "misses": report.misses.iter().map(miss).collect::<Vec<_>>(),
        "moves": report.moves.iter().map(moved).collect::<Vec<_>>(),
        "predicted": { "prompt": errors(report.prompt_error), "cacheRead": errors(report.read_error) },
    })
}
