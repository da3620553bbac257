//! Observes the provider's prompt cache in the calls of a conversation: whether it still holds the prefix, and what reading
//! and writing cost. Prices are relative to input: as billed, else those of the model's family. An unknown gap counts as
//! warm: a needless wait is cheap, a needless rewrite is not.

use super::by_model::ByModel;
use super::economy::Prices;
use crate::context::facts::transcript::{Assistant, Source, Usage};
use crate::contract::{CACHE_FAMILIES, CACHE_READ, CACHE_WRITE, CacheFamily, HOUR_SECONDS, HOUR_WRITE};

const MS_PER_SECOND: f64 = 1000.0;
/// A call that read at least this share of the last prompt found its prefix alive.
const READ_SHARE: f64 = 0.5;
/// Shortest gap, in seconds, after which a miss shows expiry. Earlier ones have other causes (another machine, a full cache).
const MIN_TELLING_GAP_SECONDS: f64 = 60.0;
/// Relative prices outside these ranges are mistakes of the host.
const READ_RANGE: (f64, f64) = (0.001, 1.0);
const WRITE_RANGE: (f64, f64) = (0.5, 3.0);

/// The caches of all models of one conversation.
#[derive(Clone, Debug, Default)]
pub struct CacheWatch {
    /// The last one is in use. Failed answers count, too: a failure may be the only sign of a switch.
    models: ByModel<ModelCache>,
    /// When the host sent the last request again to keep its entry alive, in ms since 1970.
    pub(super) warmed_ms: Vec<f64>,
    /// When the host gave up the cache, in ms since 1970.
    pub(super) lost_ms: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
struct ModelCache {
    /// Tokens and dollars of input, cache reads and cache writes that were billed.
    billed: [(f64, f64); 3],
    /// True once the model has read a request.
    is_started: bool,
    /// When the last request that it read was sent, in ms.
    last_ms: Option<f64>,
    /// Prompt tokens of its last call; `None` if usage showed no cache.
    prompt: Option<f64>,
    /// Number of messages of its last request.
    length: usize,
    /// True if any message of the last request has changed its form since.
    is_changed: bool,
    /// The longest gap after which a prefix was still read, in seconds.
    longest_hit: f64,
    /// The shortest gap after which nothing of an unchanged prefix was read.
    shortest_miss: Option<f64>,
    writes_for_an_hour: bool,
}

impl CacheWatch {
    /// Continues with a rewritten list.
    pub fn rewrite(&mut self) {
        for (_, model) in &mut self.models.entries {
            model.is_changed = true;
        }
    }

    /// Returns `true` if a request at `time_ms` misses the cache of the model in use. `set_ttl` is the host's lifetime of
    /// entries, in seconds.
    pub fn is_cold(&self, time_ms: Option<f64>, set_ttl: Option<f64>) -> bool {
        let Some((source, model)) = self.models.entries.last() else { return false };
        if !model.is_started {
            return self.models.entries.iter().any(|(_, model)| model.is_started);
        }
        let given_up = time_ms.and_then(|now| newest(&self.lost_ms, now));
        if given_up.zip(model.last_ms).is_some_and(|(lost, last)| lost > last) {
            return true;
        }
        let ttl = set_ttl.unwrap_or_else(|| model.ttl_seconds(source));
        self.gap_seconds(source, time_ms).is_some_and(|gap| gap > ttl)
    }

    /// Cache prices of the model in use: as billed, else its family's. Before any answer, those of most providers.
    pub fn prices(&self) -> Prices {
        const USUAL: Prices = Prices { read: CACHE_READ, write: CACHE_WRITE };
        self.models.entries.last().map_or(USUAL, |(source, model)| model.prices(source))
    }

    /// Enters the answer at `index` to a call made at `time_ms`, the time of the message before it. `reached`: the model
    /// read the request. `touched` is the oldest message sent in another form than before.
    pub fn enter(
        &mut self,
        index: usize,
        answer: &Assistant,
        time_ms: Option<f64>,
        reached: bool,
        touched: Option<usize>,
    ) {
        for (_, model) in &mut self.models.entries {
            model.is_changed |= touched.is_some_and(|touched| touched < model.length);
        }
        let gap = self.gap_seconds(&answer.source, time_ms);
        self.models.change(&answer.source, |model| {
            model.bill(&answer.usage);
            if reached {
                model.read(&answer.usage, gap);
                model.last_ms = time_ms;
            }
            if answer.usage.prompt_tokens().is_some() {
                (model.length, model.is_changed) = (index, false);
            }
        });
    }

    /// Seconds since the entry of a model was read, at `time_ms`. A host warms only the entry of the latest model.
    fn gap_seconds(&self, source: &Source, time_ms: Option<f64>) -> Option<f64> {
        let (last, now) = self.models.get(source)?.last_ms.zip(time_ms)?;
        let is_in_use = self.models.entries.last().is_some_and(|(latest, _)| latest == source);
        let warmed = newest(&self.warmed_ms, now).filter(|_| is_in_use);
        Some((now - warmed.map_or(last, |warmed| warmed.max(last))) / MS_PER_SECOND)
    }
}

/// The newest of these times up to `now`.
fn newest(times: &[f64], now: f64) -> Option<f64> {
    times.iter().copied().filter(|&time| time <= now).max_by(f64::total_cmp)
}

impl ModelCache {
    fn bill(&mut self, usage: &Usage) {
        let bills = [
            (usage.input, usage.cost_input),
            (usage.cache_read, usage.cost_cache_read),
            (usage.cache_write, usage.cost_cache_write),
        ];
        for ((tokens, dollars), bill) in self.billed.iter_mut().zip(bills) {
            let usable = |amount: &f64| amount.is_finite() && *amount > 0.0;
            if let (Some(more), Some(cost)) = (bill.0.filter(usable), bill.1.filter(usable)) {
                (*tokens, *dollars) = (*tokens + more, *dollars + cost);
            }
        }
    }

    /// Enters the cache reads of a call `gap` seconds after the last one.
    fn read(&mut self, usage: &Usage, gap: Option<f64>) {
        if let (Some(gap), Some(prompt), Some(read)) = (gap, self.prompt, usage.cache_read) {
            if read >= READ_SHARE * prompt {
                self.longest_hit = self.longest_hit.max(gap);
            } else if read <= 0.0 && !self.is_changed && gap >= MIN_TELLING_GAP_SECONDS {
                self.shortest_miss = Some(self.shortest_miss.map_or(gap, |shortest| shortest.min(gap)));
            }
        }
        self.prompt = usage.prompt_tokens().filter(|_| usage.is_cached());
        self.writes_for_an_hour |= usage.cache_write_1h.is_some_and(|tokens| tokens > 0.0);
        self.is_started = true;
    }

    /// Lifetime of its entries in seconds: the published one, bounded by observed hits and misses.
    fn ttl_seconds(&self, source: &Source) -> f64 {
        // Open weights have no published lifetime: anyone may serve them.
        let family = family_of(source).filter(|_| !source.model.to_lowercase().contains("oss"));
        let published = family.and_then(|family| family.ttl_seconds).unwrap_or(f64::INFINITY);
        let documented = if self.writes_for_an_hour { published.max(HOUR_SECONDS) } else { published };
        documented.min(self.shortest_miss.unwrap_or(f64::INFINITY)).max(self.longest_hit)
    }

    fn prices(&self, source: &Source) -> Prices {
        let family = family_of(source);
        let [input, read, write] = self.billed.map(|(tokens, dollars)| dollars / tokens);
        let relative = |price: f64, (least, most): (f64, f64)| {
            Some(price / input).filter(|share| (least..=most).contains(share))
        };
        // Nobody but Anthropic writes for an hour.
        let hourly = self.writes_for_an_hour.then_some(HOUR_WRITE);
        let documented = hourly.or(family.map(|family| family.write));
        Prices {
            read: relative(read, READ_RANGE).or(family.map(|family| family.read)).unwrap_or(CACHE_READ),
            write: relative(write, WRITE_RANGE).or(documented).unwrap_or(1.0),
        }
    }
}

/// The family of a model: the first whose name is in the model's name, else in its provider's.
fn family_of(source: &Source) -> Option<&'static CacheFamily> {
    let of = |text: &str| {
        let text = text.to_lowercase();
        CACHE_FAMILIES.iter().find(|family| text.contains(family.name))
    };
    of(&source.model).or_else(|| of(&source.provider))
}

#[cfg(test)]
#[path = "cache_watch/tests.rs"]
mod tests;
