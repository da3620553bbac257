//! Tests of what one call tells of the cache, by the change before it and the time since.

use proptest::prelude::*;

use super::*;

const SECOND: f64 = 1000.0;
/// Messages and tokens of the call before.
const LENGTH: usize = 9;
const PROMPT: f64 = 50_000.0;

fn source(model: &str) -> Source {
    Source { api: "x".into(), provider: "y".into(), model: model.into() }
}

/// A call as the tests say it; what they leave out went as it should.
#[derive(Clone)]
struct Call {
    index: usize,
    model: &'static str,
    at_seconds: f64,
    prompt: f64,
    read: f64,
    touched: Option<(usize, f64)>,
    estimated: Option<f64>,
    is_stale: bool,
}

/// The first call, which writes all of its prompt.
const FIRST: Call = Call {
    index: LENGTH,
    model: "a",
    at_seconds: 0.0,
    prompt: PROMPT,
    read: 0.0,
    touched: None,
    estimated: None,
    is_stale: false,
};
/// The next one, which reads all of that.
const NEXT: Call =
    Call { index: LENGTH + 2, at_seconds: 10.0, prompt: PROMPT + 2000.0, read: PROMPT, ..FIRST };
/// The same, if the provider reads nothing.
const UNREAD: Call = Call { read: 0.0, ..NEXT };

impl Call {
    fn enter(&self, watch: &mut CacheWatch) -> Sight {
        let usage = Usage {
            input: Some(0.0),
            cache_read: Some(self.read),
            cache_write: Some(self.prompt - self.read),
            ..Usage::default()
        };
        let estimated = self.estimated.unwrap_or(self.prompt);
        watch.enter(Answered {
            index: self.index,
            source: &source(self.model),
            usage: &usage,
            prompt: Some(self.prompt),
            time_ms: Some(self.at_seconds * SECOND),
            is_stale: self.is_stale,
            reached: true,
            touched: self.touched,
            estimated: (estimated, self.prompt),
            base: 3000.0,
            fixed_ttl: None,
        })
    }
}

/// The sight of the last of these calls.
fn last_of(calls: &[Call]) -> Sight {
    let mut watch = CacheWatch::default();
    calls.iter().map(|call| call.enter(&mut watch)).last().unwrap_or_default()
}

fn causes(sight: Sight) -> Option<(Cause, Cause)> {
    sight.miss.map(|miss| (miss.cause, miss.cause_unedited))
}

#[test]
fn a_first_call_misses_nothing_and_one_that_reads_all_there_was_nothing_either() {
    assert_eq!(last_of(&[FIRST]).miss, None);
    let sight = last_of(&[FIRST, NEXT]);
    assert_eq!((sight.miss, sight.readable, sight.expected), (None, PROMPT, Some(PROMPT)));
    assert_eq!((sight.prompt, sight.read, sight.last), (Some(NEXT.prompt), PROMPT, PROMPT));
}

#[test]
fn a_miss_is_put_down_to_what_came_between() {
    let touched_at = |index| Call { touched: Some((index, 20_000.0)), ..UNREAD };
    let seconds = |at_seconds| Call { at_seconds, ..UNREAD };
    let estimated = |tokens: f64| Call { estimated: Some(tokens), ..UNREAD };
    let cases = [
        (UNREAD, Cause::Provider, Cause::Provider),
        (touched_at(0), Cause::Hook, Cause::Provider),
        (touched_at(LENGTH - 1), Cause::Hook, Cause::Provider),
        // The last request did not hold it yet.
        (touched_at(LENGTH), Cause::Provider, Cause::Provider),
        (seconds(300.0), Cause::Provider, Cause::Provider),
        (seconds(300.001), Cause::Expired, Cause::Expired),
        (Call { touched: Some((0, 0.0)), ..seconds(301.0) }, Cause::Expired, Cause::Expired),
        (Call { model: "b", ..UNREAD }, Cause::Model, Cause::Model),
        // 2 % of the prompt are more than 600 tokens here.
        (estimated(UNREAD.prompt * 1.0199), Cause::Provider, Cause::Provider),
        (estimated(UNREAD.prompt * 1.0201), Cause::Host, Cause::Provider),
        (estimated(UNREAD.prompt * 0.9799), Cause::Host, Cause::Provider),
    ];
    for (at, (call, cause, unedited)) in cases.into_iter().enumerate() {
        assert_eq!(causes(last_of(&[FIRST, call])), Some((cause, unedited)), "case {at}");
    }
}

#[test]
fn a_small_prompt_is_off_by_its_tokens_not_its_share() {
    let first = Call { prompt: 10_000.0, ..FIRST };
    let off_by = |tokens: f64| Call { prompt: 11_000.0, estimated: Some(11_000.0 + tokens), ..UNREAD };
    let cause = |tokens| causes(last_of(&[first.clone(), off_by(tokens)])).map(|(cause, _)| cause);
    assert_eq!(cause(599.0), Some(Cause::Provider), "5 %, and yet nothing");
    assert_eq!(cause(601.0), Some(Cause::Host));
}

#[test]
fn what_is_no_block_or_no_share_is_no_miss() {
    let missed = |last: f64, tokens: f64| {
        let next = Call { prompt: last + 2000.0, read: last - tokens, ..NEXT };
        last_of(&[Call { prompt: last, ..FIRST }, next]).miss.map(|miss| miss.tokens)
    };
    assert_eq!([missed(10_000.0, 1023.0), missed(10_000.0, 1024.0)], [None, Some(1024.0)]);
    assert_eq!([missed(100_000.0, 4999.0), missed(100_000.0, 5000.0)], [None, Some(5000.0)]);
}

#[test]
fn another_list_is_the_hosts_doing_and_calls_of_before_are_not_seen_twice() {
    let mut watch = CacheWatch::default();
    FIRST.enter(&mut watch);
    watch.goes_on(UNREAD.index);
    assert_eq!(Call { index: UNREAD.index - 1, ..UNREAD }.enter(&mut watch), Sight::default());
    let sight = UNREAD.enter(&mut watch);
    assert_eq!((causes(sight), sight.expected), (Some((Cause::Host, Cause::Host)), None));
    let next = Call { index: 20, prompt: 60_000.0, at_seconds: 20.0, ..UNREAD };
    assert_eq!(causes(next.enter(&mut watch)), Some((Cause::Provider, Cause::Provider)), "once");
}

#[test]
fn a_report_of_another_list_blames_nobody_for_what_stands_before_it_now() {
    let mut watch = CacheWatch::default();
    FIRST.enter(&mut watch);
    let stale =
        Call { touched: Some((0, 0.0)), estimated: Some(9000.0), is_stale: true, ..UNREAD }.enter(&mut watch);
    assert!(stale.is_stale);
    assert_eq!(causes(stale), Some((Cause::Provider, Cause::Provider)));
    let fresh = Call { index: 20, at_seconds: 20.0, ..UNREAD }.enter(&mut watch);
    assert!(!fresh.is_stale);
    assert_eq!(causes(fresh), Some((Cause::Host, Cause::Host)), "that list is no more");
}

#[test]
fn what_is_left_to_read_ends_at_the_change_or_at_the_request_before_it() {
    let touched = |model, index| {
        let calls = [FIRST, NEXT].map(|call| Call { model, ..call });
        let edited = Call { index: 20, touched: Some((index, 20_000.0)), prompt: 60_000.0, ..NEXT };
        last_of(&[&calls[..], &[Call { model, ..edited }]].concat()).expected
    };
    assert_eq!(touched("gpt", 4), Some(20_000.0));
    assert_eq!(touched("gpt", NEXT.index), Some(NEXT.prompt), "nothing that was sent");
    assert_eq!(touched("claude", 4), Some(3000.0), "what stands before all messages");
    assert_eq!(touched("claude", LENGTH), Some(PROMPT), "the request that ended there");
    assert_eq!(touched("claude", LENGTH - 1), Some(3000.0));
}

#[test]
fn the_oldest_change_counts_for_a_model_that_was_away() {
    let by = |model, index, at_seconds, touched| Call { index, model, at_seconds, touched, ..UNREAD };
    let changed = |first: (usize, f64), second: (usize, f64)| {
        let away = [by("b", 12, 20.0, Some(first)), by("b", 14, 30.0, Some(second))];
        last_of(&[&[FIRST, NEXT], &away[..], &[by("a", 16, 40.0, None)]].concat()).expected
    };
    assert_eq!(changed((5, 9000.0), (7, 12_000.0)), Some(9000.0));
    assert_eq!(changed((7, 12_000.0), (5, 9000.0)), Some(9000.0));
}

#[test]
fn requests_that_end_behind_a_change_can_be_read_no_more() {
    let mut watch = CacheWatch::default();
    for call in [FIRST, NEXT] {
        Call { model: "claude", ..call }.enter(&mut watch);
    }
    let touched = Some((LENGTH + 1, 51_000.0));
    let edited = Call { model: "claude", index: 13, touched, prompt: 53_000.0, ..NEXT };
    assert_eq!(edited.enter(&mut watch).expected, Some(PROMPT), "the one that ends before it stays");
    let lengths: Vec<usize> =
        watch.models.iter().flat_map(|model| model.requests.iter().map(|(length, _)| *length)).collect();
    assert_eq!(lengths, [LENGTH, 13]);
}

#[test]
fn a_cold_cache_is_expected_to_give_nothing() {
    let late = Call { at_seconds: 4000.0, ..UNREAD };
    let sight = last_of(&[FIRST, late]);
    assert_eq!((sight.expected, sight.expected_unedited), (Some(0.0), Some(0.0)));
}

#[test]
fn where_nothing_was_ever_cached_nothing_is_missed() {
    let usage = Usage { input: Some(PROMPT), ..Usage::default() };
    let mut watch = CacheWatch::default();
    let sights = [LENGTH, LENGTH + 2].map(|index| {
        watch.enter(Answered {
            index,
            source: &source("a"),
            usage: &usage,
            prompt: Some(PROMPT),
            time_ms: None,
            is_stale: false,
            reached: true,
            touched: None,
            estimated: (PROMPT, PROMPT),
            base: 0.0,
            fixed_ttl: None,
        })
    });
    for sight in sights {
        assert_eq!((sight.miss, sight.readable, sight.has_cache, sight.expected), (None, 0.0, false, None));
    }
}

#[test]
fn a_token_that_was_not_read_costs_what_it_cost_less_the_reading() {
    let tariff = Tariff { input: 4.0, read: 0.5, write: 5.0, output: 9.0, ..Tariff::default() };
    let usage = |cache_write| Usage { cache_write, ..Usage::default() };
    for (write, expected) in [(Some(1.0), 4.5), (Some(0.0), 3.5), (None, 3.5)] {
        assert!((extra(tariff, &usage(write)) - expected).abs() < 1e-9, "{write:?}");
    }
    assert!(extra(Tariff { input: 0.1, ..tariff }, &usage(None)).abs() < 1e-9);
}

proptest! {
    /// Whatever is read of it, what is missed and what is read are what could be read.
    #[test]
    fn nothing_is_missed_twice(prompts in prop::collection::vec((2000u32..200_000, 0u32..=100, any::<bool>()), 1..12)) {
        let mut watch = CacheWatch::default();
        let mut last = 0.0;
        for (at, (prompt, share, is_other)) in prompts.into_iter().enumerate() {
            let prompt = f64::from(prompt);
            let read = (prompt * f64::from(share) / 100.0).floor();
            let at_seconds = at as f64;
            let index = LENGTH + 2 * at;
            let model = if is_other { "b" } else { "a" };
            let call = Call { index, model, at_seconds, prompt, read, ..FIRST };
            let sight = call.enter(&mut watch);
            prop_assert!(sight.readable <= prompt);
            if let Some(miss) = sight.miss {
                prop_assert!((miss.tokens + sight.read - sight.readable).abs() < 1e-6);
                prop_assert!(miss.tokens >= MIN_MISSED_TOKENS && last > 0.0);
            }
            last = prompt;
        }
    }
}
