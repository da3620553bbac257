use super::*;

const TTL: f64 = 300.0;

fn source(model: &str) -> Source {
    Source { api: "x".into(), provider: "y".into(), model: model.into() }
}

/// A call of model `a` in seconds, with so many tokens read and written.
fn usage(read: f64, written: f64) -> Usage {
    Usage { input: Some(1.0), cache_read: Some(read), cache_write: Some(written), ..Usage::default() }
}

fn enter(watch: &mut CacheWatch, model: &str, seconds: Option<f64>, usage: &Usage, touched: Option<usize>) {
    let call_ms = seconds.map(|seconds| seconds * MS_PER_SECOND);
    let answer = Assistant { source: source(model), usage: *usage, ..Assistant::default() };
    watch.enter(9, &answer, call_ms, usage.prompt_tokens().is_some(), touched);
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
            watch.rewrite();
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
    let mut watch = reported(&[(0.0, 0.0, 9000.0)]);
    assert!(is_cold_after(&watch, 840.0));
    watch.warmed_ms = vec![270_000.0, 540_000.0];
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
    watch.warmed_ms = vec![270_000.0];
    assert!(!is_cold_after(&watch, 400.0));
    enter(&mut watch, "claude-a", Some(350.0), &usage(0.0, 0.0), None);
    for (warmed, is_cold) in [(500_000.0, false), (750_000.0, true)] {
        watch.warmed_ms = vec![warmed];
        assert_eq!(is_cold_after(&watch, 700.0), is_cold, "one that comes later says nothing of now");
    }
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

fn prices(model: &str, usages: &[Usage]) -> Prices {
    let mut watch = CacheWatch::default();
    for usage in usages {
        enter(&mut watch, model, Some(0.0), usage, None);
    }
    watch.prices()
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
        assert!((found.read - read).abs() < 1e-9 && (found.write - write).abs() < 1e-9, "{model} {found:?}");
    };
    is("claude-next", &[Usage::default()], 0.1, 1.25);
    is("gpt-99", &[Usage::default()], 0.1, 1.0);
    is("own-model", &[Usage::default()], 0.1, 1.0);
    let hour = Usage { cache_write_1h: Some(9000.0), ..usage(0.0, 9000.0) };
    is("claude-next", &[hour], 0.1, 2.0);
    is("claude-next", &[hour, billed(0.1, 1.25)], 0.1, 1.25);
    is("claude-next", &[billed(0.025, 1.25), billed(0.025, 2.0)], 0.025, 1.625);
    for odd in [billed(0.0, 0.0), billed(40.0, 90.0), billed(f64::NAN, -1.0), billed(f64::INFINITY, 1e300)] {
        is("claude-next", &[odd], 0.1, 1.25);
    }
    assert_eq!(CacheWatch::default().prices(), Prices { read: CACHE_READ, write: CACHE_WRITE });
}
