//! Costs of each move of the hook, and its savings since.
//!
//! A move takes tokens out of this request and of every later one: that is what it brings, at the price those would have
//! had there (read where the cache held, written where it did not). It makes the provider write anew what stands after
//! the first change, which would have been read: that is what it costs. Both together are just the difference to the bill
//! without the hook.

use super::Call;
use crate::context::schedule::cache_watch::{self, Cause};
use crate::context::schedule::reports::Played;
use crate::context::schedule::tariff::Tariff;
use crate::context::schedule::verdict::Verdict;
use crate::tokens::estimate::Size;

/// Fewer tokens than this are no move.
const LEAST_TOKENS: f64 = 1.0;

/// A call at which the hook changed what it had sent before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The call, counted from 0.
    pub call: usize,
    /// Position of its answer in its list.
    pub index: usize,
    /// The verdict that the sticky schedule went by; `None` where the layers were recomputed.
    pub verdict: Option<Verdict>,
    /// Tokens it took out of the request.
    pub tokens: f64,
    /// Tokens that had to be written anew for it.
    pub rewritten: f64,
    /// Its cost in dollars.
    pub cost: f64,
    /// Dollars that the tokens it took out would have cost from this call on.
    pub saved: f64,
}

/// cl100k tokens and messages, with a sign.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Taken {
    cl100k: f64,
    messages: f64,
}

impl Taken {
    fn of(Size { cl100k: raw, messages: all }: Size, sent: Size) -> Self {
        Self { cl100k: raw as f64 - sent.cl100k as f64, messages: all as f64 - sent.messages as f64 }
    }

    fn minus(self, other: Self) -> Self {
        Self { cl100k: self.cl100k - other.cl100k, messages: self.messages - other.messages }
    }

    /// In what is given for a cl100k token and for a message.
    fn at(self, (token, message): (f64, f64)) -> f64 {
        self.cl100k * token + self.messages * message
    }
}

/// The moves, and the dollars that the hook saved at each call beyond what it cost there; `causes` are those of the misses.
pub(super) fn moves(
    calls: &[Call],
    presence: &[bool],
    causes: &[Option<Cause>],
    tariffs: &[Option<Tariff>],
) -> (Vec<Move>, Vec<f64>) {
    let mut moves: Vec<(Move, Taken)> = Vec::new();
    let mut saved = Vec::with_capacity(calls.len());
    let mut rates = Vec::with_capacity(calls.len());
    let mut last = Taken::default();
    let mut last_of: Vec<Taken> = vec![Taken::default(); tariffs.len()];
    let mut verdict = None;
    for (at, ((call, &is_present), &cause)) in calls.iter().zip(presence).zip(causes).enumerate() {
        let Played { index, raw, request, sight } = call.played;
        if request.verdict.is_none_or(Verdict::moves) {
            verdict = request.verdict;
        }
        if call.nth == 0 {
            // Another list: what was taken out of the one before is no longer there to be sent.
            last = Taken::default();
            last_of.fill(last);
        }
        if !(is_present && call.is_comparable()) {
            saved.push(0.0);
            rates.push((0.0, 0.0));
            continue;
        }
        let taken = Taken::of(raw, request.sent);
        let fresh = taken.minus(last);
        let in_tokens = (request.estimate.scale, request.estimate.frame);
        let tokens = fresh.at(in_tokens);
        let is_ours = cause == Some(Cause::Hook);
        let is_move = tokens.abs() >= LEAST_TOKENS || is_ours;
        if is_move {
            let found = Move { call: at, index, verdict, tokens, rewritten: 0.0, cost: 0.0, saved: 0.0 };
            moves.push((found, fresh));
        }
        let of_model = last_of.get_mut(call.source).map(|before| std::mem::replace(before, taken));
        let since = taken.minus(of_model.unwrap_or_default()).at(in_tokens);
        let tariff = call.tariff(tariffs);
        let held = sight.has_cache && sight.last > 0.0 && cause.is_none_or(|_| is_ours);
        let rewritten = if held && is_move { (sight.last - since - sight.read).max(0.0) } else { 0.0 };
        let cost = tariff.map_or(0.0, |tariff| rewritten * cache_watch::extra(tariff, &call.usage));
        if let Some((found, _)) = moves.last_mut() {
            found.rewritten += rewritten;
            found.cost += cost;
        }
        let price = tariff.map_or(0.0, |tariff| price(tariff, call, held));
        let rate = (price * in_tokens.0, price * in_tokens.1);
        saved.push(taken.at(rate) - cost);
        rates.push(rate);
        last = taken;
    }
    (settle(moves, calls, &rates), saved)
}

/// The price that a token would have had that was left out, in dollars.
fn price(tariff: Tariff, call: &Call, held: bool) -> f64 {
    if held {
        tariff.read
    } else if call.usage.cache_write.is_some_and(|tokens| tokens > 0.0) {
        tariff.write
    } else {
        tariff.input
    }
}

/// Fills in what each move has brought, from the last call back to the first.
fn settle(moves: Vec<(Move, Taken)>, calls: &[Call], rates: &[(f64, f64)]) -> Vec<Move> {
    let mut settled = Vec::with_capacity(moves.len());
    let mut moves = moves.into_iter().rev().peekable();
    let mut since = (0.0, 0.0);
    for (at, (call, rate)) in calls.iter().zip(rates).enumerate().rev() {
        since = (since.0 + rate.0, since.1 + rate.1);
        while let Some((found, taken)) = moves.next_if(|(found, _)| found.call == at) {
            settled.push(Move { saved: taken.at(since), ..found });
        }
        if call.nth == 0 {
            since = (0.0, 0.0);
        }
    }
    settled.reverse();
    settled
}
