//! The provider's prompt cache as the calls of a conversation show it: whether the next request finds anything in it, and
//! what reading and writing cost there.
//!
//! Prices are relative to input: as billed, else those of the model's family. A gap that is unknown counts as warm: a needless
//! wait is cheap, a needless rewrite is not.

use std::sync::Arc;

use super::economy::Prices;
use crate::context::transcript::{Source, Usage};
use crate::contract::{CACHE_FAMILIES, CACHE_READ, CACHE_TTL_SECONDS, CacheFamily};

const MS_PER_SECOND: f64 = 1000.0;
/// Life of entries that were written for an hour.
const HOUR_SECONDS: f64 = 3600.0;
/// A call that read at least this share of the last prompt found its prefix alive.
const READ_SHARE: f64 = 0.5;
/// Misses after a shorter gap are the provider's own (another machine, a full cache) and say nothing of time. Seconds.
const MIN_TELLING_GAP_SECONDS: f64 = 60.0;
/// Relative prices outside of these ranges are mistakes of whoever priced the call.
const READ_RANGE: (f64, f64) = (0.001, 1.0);
const WRITE_RANGE: (f64, f64) = (0.5, 3.0);

/// A call that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Position of the answer.
    pub index: usize,
    /// Who answered.
    pub source: &'a Source,
    /// The report of the call.
    pub usage: &'a Usage,
    /// When the call was made, in ms: the time of the last message before it.
    pub time_ms: Option<f64>,
    /// True if the model got to read it.
    pub reached: bool,
    /// The oldest message that the hook sent in another form than before.
    pub touched: Option<usize>,
}

/// The caches of all models of one conversation.
#[derive(Clone, Debug, Default)]
pub struct CacheWatch {
    models: Vec<ModelCache>,
    /// The model of the latest answer, failed ones too: a failure may be all that tells of a switch.
    in_use: Option<usize>,
    /// When the host sent the last request again to keep its entry alive, in ms, oldest first.
    warmed: Arc<[f64]>,
    /// When the host gave the cache up, in ms, oldest first.
    lost: Arc<[f64]>,
    /// Calls before this one were taken in with another list.
    seen_before: usize,
}

#[derive(Clone, Debug)]
struct ModelCache {
    source: Source,
    /// Tokens and dollars of input, cache reads and cache writes that were billed.
    billed: [(f64, f64); 3],
    /// True once the model got to read a request.
    is_started: bool,
    /// When the last of them was made, in ms.
    last_ms: Option<f64>,
    /// Prompt tokens of its last call, where its cache shows.
    prompt: Option<f64>,
    /// Messages of its last request.
    length: usize,
    /// True if something that the last request held is sent otherwise since.
    is_changed: bool,
    /// The longest gap after which a prefix was still read, in seconds.
    lived: f64,
    /// The shortest gap after which nothing of an unchanged prefix was read.
    died: Option<f64>,
    writes_for_an_hour: bool,
}

impl CacheWatch {
    /// Goes on with a rewritten list, of which the calls before `seen_before` are known.
    pub fn goes_on(&mut self, seen_before: usize) {
        self.seen_before = seen_before;
        for model in &mut self.models {
            model.is_changed = true;
        }
    }

    /// Sets when the host kept the cache warm, and when it gave it up, in ms, oldest first.
    pub fn set_times(&mut self, (warmed, lost): (&Arc<[f64]>, &Arc<[f64]>)) {
        (self.warmed, self.lost) = (Arc::clone(warmed), Arc::clone(lost));
    }

    /// True if a request at `time_ms` finds nothing in the cache of the model in use. `fixed_ttl` is the life of entries in
    /// seconds where the host sets it.
    #[must_use]
    pub fn is_cold(&self, time_ms: Option<f64>, fixed_ttl: Option<f64>) -> bool {
        let Some(at) = self.in_use else { return false };
        let Some(model) = self.models.get(at).filter(|model| model.is_started) else {
            return self.models.iter().any(|model| model.is_started);
        };
        let given_up = time_ms.and_then(|now| newest(&self.lost, now));
        if given_up.zip(model.last_ms).is_some_and(|(lost, last)| lost > last) {
            return true;
        }
        let ttl = fixed_ttl.unwrap_or_else(|| model.ttl_seconds());
        self.gap_seconds(at, time_ms).is_some_and(|gap| gap > ttl)
    }

    /// Cache prices of the model in use: as billed, else its family's; `None` before any answer.
    #[must_use]
    pub fn prices(&self) -> Option<Prices> {
        Some(self.models.get(self.in_use?)?.prices())
    }

    /// Takes in a call.
    pub fn enter(&mut self, call: Answered<'_>) {
        if call.index < self.seen_before {
            return;
        }
        for model in &mut self.models {
            model.is_changed |= call.touched.is_some_and(|touched| touched < model.length);
        }
        let found = self.models.iter().position(|model| model.source == *call.source);
        let at = found.unwrap_or(self.models.len());
        if found.is_none() {
            self.models.push(ModelCache::new(call.source.clone()));
        }
        let gap = self.gap_seconds(at, call.time_ms);
        self.in_use = Some(at);
        if let Some(model) = self.models.get_mut(at) {
            model.enter(&call, gap);
        }
    }

    /// Seconds that the entry of a model is unread at `time_ms`. A host warms the entry of the latest model only.
    fn gap_seconds(&self, at: usize, time_ms: Option<f64>) -> Option<f64> {
        let (last, now) = self.models.get(at)?.last_ms.zip(time_ms)?;
        let warmed = newest(&self.warmed, now).filter(|_| self.in_use == Some(at));
        Some((now - warmed.map_or(last, |warmed| warmed.max(last))) / MS_PER_SECOND)
    }
}

/// The newest of these times that is not after `now`.
fn newest(times: &[f64], now: f64) -> Option<f64> {
    times.get(..times.partition_point(|&time| time <= now))?.last().copied()
}

impl ModelCache {
    fn new(source: Source) -> Self {
        Self {
            source,
            billed: [(0.0, 0.0); 3],
            is_started: false,
            last_ms: None,
            prompt: None,
            length: 0,
            is_changed: false,
            lived: 0.0,
            died: None,
            writes_for_an_hour: false,
        }
    }

    /// Takes in a call that was made `gap` seconds after the last one.
    fn enter(&mut self, call: &Answered<'_>, gap: Option<f64>) {
        let usage = call.usage;
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
        if call.reached {
            if let (Some(gap), Some(prompt), Some(read)) = (gap, self.prompt, usage.cache_read) {
                if read >= READ_SHARE * prompt {
                    self.lived = self.lived.max(gap);
                } else if read <= 0.0 && !self.is_changed && gap >= MIN_TELLING_GAP_SECONDS {
                    self.died = Some(self.died.map_or(gap, |died| died.min(gap)));
                }
            }
            self.prompt = usage.prompt_tokens().filter(|_| usage.is_cached());
            self.writes_for_an_hour |= usage.cache_write_1h.is_some_and(|tokens| tokens > 0.0);
            (self.is_started, self.last_ms) = (true, call.time_ms);
        }
        if usage.prompt_tokens().is_some() {
            (self.length, self.is_changed) = (call.index, false);
        }
    }

    /// The life of its entries in seconds: as long as one was seen to live, and no longer than one was seen not to.
    fn ttl_seconds(&self) -> f64 {
        let published = published_life(&self.source).unwrap_or(f64::INFINITY);
        let documented = if self.writes_for_an_hour { published.max(HOUR_SECONDS) } else { published };
        documented.min(self.died.unwrap_or(f64::INFINITY)).max(self.lived)
    }

    fn prices(&self) -> Prices {
        let family = family_of(&self.source);
        let [input, read, write] = self.billed.map(|(tokens, dollars)| dollars / tokens);
        let relative = |price: f64, (least, most): (f64, f64)| {
            Some(price / input).filter(|share| (least..=most).contains(share))
        };
        Prices {
            read: relative(read, READ_RANGE).or(family.map(|family| family.read)).unwrap_or(CACHE_READ),
            write: relative(write, WRITE_RANGE).or(family.map(|family| family.write)).unwrap_or(1.0),
            ttl_seconds: published_life(&self.source).unwrap_or(CACHE_TTL_SECONDS),
        }
    }
}

/// Seconds that entries live, where the provider publishes it. Anyone may serve open weights.
fn published_life(source: &Source) -> Option<f64> {
    family_of(source).filter(|_| !source.model.to_lowercase().contains("oss"))?.ttl_seconds
}

/// The family of a model: the first whose name its own contains, else its provider's.
fn family_of(source: &Source) -> Option<&'static CacheFamily> {
    let of = |text: &str| {
        let text = text.to_lowercase();
        CACHE_FAMILIES.iter().find(|family| text.contains(family.name))
    };
    of(&source.model).or_else(|| of(&source.provider))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: f64 = 300.0;

    fn source(model: &str) -> Source {
        Source { api: "x".into(), provider: "y".into(), model: model.into() }
    }

    /// A call of model `a` in seconds, with so many tokens read and written.
    fn usage(read: f64, written: f64) -> Usage {
        Usage { input: Some(1.0), cache_read: Some(read), cache_write: Some(written), ..Usage::default() }
    }

    fn enter(
        watch: &mut CacheWatch,
        model: &str,
        seconds: Option<f64>,
        usage: &Usage,
        touched: Option<usize>,
    ) {
        watch.enter(Answered {
            index: 9,
            source: &source(model),
            usage,
            time_ms: seconds.map(|seconds| seconds * MS_PER_SECOND),
            reached: usage.prompt_tokens().is_some(),
            touched,
        });
    }

    fn reported(calls: &[(f64, f64, f64)]) -> CacheWatch {
        let mut watch = CacheWatch::default();
        for &(seconds, read, written) in calls {
            enter(&mut watch, "claude-a", Some(seconds), &usage(read, written), None);
        }
        watch
    }

    fn is_cold_after(watch: &CacheWatch, seconds: f64) -> bool {
        watch.is_cold(Some(seconds * MS_PER_SECOND), None)
    }

    #[test]
    fn an_entry_written_for_an_hour_lives_an_hour() {
        let mut watch = CacheWatch::default();
        let hour = Usage { cache_write_1h: Some(9000.0), ..usage(0.0, 9000.0) };
        enter(&mut watch, "claude-a", Some(0.0), &hour, None);
        assert!(!is_cold_after(&watch, 3599.0) && is_cold_after(&watch, 3601.0));
        assert!(watch.is_cold(Some(301_000.0), Some(TTL)), "where the host sets it, nothing is learned");
    }

    #[test]
    fn a_prefix_that_was_still_read_proves_that_entries_live_so_long() {
        let read = |tokens: f64| reported(&[(0.0, 0.0, 9000.0), (1000.0, tokens, 9000.0)]);
        assert!(!is_cold_after(&read(4500.5), 1999.0), "half of 9001 tokens is enough");
        assert!(is_cold_after(&read(4500.5), 2001.0));
        assert!(is_cold_after(&read(4500.0), 1999.0));
    }

    #[test]
    fn an_unchanged_prefix_that_was_not_read_proves_that_they_do_not() {
        let missed = |gap: f64| reported(&[(0.0, 0.0, 9000.0), (gap, 0.0, 9000.0)]);
        assert!(is_cold_after(&missed(120.0), 120.0 + 130.0));
        assert!(is_cold_after(&missed(60.0), 60.0 + 61.0), "a minute tells");
        assert!(!is_cold_after(&missed(59.0), 59.0 + 61.0), "that was the provider's own miss");
        let changed = |touched: Option<usize>, is_rewritten: bool| {
            let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
            if is_rewritten {
                watch.goes_on(0);
            }
            enter(&mut watch, "claude-a", Some(120.0), &usage(0.0, 9000.0), touched);
            is_cold_after(&watch, 120.0 + 130.0)
        };
        assert!(!changed(Some(8), false), "the hook changed it");
        assert!(changed(Some(9), false), "the last request did not hold that yet");
        assert!(!changed(None, true), "the host changed it");
    }

    #[test]
    fn a_cache_whose_life_is_not_published_is_warm_until_it_was_found_empty() {
        let silent = Usage { input: Some(9000.0), ..Usage::default() };
        for usage in [silent, usage(0.0, 9000.0)] {
            let answered = |model: &str, times: &[f64]| {
                let mut watch = CacheWatch::default();
                for &seconds in times {
                    enter(&mut watch, model, Some(seconds), &usage, None);
                }
                watch
            };
            let is_cold = |model: &str, seconds: f64| is_cold_after(&answered(model, &[0.0]), seconds);
            assert!(is_cold("claude-opus-5.5", 301.0));
            assert!(!is_cold("gpt-6.1", 301.0) && is_cold("gpt-6.1", 1801.0));
            for open in ["qwen3.5-coder", "gpt-oss-120b", "gemini-9", "deepseek-v4"] {
                assert!(!is_cold(open, 9e9), "{open}");
                let found_empty = is_cold_after(&answered(open, &[0.0, 500.0]), 1100.0);
                assert_eq!(found_empty, usage.is_cached(), "{open}");
            }
        }
    }

    #[test]
    fn a_warmed_gap_is_not_cold_and_teaches_no_longer_life() {
        let times = (&Arc::from([270_000.0, 540_000.0]), &Arc::default());
        let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
        assert!(is_cold_after(&watch, 840.0));
        watch.set_times(times);
        assert!(!is_cold_after(&watch, 840.0) && is_cold_after(&watch, 841.0));
        enter(&mut watch, "claude-a", Some(800.0), &usage(9000.0, 100.0), None);
        assert!(is_cold_after(&watch, 1101.0), "the entry lived from the warming on, not 800 seconds");
    }

    #[test]
    fn a_warmer_keeps_the_entry_of_the_latest_model_only() {
        let mut watch = CacheWatch::default();
        for (model, seconds) in [("claude-a", 0.0), ("claude-b", 1.0)] {
            enter(&mut watch, model, Some(seconds), &usage(0.0, 9000.0), None);
        }
        watch.set_times((&Arc::from([270_000.0]), &Arc::default()));
        assert!(!is_cold_after(&watch, 400.0));
        enter(&mut watch, "claude-a", Some(350.0), &usage(0.0, 0.0), None);
        for (warmed, is_cold) in [(500_000.0, false), (750_000.0, true)] {
            watch.set_times((&Arc::from([warmed]), &Arc::default()));
            assert_eq!(is_cold_after(&watch, 700.0), is_cold, "one that comes later says nothing of now");
        }
    }

    #[test]
    fn a_cache_that_was_given_up_is_cold_until_the_next_request() {
        let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
        watch.set_times((&Arc::default(), &Arc::from([50_000.0])));
        assert!(!is_cold_after(&watch, 49.0) && is_cold_after(&watch, 51.0));
        watch.set_times((&Arc::default(), &Arc::from([-1.0])));
        assert!(!is_cold_after(&watch, 51.0), "that was before the last request");
    }

    #[test]
    fn unknown_equal_and_backward_times_are_warm() {
        let watch = reported(&[(1000.0, 0.0, 9000.0)]);
        for now in [None, Some(1e6), Some(0.0), Some(f64::NAN), Some(1_300_000.0)] {
            assert!(!watch.is_cold(now, None), "{now:?}");
        }
        assert!(watch.is_cold(Some(1_300_001.0), None));
        let mut timeless = CacheWatch::default();
        assert!(!timeless.is_cold(Some(9e12), None));
        enter(&mut timeless, "claude-a", None, &usage(0.0, 9000.0), None);
        assert!(!timeless.is_cold(Some(9e12), None));
    }

    #[test]
    fn a_model_without_an_answer_yet_is_cold_and_others_keep_their_own_time() {
        let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
        enter(&mut watch, "claude-b", Some(200.0), &usage(0.0, 9000.0), None);
        assert!(!is_cold_after(&watch, 310.0));
        let failed = Usage::default();
        enter(&mut watch, "claude-a", Some(310.0), &failed, None);
        assert!(is_cold_after(&watch, 310.0));
        enter(&mut watch, "claude-c", Some(311.0), &failed, None);
        assert!(is_cold_after(&watch, 312.0));
    }

    #[test]
    fn calls_of_the_list_before_are_not_taken_in_twice() {
        let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
        watch.goes_on(10);
        enter(&mut watch, "claude-a", Some(900.0), &usage(9000.0, 1.0), None);
        assert!(is_cold_after(&watch, 301.0), "that was entered before");
    }

    fn prices(model: &str, usages: &[Usage]) -> Prices {
        let mut watch = CacheWatch::default();
        for usage in usages {
            enter(&mut watch, model, Some(0.0), usage, None);
        }
        watch.prices().unwrap_or_default()
    }

    fn billed(read: f64, write: f64) -> Usage {
        Usage {
            input: Some(100.0),
            cache_read: Some(1000.0),
            cache_write: Some(200.0),
            cost_input: Some(100.0 * 5e-6),
            cost_cache_read: Some(1000.0 * 5e-6 * read),
            cost_cache_write: Some(200.0 * 5e-6 * write),
            ..Usage::default()
        }
    }

    #[test]
    fn bills_teach_more_than_a_family_and_absurd_ones_nothing() {
        let is = |model: &str, usages: &[Usage], read: f64, write: f64| {
            let found = prices(model, usages);
            assert!(
                (found.read - read).abs() < 1e-9 && (found.write - write).abs() < 1e-9,
                "{model} {found:?}"
            );
        };
        is("claude-next", &[Usage::default()], 0.1, 1.25);
        is("gpt-99", &[Usage::default()], 0.1, 1.0);
        is("own-model", &[Usage::default()], 0.1, 1.0);
        is("claude-next", &[billed(0.025, 1.25), billed(0.025, 2.0)], 0.025, 1.625);
        for odd in
            [billed(0.0, 0.0), billed(40.0, 90.0), billed(f64::NAN, -1.0), billed(f64::INFINITY, 1e300)]
        {
            is("claude-next", &[odd], 0.1, 1.25);
        }
        assert_eq!(CacheWatch::default().prices(), None);
    }
}
