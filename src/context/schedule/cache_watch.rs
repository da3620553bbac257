//! Watches the provider's prompt cache: what each call should have read of it, and where it read less, why.
//!
//! It goes by what the calls report and by what was changed before them. What a request begins with that the last one to
//! the same model held, and that nobody changed, should come from the cache.

use std::sync::Arc;

use super::clock::{Clock, Request};
use super::economy::Prices;
use super::prices::{Bills, listed};
use super::tariff::Tariff;
use crate::context::transcript::{Source, Usage};
pub use crate::contract::Cause;

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
    clock: Clock,
    bills: Bills,
    models: Vec<ModelCache>,
    /// The model of the last report.
    latest: usize,
    /// True if the last report was of another list.
    was_stale: bool,
    /// Calls before this one were seen in another list already.
    seen_before: usize,
}

#[derive(Clone, Debug)]
struct ModelCache {
    source: Source,
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
    pub fn set_times(&mut self, times: (&Arc<[f64]>, &Arc<[f64]>)) {
        self.clock.set_times(times);
    }

    /// True if a request at `time_ms` finds nothing left in the cache of the model in use; `ttl_seconds` is how long entries live
    /// where the transcript has not told.
    #[must_use]
    pub fn is_cold(&self, time_ms: Option<f64>, ttl_seconds: f64, learns: bool) -> bool {
        self.clock.is_cold(time_ms, ttl_seconds, learns)
    }

    /// The cache prices of `source`, as far as they were billed, else as listed.
    #[must_use]
    pub fn prices(&self, source: &Source) -> Prices {
        self.bills.prices(source)
    }

    /// The price of a token of `source`, as far as it was billed, else as listed.
    #[must_use]
    pub fn tariff(&self, source: &Source) -> Option<Tariff> {
        self.bills.tariff(source)
    }

    /// Takes in a call.
    pub fn enter(&mut self, call: Answered<'_>) -> Sight {
        if call.index < self.seen_before {
            return Sight::default();
        }
        self.notice_changes(&call);
        let is_stale = call.is_stale;
        if self.was_stale && !is_stale {
            self.rewritten();
        }
        self.was_stale = is_stale;
        let listed = listed(call.source).ttl_seconds;
        let ttl = call.fixed_ttl.unwrap_or(listed);
        let is_cold = self.clock.is_cold_for(call.source, call.time_ms, ttl, call.fixed_ttl.is_none());
        let least = call.fixed_ttl.unwrap_or(listed.min(LEAST_TTL_SECONDS));
        let has_expired = self.clock.has_expired(call.source, call.time_ms, least);
        self.bills.note(call.source, call.usage);
        let Some(prompt) = call.prompt else {
            self.tick(&call, false);
            return Sight { is_stale, ..Sight::default() };
        };
        let read = call.usage.cache_read.unwrap_or(0.0).min(prompt);
        let mut sight = Sight { prompt: Some(prompt), read, is_stale, ..Sight::default() };
        let at = self.model(call.source);
        let is_edited = self.models.get(at).is_some_and(ModelCache::is_edited);
        self.look(&call, at, (is_cold, has_expired), &mut sight);
        self.tick(&call, is_edited);
        if let Some(model) = self.models.get_mut(at) {
            model.took(call.index, prompt);
        }
        self.latest = at;
        sight
    }

    fn notice_changes(&mut self, call: &Answered<'_>) {
        let Some((index, before)) = call.touched else { return };
        for model in &mut self.models {
            model.touched = match model.touched {
                Some((oldest, tokens)) if oldest <= index => Some((oldest, tokens)),
                _ => Some((index, before)),
            };
        }
    }

    fn rewritten(&mut self) {
        for model in &mut self.models {
            model.is_rewritten = true;
            model.requests.clear();
        }
    }

    fn tick(&mut self, call: &Answered<'_>, is_changed: bool) {
        let Answered { source, time_ms, reached, usage, .. } = *call;
        self.clock.tick(Request { source, time_ms, reached, usage, is_changed });
    }

    fn model(&mut self, source: &Source) -> usize {
        let found = self.models.iter().position(|model| model.source == *source);
        found.unwrap_or_else(|| {
            self.models.push(ModelCache {
                source: source.clone(),
                has_cache: false,
                requests: Vec::new(),
                last: 0.0,
                touched: None,
                is_rewritten: false,
            });
            self.models.len() - 1
        })
    }

    /// The tokens that the call could have read, that were to be expected, and that it missed.
    fn look(
        &mut self,
        call: &Answered<'_>,
        at: usize,
        (is_cold, has_expired): (bool, bool),
        sight: &mut Sight,
    ) {
        let latest = self.models.get(self.latest).map(|model| (model.last, model.has_cache));
        let Some(model) = self.models.get_mut(at) else { return };
        let uses_cache = sight.read > 0.0 || call.usage.cache_write.is_some_and(|tokens| tokens > 0.0);
        let had_cache = model.has_cache;
        model.has_cache |= uses_cache;
        let (prompt, read) = (sight.prompt.unwrap_or(0.0), sight.read);
        sight.has_cache = model.has_cache;
        let is_first = model.last <= 0.0;
        sight.last = model.last;
        if is_first {
            let (last, is_cached) = latest.unwrap_or((0.0, false));
            sight.readable = if is_cached || model.has_cache { last.min(prompt) } else { 0.0 };
        } else if had_cache {
            sight.readable = model.last.min(prompt);
        }
        if !is_first && had_cache && !model.is_rewritten {
            let whole = if is_cold { 0.0 } else { sight.readable };
            sight.expected_unedited = Some(whole);
            sight.expected = Some(if is_cold { 0.0 } else { model.unchanged(whole, call.base) });
        }
        let missed = sight.readable - read;
        if missed < MIN_MISSED_TOKENS.max(MIN_MISSED_SHARE * sight.readable) {
            return;
        }
        let is_unexplained = |estimate: f64| {
            let off = (estimate - prompt).abs();
            off > UNEXPLAINED_TOKENS && off > UNEXPLAINED_SHARE * prompt
        };
        let known = if is_first {
            Some(Cause::Model)
        } else if has_expired {
            Some(Cause::Expired)
        } else {
            model.is_rewritten.then_some(Cause::Host)
        };
        let is_stale = sight.is_stale;
        let other =
            |estimate| if !is_stale && is_unexplained(estimate) { Cause::Host } else { Cause::Provider };
        let edited = if !is_stale && model.is_edited() { Cause::Hook } else { other(call.estimated.0) };
        let dollars = self.bills.tariff(call.source).map(|tariff| missed * extra(tariff, call.usage));
        sight.miss = Some(Miss {
            cause: known.unwrap_or(edited),
            cause_unedited: known.unwrap_or_else(|| other(call.estimated.1)),
            tokens: missed,
            dollars,
        });
    }
}

/// The extra cost of a token that was not read from the cache.
#[must_use]
pub fn extra(tariff: Tariff, usage: &Usage) -> f64 {
    let is_written = usage.cache_write.is_some_and(|tokens| tokens > 0.0);
    (if is_written { tariff.write } else { tariff.input } - tariff.read).max(0.0)
}

impl ModelCache {
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
