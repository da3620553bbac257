//! The times of one model's requests, and what they tell of how long its cache entries live.
//!
//! The time of a request is that of the last message before it. A gap that cannot be known counts as warm: a needless
//! wait is cheap, a needless rewrite not. A host that keeps the cache warm tells when it did so: entries live on from then.

use super::Answered;

/// Life of entries that were written for an hour.
const HOUR_SECONDS: f64 = 3600.0;
/// A call that read at least this share of the one before found its prefix alive.
const READ_SHARE: f64 = 0.5;
/// Misses after less than this are the provider's own (another machine, a full cache) and say nothing of time.
const MIN_TELLING_GAP_SECONDS: f64 = 60.0;

/// The cache of one model, as far as the times of its calls tell of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// True once the model got to read a request.
    pub(super) is_started: bool,
    /// When the last of them was made, in ms.
    pub(super) last_ms: Option<f64>,
    /// Prompt tokens of its last call, where told.
    prompt: Option<f64>,
    /// The longest gap after which a prefix was still read, in seconds.
    lived: f64,
    /// The shortest after which nothing of an unchanged prefix was.
    died: Option<f64>,
    /// True if it writes entries that live for an hour.
    writes_for_an_hour: bool,
}

impl Clock {
    /// Takes in a call, so many seconds after the last; a miss says nothing of time where something old was changed before it.
    pub(super) fn tick(&mut self, call: &Answered<'_>, gap: Option<f64>, is_changed: bool) {
        let usage = call.usage;
        if !call.reached {
            return;
        }
        if let (Some(gap), Some(prompt), Some(read)) = (gap, self.prompt, usage.cache_read) {
            if read >= READ_SHARE * prompt {
                self.lived = self.lived.max(gap);
            } else if read <= 0.0 && !is_changed && gap >= MIN_TELLING_GAP_SECONDS {
                self.died = Some(self.died.map_or(gap, |died| died.min(gap)));
            }
        }
        self.prompt = usage.prompt_tokens().filter(|_| usage.is_cached());
        self.writes_for_an_hour |= usage.cache_write_1h.is_some_and(|tokens| tokens > 0.0);
        (self.is_started, self.last_ms) = (true, call.time_ms);
    }

    /// The life of its entries: as long as one was seen to, and no longer than one was not.
    pub(super) fn ttl_seconds(&self, listed: f64) -> f64 {
        self.listed_seconds(listed).min(self.died.unwrap_or(f64::INFINITY)).max(self.lived)
    }

    /// The age up to which no miss comes of it: one entry that was lost early says nothing of the others.
    pub(super) fn least_life(&self, listed: f64) -> f64 {
        self.listed_seconds(listed).max(self.lived)
    }

    fn listed_seconds(&self, listed: f64) -> f64 {
        if self.writes_for_an_hour { listed.max(HOUR_SECONDS) } else { listed }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::schedule::cache_watch::{CacheWatch, Cause, MS_PER_SECOND};
    use crate::context::transcript::{Source, Usage};

    const TTL: f64 = 300.0;

    fn source(model: &str) -> Source {
        Source { api: "x".into(), provider: "y".into(), model: model.into() }
    }

    /// Takes in a call, made at that time.
    fn tick(watch: &mut CacheWatch, model: &str, time_ms: Option<f64>, usage: &Usage, call: (bool, bool)) {
        let (reached, is_changed) = call;
        watch.enter(Answered {
            index: 9,
            source: &source(model),
            usage,
            prompt: usage.prompt_tokens(),
            time_ms,
            is_stale: false,
            reached,
            touched: is_changed.then_some((0, 0.0)),
            estimated: (0.0, 0.0),
            base: 0.0,
            fixed_ttl: None,
        });
    }

    fn after(ticks: &[(&str, Option<f64>, bool)]) -> CacheWatch {
        let mut watch = CacheWatch::default();
        for &(model, time_ms, reached) in ticks {
            tick(&mut watch, model, time_ms, &Usage::default(), (reached, false));
        }
        watch
    }

    /// A model called at these seconds, each time with so many tokens read and written.
    fn reported(calls: &[(f64, f64, f64)], is_changed: bool, for_an_hour: bool) -> CacheWatch {
        with_times(CacheWatch::default(), calls, is_changed, for_an_hour)
    }

    fn with_times(
        mut watch: CacheWatch,
        calls: &[(f64, f64, f64)],
        is_changed: bool,
        for_an_hour: bool,
    ) -> CacheWatch {
        for &(seconds, read, written) in calls {
            let usage = Usage {
                input: Some(1.0),
                cache_read: Some(read),
                cache_write: Some(written),
                cache_write_1h: for_an_hour.then_some(written),
                ..Usage::default()
            };
            tick(&mut watch, "a", Some(seconds * MS_PER_SECOND), &usage, (true, is_changed));
        }
        watch
    }

    fn is_cold_after(watch: &CacheWatch, seconds: f64) -> bool {
        watch.is_cold(Some(seconds * MS_PER_SECOND), None)
    }

    #[test]
    fn an_entry_written_for_an_hour_lives_an_hour() {
        let clock = reported(&[(0.0, 0.0, 9000.0)], false, true);
        assert!(!is_cold_after(&clock, 3599.0) && is_cold_after(&clock, 3601.0));
        assert!(clock.is_cold(Some(301_000.0), Some(TTL)), "where the host sets it, nothing is learned");
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
        let expired = |calls: &[(f64, f64, f64)], seconds: f64| {
            let mut watch = reported(calls, false, false);
            let usage = Usage {
                input: Some(9000.0),
                cache_read: Some(0.0),
                cache_write: Some(1.0),
                ..Usage::default()
            };
            let sight = watch.enter(Answered {
                index: 11,
                source: &source("a"),
                usage: &usage,
                prompt: usage.prompt_tokens(),
                time_ms: Some(seconds * MS_PER_SECOND),
                is_stale: false,
                reached: true,
                touched: None,
                estimated: (9001.0, 9001.0),
                base: 0.0,
                fixed_ttl: None,
            });
            sight.miss.map(|miss| miss.cause) == Some(Cause::Expired)
        };
        let written = (0.0, 0.0, 9000.0);
        assert!(!expired(&[written], 300.0) && expired(&[written], 300.5));
        let lived = [written, (1000.0, 9000.0, 1.0)];
        assert!(!expired(&lived, 1000.0 + 1000.0) && expired(&lived, 1000.0 + 1000.5));
        let died = [written, (100.0, 0.0, 9000.0)];
        assert!(!expired(&died, 100.0 + 299.0), "one that was lost early says nothing of the others");
    }

    #[test]
    fn a_server_that_tells_of_no_cache_has_a_life_only_where_its_models_is_published() {
        let is_cold = |model: &str, seconds: f64| {
            let mut clock = CacheWatch::default();
            let usage = Usage { input: Some(9000.0), ..Usage::default() };
            tick(&mut clock, model, Some(0.0), &usage, (true, false));
            is_cold_after(&clock, seconds)
        };
        assert!(
            is_cold("claude-opus-5.5", 301.0) && !is_cold("gpt-6.1", 301.0) && is_cold("gpt-6.1", 1801.0)
        );
        assert!(!is_cold("qwen3.5-coder", 9e9) && !is_cold("gpt-oss-120b", 9e9));
    }

    #[test]
    fn a_gap_over_the_ttl_is_cold() {
        let clock = after(&[("a", Some(0.0), true)]);
        assert!(!clock.is_cold(Some(300_000.0), None));
        assert!(clock.is_cold(Some(300_001.0), None));
    }

    #[test]
    fn a_warmed_gap_is_not_cold_and_teaches_no_longer_life() {
        let times = (&Arc::from([270_000.0, 540_000.0]), &Arc::default());
        let mut clock = reported(&[(0.0, 0.0, 9000.0)], false, false);
        clock.set_times(times);
        assert!(!is_cold_after(&clock, 840.0) && is_cold_after(&clock, 841.0));
        assert!(is_cold_after(&reported(&[(0.0, 0.0, 9000.0)], false, false), 840.0));
        let mut clock = CacheWatch::default();
        clock.set_times(times);
        let clock = with_times(clock, &[(0.0, 0.0, 9000.0), (800.0, 9000.0, 100.0)], false, false);
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
        let mut is_cold = |model: &str, warmed: f64| {
            clock.set_times((&Arc::from([warmed]), &Arc::default()));
            let at = clock.model(&source(model));
            clock.is_cold_for(at, Some(400_000.0), None)
        };
        assert!(!is_cold("b", 270_000.0));
        assert!(is_cold("a", 270_000.0));
        assert!(is_cold("b", 500_000.0), "one that comes later says nothing of now");
    }

    #[test]
    fn unknown_equal_and_backward_times_are_warm() {
        let clock = after(&[("a", Some(1e6), true)]);
        assert!(
            [None, Some(1e6), Some(0.0), Some(f64::NAN)].into_iter().all(|now| !clock.is_cold(now, None))
        );
        assert!(!after(&[("a", None, true)]).is_cold(Some(9e12), None));
        assert!(!CacheWatch::default().is_cold(Some(9e12), None));
    }

    #[test]
    fn a_model_without_an_answer_yet_is_cold_and_others_keep_their_own_time() {
        assert!(after(&[("a", Some(0.0), true), ("b", Some(1.0), false)]).is_cold(Some(2.0), None));
        let interleaved =
            [("a", Some(0.0), true), ("b", Some(200_000.0), true), ("a", Some(310_000.0), false)];
        assert!(after(&interleaved).is_cold(Some(310_001.0), None));
        assert!(!after(&interleaved[..2]).is_cold(Some(310_001.0), None));
    }
}
