//! Tells if the provider's cache is still warm, as far as timestamps, model names and reported cache reads tell.
//!
//! The time of a request is that of the last message before it. A gap that cannot be known counts as warm: a needless
//! wait is cheap, a needless rewrite not. A host that keeps the cache warm tells when it did so: entries live on from then.

use std::sync::Arc;

use super::prices::has_published_life;
use crate::context::transcript::{Source, Usage};

const MS_PER_SECOND: f64 = 1000.0;
/// Life of entries that were written for an hour.
const HOUR_SECONDS: f64 = 3600.0;
/// A call that read at least this share of the one before found its prefix alive.
const READ_SHARE: f64 = 0.5;
/// Misses after less than this are the provider's own (another machine, a full cache) and say nothing of time.
const MIN_TELLING_GAP_SECONDS: f64 = 60.0;

/// The last request that each model answered.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    models: Vec<ModelClock>,
    /// True if answers told of prompt tokens; true if of cached ones.
    reports: bool,
    shows_cache: bool,
    expected: Option<Source>,
    /// When the last request to the model in use was sent again to keep its entry alive, in ms, oldest first.
    warmed: Arc<[f64]>,
    /// When the host gave the cache up, in ms, oldest first.
    lost: Arc<[f64]>,
}

/// The cache of one model, as far as calls tell of it.
#[derive(Clone, Debug)]
struct ModelClock {
    source: Source,
    last_ms: Option<f64>,
    /// Prompt tokens of its last call, where told.
    prompt: Option<f64>,
    /// The longest gap after which a prefix was still read, in seconds.
    lived: f64,
    /// The shortest after which nothing of an unchanged prefix was.
    died: f64,
    /// True if it writes entries that live for an hour.
    writes_for_an_hour: bool,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who answered.
    pub source: &'a Source,
    /// When it was made, in ms since 1970.
    pub time_ms: Option<f64>,
    /// True if the model got to read it.
    pub reached: bool,
    /// Its report.
    pub usage: &'a Usage,
    /// True if something old was changed before it, so that a miss says nothing of time.
    pub is_changed: bool,
}

impl Clock {
    /// Takes in when the host kept the cache warm, and when it gave it up, in ms, oldest first.
    pub fn set_times(&mut self, (warmed, lost): (&Arc<[f64]>, &Arc<[f64]>)) {
        self.warmed = Arc::clone(warmed);
        self.lost = Arc::clone(lost);
    }

    /// True if the host gave the cache up since the last request to `model`.
    fn is_given_up(&self, model: &ModelClock, time_ms: Option<f64>) -> bool {
        let Some((last, now)) = model.last_ms.zip(time_ms) else { return false };
        let before = self.lost.partition_point(|&lost| lost <= now);
        before.checked_sub(1).and_then(|at| self.lost.get(at)).is_some_and(|&lost| lost > last)
    }

    /// Milliseconds that the entry of `model` is unread at `time_ms`. A warmer repeats the latest request, so it keeps that
    /// model's entry only.
    fn gap_ms(&self, model: &ModelClock, time_ms: Option<f64>) -> Option<f64> {
        let (last, now) = model.last_ms.zip(time_ms)?;
        let is_latest = self.expected.as_ref() == Some(&model.source);
        let before = self.warmed.partition_point(|&warmed| warmed <= now);
        let warmed = before.checked_sub(1).and_then(|at| self.warmed.get(at)).filter(|_| is_latest);
        Some(now - warmed.map_or(last, |&warmed| warmed.max(last)))
    }

    /// True if a request at `time_ms` finds nothing left in the cache of the model in use; `ttl_seconds` is how long
    /// entries live where the transcript has not told.
    ///
    /// That model is the one of the latest answer, failed ones too: a failure may be all that tells of a switch.
    #[must_use]
    pub fn is_cold(&self, time_ms: Option<f64>, ttl_seconds: f64, learns: bool) -> bool {
        self.expected.as_ref().is_some_and(|source| self.is_cold_for(source, time_ms, ttl_seconds, learns))
    }

    /// The same for a request to `source`.
    #[must_use]
    pub fn is_cold_for(&self, source: &Source, time_ms: Option<f64>, ttl_seconds: f64, learns: bool) -> bool {
        let Some(model) = self.models.iter().find(|model| model.source == *source) else {
            return !self.models.is_empty();
        };
        if self.is_given_up(model, time_ms) {
            return true;
        }
        // Servers that count prompts but tell of no cache mostly have one for prefixes, without a time to live that is known.
        if learns && self.reports && !self.shows_cache && !has_published_life(source) {
            return false;
        }
        let ttl_seconds = if learns { model.ttl_seconds(ttl_seconds) } else { ttl_seconds };
        self.gap_ms(model, time_ms).is_some_and(|gap| gap > ttl_seconds * MS_PER_SECOND)
    }

    /// True if a miss of `source` at `time_ms` comes of its entry's age: it is older than `ttl_seconds` and than any that was
    /// still read. One entry that was lost early says nothing of the others.
    #[must_use]
    pub fn has_expired(&self, source: &Source, time_ms: Option<f64>, ttl_seconds: f64) -> bool {
        let Some(model) = self.models.iter().find(|model| model.source == *source) else { return false };
        let lives = model.listed_seconds(ttl_seconds).max(model.lived) * MS_PER_SECOND;
        self.gap_ms(model, time_ms).is_some_and(|gap| gap > lives)
    }

    /// Takes in a request.
    pub fn tick(&mut self, request: Request<'_>) {
        let known = self.models.iter().find(|model| model.source == *request.source);
        let gap = known.and_then(|model| self.gap_ms(model, request.time_ms));
        self.expected = Some(request.source.clone());
        self.reports |= request.usage.prompt_tokens().is_some();
        self.shows_cache |= request.usage.is_cached();
        if !request.reached {
            return;
        }
        let at = self.models.iter().position(|model| model.source == *request.source);
        let at = at.unwrap_or_else(|| {
            self.models.push(ModelClock::new(request.source.clone()));
            self.models.len() - 1
        });
        if let Some(model) = self.models.get_mut(at) {
            model.tick(request, gap);
        }
    }
}

impl ModelClock {
    fn new(source: Source) -> Self {
        Self {
            source,
            last_ms: None,
            prompt: None,
            lived: 0.0,
            died: f64::INFINITY,
            writes_for_an_hour: false,
        }
    }

    fn tick(&mut self, Request { time_ms, usage, is_changed, .. }: Request<'_>, gap_ms: Option<f64>) {
        let gap = gap_ms.map(|gap| gap / MS_PER_SECOND);
        if let (Some(gap), Some(prompt), Some(read)) = (gap, self.prompt, usage.cache_read) {
            if read >= READ_SHARE * prompt {
                self.lived = self.lived.max(gap);
            } else if read <= 0.0 && !is_changed && gap >= MIN_TELLING_GAP_SECONDS {
                self.died = self.died.min(gap);
            }
        }
        self.prompt = usage.prompt_tokens().filter(|_| usage.is_cached());
        self.writes_for_an_hour |= usage.cache_write_1h.is_some_and(|tokens| tokens > 0.0);
        self.last_ms = time_ms;
    }

    /// The life of its entries: as long as one was seen to, and no longer than one was not.
    fn ttl_seconds(&self, listed: f64) -> f64 {
        self.listed_seconds(listed).min(self.died).max(self.lived)
    }

    fn listed_seconds(&self, listed: f64) -> f64 {
        if self.writes_for_an_hour { listed.max(HOUR_SECONDS) } else { listed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: f64 = 300.0;

    fn source(model: &str) -> Source {
        Source { api: "x".into(), provider: "y".into(), model: model.into() }
    }

    fn after(ticks: &[(&str, Option<f64>, bool)]) -> Clock {
        let mut clock = Clock::default();
        for &(model, time_ms, reached) in ticks {
            let usage = Usage::default();
            clock.tick(Request {
                source: &source(model),
                time_ms,
                reached,
                usage: &usage,
                is_changed: false,
            });
        }
        clock
    }

    /// A model called at these seconds, each time with so many tokens read and written.
    fn reported(calls: &[(f64, f64, f64)], is_changed: bool, for_an_hour: bool) -> Clock {
        let mut clock = Clock::default();
        for &(seconds, read, written) in calls {
            let usage = Usage {
                input: Some(1.0),
                cache_read: Some(read),
                cache_write: Some(written),
                cache_write_1h: for_an_hour.then_some(written),
                ..Usage::default()
            };
            let time_ms = Some(seconds * MS_PER_SECOND);
            clock.tick(Request { source: &source("a"), time_ms, reached: true, usage: &usage, is_changed });
        }
        clock
    }

    fn is_cold_after(clock: &Clock, seconds: f64) -> bool {
        clock.is_cold(Some(seconds * MS_PER_SECOND), TTL, true)
    }

    #[test]
    fn an_entry_written_for_an_hour_lives_an_hour() {
        let clock = reported(&[(0.0, 0.0, 9000.0)], false, true);
        assert!(!is_cold_after(&clock, 3599.0) && is_cold_after(&clock, 3601.0));
        assert!(clock.is_cold(Some(301_000.0), TTL, false), "where the host sets it, nothing is learned");
    }

    #[test]
    fn a_prefix_that_was_still_read_proves_that_entries_live_so_long() {
        let clock = reported(&[(0.0, 0.0, 9000.0), (1000.0, 9000.0, 100.0)], false, false);
        assert!(!is_cold_after(&clock, 1999.0) && is_cold_after(&clock, 2001.0));
    }

    #[test]
    fn an_unchanged_prefix_that_was_not_read_proves_that_they_do_not() {
        let calls = [(0.0, 0.0, 9000.0), (120.0, 0.0, 9000.0)];
        assert!(is_cold_after(&reported(&calls, false, false), 120.0 + 130.0));
        assert!(!is_cold_after(&reported(&calls, true, false), 120.0 + 130.0), "we changed it ourselves");
        let soon = [(0.0, 0.0, 9000.0), (5.0, 0.0, 9000.0)];
        assert!(!is_cold_after(&reported(&soon, false, false), 200.0), "that was the provider's own miss");
    }

    #[test]
    fn half_of_the_prefix_that_was_read_is_enough_and_a_minute_tells() {
        let read = |tokens: f64| reported(&[(0.0, 0.0, 9000.0), (1000.0, tokens, 9000.0)], false, false);
        assert!(!is_cold_after(&read(4500.5), 1999.0), "4500.5 of 9001");
        assert!(is_cold_after(&read(4500.0), 1999.0));
        let missed = |after: f64| reported(&[(0.0, 0.0, 9000.0), (after, 0.0, 9000.0)], false, false);
        assert!(is_cold_after(&missed(60.0), 60.0 + 61.0) && !is_cold_after(&missed(59.0), 59.0 + 61.0));
    }

    #[test]
    fn a_miss_comes_of_age_only_past_what_is_listed_and_past_what_was_read() {
        let expired =
            |clock: &Clock, seconds: f64| clock.has_expired(&source("a"), Some(seconds * MS_PER_SECOND), TTL);
        let written = reported(&[(0.0, 0.0, 9000.0)], false, false);
        assert!(!expired(&written, 300.0) && expired(&written, 300.5));
        let lived = reported(&[(0.0, 0.0, 9000.0), (1000.0, 9000.0, 1.0)], false, false);
        assert!(!expired(&lived, 1000.0 + 1000.0) && expired(&lived, 1000.0 + 1000.5));
        let died = reported(&[(0.0, 0.0, 9000.0), (100.0, 0.0, 9000.0)], false, false);
        assert!(!expired(&died, 100.0 + 299.0), "one that was lost early says nothing of the others");
        assert!(!written.has_expired(&source("b"), Some(9e12), TTL));
        assert!(!expired(&Clock::default(), 9e12));
    }

    #[test]
    fn a_server_that_tells_of_no_cache_has_a_life_only_where_its_models_is_published() {
        let is_cold = |model: &str| {
            let mut clock = Clock::default();
            let usage = Usage { input: Some(9000.0), ..Usage::default() };
            let source = source(model);
            let time_ms = Some(0.0);
            clock.tick(Request { source: &source, time_ms, reached: true, usage: &usage, is_changed: false });
            is_cold_after(&clock, 301.0)
        };
        assert!(is_cold("claude-opus-5.5") && is_cold("gpt-6.1"));
        assert!(!is_cold("qwen3.5-coder") && !is_cold("gpt-oss-120b"));
    }

    #[test]
    fn a_gap_over_the_ttl_is_cold() {
        let clock = after(&[("a", Some(0.0), true)]);
        assert!(!clock.is_cold(Some(300_000.0), TTL, true));
        assert!(clock.is_cold(Some(300_001.0), TTL, true));
    }

    #[test]
    fn a_warmed_gap_is_not_cold_and_teaches_no_longer_life() {
        let times = (&Arc::from([270_000.0, 540_000.0]), &Arc::default());
        let mut clock = reported(&[(0.0, 0.0, 9000.0)], false, false);
        clock.set_times(times);
        assert!(!is_cold_after(&clock, 840.0) && is_cold_after(&clock, 841.0));
        assert!(is_cold_after(&reported(&[(0.0, 0.0, 9000.0)], false, false), 840.0));
        let read = [(0.0, 0.0, 9000.0), (800.0, 9000.0, 100.0)];
        let mut clock = Clock::default();
        clock.set_times(times);
        for (seconds, read, written) in read {
            let usage = Usage { cache_read: Some(read), cache_write: Some(written), ..Usage::default() };
            let time_ms = Some(seconds * MS_PER_SECOND);
            let source = &source("a");
            clock.tick(Request { source, time_ms, reached: true, usage: &usage, is_changed: false });
        }
        assert!(is_cold_after(&clock, 1101.0), "the entry lived from the warming on, not 800 seconds");
    }

    #[test]
    fn a_cache_that_was_given_up_is_cold_until_the_next_request() {
        let mut clock = reported(&[(0.0, 0.0, 9000.0)], false, false);
        clock.set_times((&Arc::default(), &Arc::from([50_000.0])));
        assert!(!is_cold_after(&clock, 49.0) && is_cold_after(&clock, 51.0));
        clock.set_times((&Arc::default(), &Arc::from([-1.0])));
        assert!(!is_cold_after(&clock, 51.0), "that was before the last request");
    }

    #[test]
    fn a_warmer_keeps_the_entry_of_the_latest_model_only() {
        let mut clock = after(&[("a", Some(0.0), true), ("b", Some(1000.0), true)]);
        clock.set_times((&Arc::from([270_000.0]), &Arc::default()));
        let now = Some(400_000.0);
        assert!(!clock.is_cold_for(&source("b"), now, TTL, true));
        assert!(clock.is_cold_for(&source("a"), now, TTL, true));
        clock.set_times((&Arc::from([500_000.0]), &Arc::default()));
        assert!(clock.is_cold_for(&source("b"), now, TTL, true), "one that comes later says nothing of now");
    }

    #[test]
    fn unknown_equal_and_backward_times_are_warm() {
        let clock = after(&[("a", Some(1e6), true)]);
        assert!(
            [None, Some(1e6), Some(0.0), Some(f64::NAN)]
                .into_iter()
                .all(|now| !clock.is_cold(now, TTL, true))
        );
        assert!(!after(&[("a", None, true)]).is_cold(Some(9e12), TTL, true));
        assert!(!Clock::default().is_cold(Some(9e12), TTL, true));
    }

    #[test]
    fn a_model_without_an_answer_yet_is_cold_and_others_keep_their_own_time() {
        assert!(after(&[("a", Some(0.0), true), ("b", Some(1.0), false)]).is_cold(Some(2.0), TTL, true));
        let interleaved =
            [("a", Some(0.0), true), ("b", Some(200_000.0), true), ("a", Some(310_000.0), false)];
        assert!(after(&interleaved).is_cold(Some(310_001.0), TTL, true));
        assert!(!after(&interleaved[..2]).is_cold(Some(310_001.0), TTL, true));
    }
}
