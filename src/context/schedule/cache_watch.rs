//! Watches the provider's prompt cache: what each call should have read of it, and where it read less, why.
//!
//! It goes by what the calls report and by what was changed before them. What a request begins with that the last one to
//! the same model held, and that nobody changed, should come from the cache.

mod clock;

use std::sync::Arc;

use self::clock::Clock;
use super::economy::Prices;
use super::prices::{Bill, has_published_life};
use super::tariff::{self, Tariff};
use crate::context::transcript::{Source, Usage};
pub use crate::contract::Cause;

const MS_PER_SECOND: f64 = 1000.0;
/// Fewer tokens than this that were not read are no miss: caches work in blocks, and providers have a least size.
const MIN_MISSED_TOKENS: f64 = 1024.0;
/// Nor is less than this share of what could have been read.
const MIN_MISSED_SHARE: f64 = 0.05;
/// An entry not used for this long may have expired, whatever is listed: some providers promise no more. Seconds.
const LEAST_TTL_SECONDS: f64 = 300.0;
/// A prompt this much off its estimate, as a share and in tokens, held something else than the messages tell.
const UNEXPLAINED_SHARE: f64 = 0.02;
const UNEXPLAINED_TOKENS: f64 = 600.0;

/// Tokens that could have been read from the cache, and were not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Miss {
    /// Why.
    pub cause: Cause,
    /// Why, if the hook was not at work and what it would have edited was sent whole.
    pub cause_unedited: Cause,
    /// Their number.
    pub tokens: f64,
    /// Their cost beyond being read, in dollars, as far as prices are known by then.
    pub dollars: Option<f64>,
}

/// The cache as one call shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sight {
    /// Tokens of the prompt, as reported; `None` where nothing usable was.
    pub prompt: Option<f64>,
    /// Tokens of it that came from the cache.
    pub read: f64,
    /// Tokens that were to be expected from the cache; `None` where nothing could be known of it.
    pub expected: Option<f64>,
    /// The same, if what the hook would have edited was sent whole.
    pub expected_unedited: Option<f64>,
    /// Tokens of the last request to the same model.
    pub last: f64,
    /// Tokens of what was sent last that this request could have read, had nothing been changed.
    pub readable: f64,
    /// True if its model caches prompts at all.
    pub has_cache: bool,
    /// True if the report is of another list than stands before it now.
    pub is_stale: bool,
    /// Its miss.
    pub miss: Option<Miss>,
}

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Position of the answer.
    pub index: usize,
    /// Who answered.
    pub source: &'a Source,
    /// The report of the call.
    pub usage: &'a Usage,
    /// Tokens of its prompt, as its report is to be read.
    pub prompt: Option<f64>,
    /// When the call was made, in ms.
    pub time_ms: Option<f64>,
    /// True if its report is of another list than stands before it now.
    pub is_stale: bool,
    /// True if the model got to read it.
    pub reached: bool,
    /// The oldest message that the hook brought into another form since the last call, with the tokens before it.
    pub touched: Option<(usize, f64)>,
    /// Estimated tokens of the prompt, as edited and as it came.
    pub estimated: (f64, f64),
    /// Estimated tokens before all messages: prompt and tools.
    pub base: f64,
    /// Seconds a cache entry lives, where the host sets them.
    pub fixed_ttl: Option<f64>,
}

/// The caches of all models of one conversation.
#[derive(Clone, Debug, Default)]
pub struct CacheWatch {
    models: Vec<ModelCache>,
    /// The model of the latest answer, failed ones too: a failure may be all that tells of a switch.
    in_use: Option<usize>,
    /// The model of the last report.
    latest: usize,
    /// True if answers told of prompt tokens; true if of cached ones.
    reports: bool,
    shows_cache: bool,
    /// When the last request to the model in use was sent again to keep its entry alive, in ms, oldest first.
    warmed: Arc<[f64]>,
    /// When the host gave the cache up, in ms, oldest first.
    lost: Arc<[f64]>,
    /// True if the last report was of another list.
    was_stale: bool,
    /// Calls before this one were seen in another list already.
    seen_before: usize,
}

#[derive(Clone, Debug)]
struct ModelCache {
    source: Source,
    bill: Bill,
    clock: Clock,
    has_cache: bool,
    /// Its requests that nothing has changed since, each with its length in messages and in tokens, the longest last.
    requests: Vec<(usize, f64)>,
    /// Tokens of the last one, changed or not.
    last: f64,
    /// The oldest message that the hook changed since, with the tokens before it.
    touched: Option<(usize, f64)>,
    /// True if the host changed something since.
    is_rewritten: bool,
}

impl CacheWatch {
    /// Goes on with another list of the same conversation, of which the calls before `seen_before` are known.
    pub fn goes_on(&mut self, seen_before: usize) {
        self.seen_before = seen_before;
        self.was_stale = false;
        self.rewritten();
    }

    /// Takes in when the host kept the cache warm, and when it gave it up, in ms, oldest first.
    pub fn set_times(&mut self, (warmed, lost): (&Arc<[f64]>, &Arc<[f64]>)) {
        (self.warmed, self.lost) = (Arc::clone(warmed), Arc::clone(lost));
    }

    /// True if a request at `time_ms` finds nothing left in the cache of the model in use; `fixed_ttl` is how long entries live
    /// where the host sets it, in seconds.
    #[must_use]
    pub fn is_cold(&self, time_ms: Option<f64>, fixed_ttl: Option<f64>) -> bool {
        self.in_use.is_some_and(|at| self.is_cold_for(at, time_ms, fixed_ttl))
    }

    /// The cache prices of the model in use, as far as they were billed, else as listed; `None` before any answer.
    #[must_use]
    pub fn prices(&self) -> Option<Prices> {
        Some(self.models.get(self.in_use?)?.bill.prices())
    }

    /// The price of a token of `source`, as far as it was billed, else as listed.
    #[must_use]
    pub fn tariff(&self, source: &Source) -> Option<Tariff> {
        let known = self.models.iter().find(|model| model.source == *source);
        known.map_or_else(|| tariff::listed(source), |model| model.bill.tariff())
    }

    /// Takes in a call.
    pub fn enter(&mut self, call: Answered<'_>) -> Sight {
        if call.index < self.seen_before {
            return Sight::default();
        }
        if let Some(touched) = call.touched {
            for model in &mut self.models {
                let older = model.touched.filter(|(oldest, _)| *oldest <= touched.0);
                model.touched = older.or(Some(touched));
            }
        }
        if self.was_stale && !call.is_stale {
            self.rewritten();
        }
        self.was_stale = call.is_stale;
        let at = self.model(call.source);
        let gap = self.gap_seconds(at, call.time_ms);
        let is_cold = self.is_cold_for(at, call.time_ms, call.fixed_ttl);
        let latest = self.models.get(self.latest).map(|model| (model.last, model.has_cache));
        self.in_use = Some(at);
        self.reports |= call.usage.prompt_tokens().is_some();
        self.shows_cache |= call.usage.is_cached();
        let Some(model) = self.models.get_mut(at) else { return Sight::default() };
        model.bill.note(call.usage);
        let is_edited = call.prompt.is_some() && model.is_edited();
        let mut sight = Sight { is_stale: call.is_stale, ..Sight::default() };
        if let Some(prompt) = call.prompt {
            sight = model.look(&call, prompt, latest, is_cold);
            let least = call.fixed_ttl.unwrap_or(model.bill.listed.ttl_seconds.min(LEAST_TTL_SECONDS));
            let has_expired = gap.is_some_and(|gap| gap > model.clock.least_life(least));
            sight.miss = model.miss(&call, sight, has_expired);
            model.took(call.index, prompt);
            self.latest = at;
        }
        model.clock.tick(&call, gap, is_edited);
        sight
    }

    fn rewritten(&mut self) {
        for model in &mut self.models {
            model.is_rewritten = true;
            model.requests.clear();
        }
    }

    fn model(&mut self, source: &Source) -> usize {
        let found = self.models.iter().position(|model| model.source == *source);
        found.unwrap_or_else(|| {
            self.models.push(ModelCache {
                source: source.clone(),
                bill: Bill::of(source),
                clock: Clock::default(),
                has_cache: false,
                requests: Vec::new(),
                last: 0.0,
                touched: None,
                is_rewritten: false,
            });
            self.models.len() - 1
        })
    }

    fn is_cold_for(&self, at: usize, time_ms: Option<f64>, fixed_ttl: Option<f64>) -> bool {
        let Some(model) = self.models.get(at).filter(|model| model.clock.is_started) else {
            return self.models.iter().any(|model| model.clock.is_started);
        };
        let given_up = time_ms.and_then(|now| newest(&self.lost, now));
        if given_up.zip(model.clock.last_ms).is_some_and(|(lost, last)| lost > last) {
            return true;
        }
        // Servers that count prompts but tell of no cache mostly have one for prefixes, without a time to live that is known.
        let tells_nothing = self.reports && !self.shows_cache;
        if fixed_ttl.is_none() && tells_nothing && !has_published_life(&model.source) {
            return false;
        }
        let ttl = fixed_ttl.unwrap_or_else(|| model.clock.ttl_seconds(model.bill.listed.ttl_seconds));
        self.gap_seconds(at, time_ms).is_some_and(|gap| gap > ttl)
    }

    /// Seconds that the entry of a model is unread at `time_ms`. A warmer repeats the latest request, so it keeps that model's
    /// entry only.
    fn gap_seconds(&self, at: usize, time_ms: Option<f64>) -> Option<f64> {
        let (last, now) = self.models.get(at)?.clock.last_ms.zip(time_ms)?;
        let warmed = newest(&self.warmed, now).filter(|_| self.in_use == Some(at));
        Some((now - warmed.map_or(last, |warmed| warmed.max(last))) / MS_PER_SECOND)
    }
}

/// The newest of these times that is not after `now`.
fn newest(times: &[f64], now: f64) -> Option<f64> {
    times.get(..times.partition_point(|&time| time <= now))?.last().copied()
}

/// The extra cost of a token that was not read from the cache.
#[must_use]
pub fn extra(tariff: Tariff, usage: &Usage) -> f64 {
    (if is_written(usage) { tariff.write } else { tariff.input } - tariff.read).max(0.0)
}

fn is_written(usage: &Usage) -> bool {
    usage.cache_write.is_some_and(|tokens| tokens > 0.0)
}

impl ModelCache {
    /// Tokens that the call could have read, and what was to be expected; `latest` is the last request to any model, with whether that one
    /// caches.
    fn look(
        &mut self,
        call: &Answered<'_>,
        prompt: f64,
        latest: Option<(f64, bool)>,
        is_cold: bool,
    ) -> Sight {
        let read = call.usage.cache_read.unwrap_or(0.0).min(prompt);
        let had_cache = self.has_cache;
        self.has_cache |= read > 0.0 || is_written(call.usage);
        let is_first = self.last <= 0.0;
        let (last, is_cached) = match latest {
            Some((last, is_cached)) if is_first => (last, is_cached || self.has_cache),
            _ => (self.last, had_cache),
        };
        let readable = if is_cached { last.min(prompt) } else { 0.0 };
        let whole = if is_cold { 0.0 } else { readable };
        let is_known = !is_first && had_cache && !self.is_rewritten;
        Sight {
            prompt: Some(prompt),
            read,
            expected: is_known.then(|| if is_cold { 0.0 } else { self.unchanged(whole, call.base) }),
            expected_unedited: is_known.then_some(whole),
            last: self.last,
            readable,
            has_cache: self.has_cache,
            is_stale: call.is_stale,
            miss: None,
        }
    }

    /// The tokens that the call missed, and why.
    fn miss(&self, call: &Answered<'_>, sight: Sight, has_expired: bool) -> Option<Miss> {
        let missed = sight.readable - sight.read;
        if missed < MIN_MISSED_TOKENS.max(MIN_MISSED_SHARE * sight.readable) {
            return None;
        }
        let known = if self.last <= 0.0 {
            Some(Cause::Model)
        } else if has_expired {
            Some(Cause::Expired)
        } else {
            self.is_rewritten.then_some(Cause::Host)
        };
        let prompt = sight.prompt.unwrap_or(0.0);
        let other = |estimate: f64| {
            let off = (estimate - prompt).abs();
            let is_unexplained = off > UNEXPLAINED_TOKENS && off > UNEXPLAINED_SHARE * prompt;
            if is_unexplained && !call.is_stale { Cause::Host } else { Cause::Provider }
        };
        let (edited, raw) = (other(call.estimated.0), other(call.estimated.1));
        let edited = if self.is_edited() && !call.is_stale { Cause::Hook } else { edited };
        Some(Miss {
            cause: known.unwrap_or(edited),
            cause_unedited: known.unwrap_or(raw),
            tokens: missed,
            dollars: self.bill.tariff().map(|tariff| missed * extra(tariff, call.usage)),
        })
    }

    /// True if the hook changed something that the last request held.
    fn is_edited(&self) -> bool {
        let Some((touched, _)) = self.touched else { return false };
        self.requests.last().is_none_or(|&(length, _)| touched < length)
    }

    /// Tokens that are left to read of `whole` after what the hook changed.
    fn unchanged(&self, whole: f64, base: f64) -> f64 {
        let Some((touched, before)) = self.touched.filter(|_| self.is_edited()) else { return whole };
        if !self.has_breakpoints() {
            return before.min(whole);
        }
        let request = self.requests.iter().rev().find(|(length, _)| *length <= touched);
        request.map_or(base.max(0.0), |&(_, tokens)| tokens).min(whole)
    }

    /// True if only whole earlier requests can be read, as at Anthropic; elsewhere any unchanged beginning can.
    fn has_breakpoints(&self) -> bool {
        let is_named = |text: &str| text.contains("anthropic") || text.contains("claude");
        is_named(&self.source.api) || is_named(&self.source.model)
    }

    fn took(&mut self, length: usize, tokens: f64) {
        if let Some((touched, _)) = self.touched.take() {
            while self.requests.pop_if(|(length, _)| *length > touched).is_some() {}
        }
        self.requests.push((length, tokens));
        self.last = tokens;
        self.is_rewritten = false;
    }
}

#[cfg(test)]
mod tests;
