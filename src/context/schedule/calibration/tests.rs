use super::*;
use crate::context::transcript::{Source, Usage};
use proptest::prelude::*;

fn answer(model: &str, input: f64, cache_read: f64) -> Assistant {
    Assistant {
        source: Source {
            api: "anthropic-messages".into(),
            provider: "anthropic".into(),
            model: model.into(),
        },
        usage: Usage { input: Some(input), cache_read: Some(cache_read), ..Usage::default() },
        call_ids: Vec::new(),
        thinking: None,
        has_other_content: true,
        has_text_id: false,
    }
}

fn on() -> Calibration {
    Calibration::new(true, 200_000.0)
}

fn both(tokens: usize) -> Sent {
    Sent { raw: size(tokens), edited: size(tokens) }
}

fn size(cl100k: usize) -> Size {
    Size { cl100k, messages: 0 }
}

fn after(reports: &[(&str, f64, usize)]) -> Calibration {
    let mut calibration = on();
    for &(model, reported, counted) in reports {
        calibration.observe(0, &answer(model, reported, 0.0), None, both(counted));
    }
    calibration
}

fn close(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= expected * share, "{value} {expected}");
}

#[test]
fn without_a_report_it_is_plain_cl100k_and_what_the_host_says() {
    assert_eq!(on().estimate(), Estimate::PLAIN);
    let mut told = on();
    told.expect(Some(9_000.0));
    assert!((told.estimate().tokens(size(1_000)) - 10_000.0).abs() < 1e-9);
}

#[test]
fn one_absurd_report_changes_nothing_and_two_that_agree_outvote_the_rest() {
    let good = [("a", 30_000.0, 20_000), ("a", 31_270.0, 21_000)];
    let expected = after(&good).estimate();
    for nonsense in [1.0, 9_000.0, 90_000.0, 9_007_199_254_740_991.0] {
        let [first, second] = good;
        assert_eq!(after(&[first, second, ("a", nonsense, 21_000)]).estimate(), expected, "{nonsense}");
    }
    let [first, second] = good;
    let shifted = after(&[first, second, ("a", 60_000.0, 21_500), ("a", 60_635.0, 22_000)]);
    close(shifted.estimate().tokens(size(22_000)), 60_635.0, 1e-6);
}

#[test]
fn what_was_reported_before_a_newer_message_came_in_is_passed_over() {
    let mut calibration = on();
    calibration.dates.newest_input = 5_000.0;
    calibration.observe(0, &answer("a", 110_000.0, 0.0), Some(4_000.0), both(300));
    assert_eq!(calibration.estimate(), Estimate::PLAIN);
    calibration.observe(0, &answer("a", 40_000.0, 0.0), Some(6_000.0), both(30_000));
    close(calibration.estimate().tokens(size(30_000)), 40_000.0, 1e-6);
}

#[test]
fn after_a_compaction_without_timestamps_a_huge_overhead_is_doubted() {
    let mut calibration = on();
    calibration.dates.has_summary = true;
    for step in 0..60 {
        calibration.observe(
            0,
            &answer("a", 110_000.0 + 700.0 * f64::from(step), 0.0),
            None,
            both(300 + 500 * step as usize),
        );
    }
    assert_eq!(calibration.estimate(), Estimate::PLAIN);
}

#[test]
fn a_compaction_keeps_what_is_known_of_the_agent() {
    let before = after(&[("a", 42_700.0, 20_000), ("a", 55_400.0, 30_000)]);
    let mut calibration = on();
    calibration.start_from(Past { known: before.known(), ..Past::default() });
    close(calibration.estimate().tokens(size(10_000)), 30_000.0, 0.01);
}

#[test]
fn tells_a_recording_from_live_use_at_the_first_edit() {
    let reports = |last: f64| {
        let mut calibration = after(&[("a", 60_000.0, 40_000)]);
        calibration.observe(
            0,
            &answer("a", last, 0.0),
            None,
            Sent { raw: size(41_000), edited: size(21_000) },
        );
        calibration.estimate().tokens(size(22_000))
    };
    close(reports(61_270.0), 61_270.0 - 19_000.0 * PRIOR_SCALE, 0.02);
    close(reports(35_870.0), 35_870.0 + 1_000.0 * PRIOR_SCALE, 0.02);
}

#[test]
fn a_recording_that_goes_on_live_is_told_at_the_first_call() {
    let mut calibration = after(&[("a", 60_000.0, 40_000)]);
    calibration.observe(
        0,
        &answer("a", 61_270.0, 0.0),
        None,
        Sent { raw: size(41_000), edited: size(21_000) },
    );
    calibration.observe(
        0,
        &answer("a", 37_140.0, 0.0),
        None,
        Sent { raw: size(42_000), edited: size(22_000) },
    );
    close(calibration.estimate().tokens(size(22_000)), 37_140.0, 1e-6);
}

#[test]
fn tokens_counted_twice_are_counted_once() {
    let mut calibration = after(&[("a", 20_000.0, 15_000)]);
    for step in 1..20 {
        let prompt = 20_000.0 + 1_270.0 * f64::from(step);
        calibration.observe(
            0,
            &answer("a", prompt, prompt - 1_270.0),
            None,
            both(15_000 + 1_000 * step as usize),
        );
    }
    close(calibration.estimate().tokens(size(35_000)), 45_400.0, 0.01);
}

#[test]
fn what_was_read_from_the_cache_is_counted_once_where_input_has_it_but_not_what_was_written() {
    let mut calibration = after(&[("a", 20_000.0, 15_000)]);
    for step in 1..20 {
        let read = 20_000.0 + 1_270.0 * f64::from(step - 1);
        let usage = Usage {
            input: Some(3.0 + read),
            cache_read: Some(read),
            cache_write: Some(1_267.0),
            ..Usage::default()
        };
        let assistant = Assistant { usage, ..answer("a", 0.0, 0.0) };
        calibration.observe(0, &assistant, None, both(15_000 + 1_000 * step as usize));
    }
    close(calibration.estimate().tokens(size(35_000)), 45_400.0, 0.01);
}

#[test]
fn a_scale_far_from_any_is_learned_from_steps_as_large_as_the_prompt() {
    let report = |step: usize| 3.0 * (2_000 + 3_000 * step) as f64;
    let reports: Vec<_> = (0..4).map(|step| ("a", report(step), 1_000 + 3_000 * step)).collect();
    close(after(&reports).estimate().tokens(size(13_000)), report(4), 0.01);
}

#[test]
fn a_new_model_has_a_scale_of_its_own_and_the_same_overhead() {
    let mut reports: Vec<_> = (0..50)
        .map(|step| ("a", 14_000.0 + 1_400.0 * f64::from(step), 5_000 + 1_000 * step as usize))
        .collect();
    let learned = after(&reports).estimate();
    assert!((learned.scale - 1.4).abs() < 0.01 && (learned.base - 7_000.0).abs() < 300.0, "{learned:?}");
    reports.push(("b", 60_000.0, 55_000));
    let switched = after(&reports).estimate();
    close(switched.tokens(size(55_000)), 60_000.0, 1e-6);
    close(switched.tokens(size(70_000)), 75_000.0, 0.01);
}

#[test]
fn learns_any_scale_within_a_few_calls() {
    for scale in [0.7, 1.0, 1.5, 2.0, 3.0] {
        let report = |step: usize| 12_000.0 + scale * (4_000 + 3_000 * step) as f64;
        let reports: Vec<_> = (0..6).map(|step| ("a", report(step), 4_000 + 3_000 * step)).collect();
        close(after(&reports).estimate().tokens(size(4_000 + 18_000)), report(6), 0.02);
    }
}

proptest! {
    #[test]
    fn any_reports_leave_a_finite_estimate_with_a_clamped_scale(
        reports in prop::collection::vec((any::<f64>(), any::<f64>(), 0usize..1_000_000, 0usize..1_000_000, 0..2), 0..40),
    ) {
        let mut calibration = on();
        for (input, cached, raw, edited, model) in reports {
            calibration.observe(0, &answer(if model == 0 { "a" } else { "b" }, input, cached), None, Sent { raw: size(raw), edited: size(edited) });
            let estimate = calibration.estimate();
            prop_assert!((0.6..=3.5).contains(&estimate.scale) && estimate.base.is_finite());
        }
    }
}

#[test]
fn a_provider_that_counts_the_cache_twice_is_read_so_after_a_compaction_too() {
    let mut before = on();
    for (input, read, counted) in
        [(30_000.0, 0.0, 20_000), (31_270.0, 30_000.0, 21_000), (32_540.0, 0.0, 22_000)]
    {
        before.observe(0, &answer("a", input, read), None, both(counted));
    }
    let mut after = on();
    after.start_from(Past { known: before.known(), ..Past::default() });
    for (input, read, counted) in [(11_000.0, 9_000.0, 5_000), (12_270.0, 11_000.0, 6_000)] {
        after.observe(0, &answer("a", input, read), None, both(counted));
        close(after.estimate().tokens(size(counted)), input, 0.01);
    }
}

#[test]
fn a_step_up_from_less_than_nothing_teaches_no_scale() {
    let mut reports: Vec<_> =
        (1..4).map(|step: u32| ("a", f64::from(step) * 1_500.0, 1_000 * step as usize)).collect();
    // Of the 3 800 only 3 200 were sent: the host changed them later.
    reports.extend([("a", 4_800.0, 3_800), ("a", 7_500.0, 5_000)]);
    close(after(&reports).estimate().tokens(size(6_000)), 9_000.0, 0.01);
}

#[test]
fn a_new_model_that_leaves_less_than_nothing_starts_from_its_report() {
    let mut reports: Vec<_> =
        (1..40).map(|step: u32| ("b", f64::from(step) * 2_200.0, 2_000 * step as usize)).collect();
    reports.extend([("a", 78_000.0, 78_000), ("b", 88_000.0, 80_000), ("a", 82_000.0, 82_000)]);
    close(after(&reports).estimate().tokens(size(84_000)), 84_000.0, 0.01);
}

#[test]
fn before_a_scale_is_learned_no_report_says_that_edits_were_not_sent() {
    // By the prior the raw size fits as well: 1.27 × 2 210 is 1.5 × 1 870.
    let mut calibration = after(&[("a", 1_085.0, 190)]);
    let sent = Sent { raw: size(2_400), edited: size(2_060) };
    calibration.observe(0, &answer("a", 1_085.0 + 1.5 * 1_870.0, 0.0), None, sent);
    close(calibration.estimate().tokens(size(1_000)), 1_085.0 + 1.5 * 810.0, 0.05);
}

#[test]
fn what_is_known_has_nothing_less_than_nothing_beside_the_messages() {
    let known = after(&[("a", 60_000.0, 42_000), ("a", 40_000.0, 28_500)]).known();
    let mut next = on();
    next.start_from(Past { known, ..Past::default() });
    close(next.estimate().tokens(size(28_500)), 40_000.0, 1e-6);
}

#[test]
fn a_list_cut_short_to_before_an_edit_goes_by_what_is_known() {
    let known = after(&[("a", 30_000.0, 20_000), ("a", 31_270.0, 21_000)]).known();
    let edited = Past::default().changed(6, 8, None);
    assert_eq!(edited.cut(7, known.clone()).known, None, "what was known from there on holds still");
    let before = Past { stale: std::iter::once(1..4).collect(), ..edited };
    let cut = before.cut(3, known.clone());
    assert_eq!((cut.known.clone(), cut.from), (known.clone(), 3));
    assert!((0..3).all(|index| cut.is_stale(index)) && !cut.is_stale(3));
    assert_eq!(Past::default().cut(5, known), Past::default());
}

#[test]
fn what_was_learned_of_one_model_before_a_change_is_not_taken_for_another() {
    let reports: Vec<_> =
        (1..6).map(|step: u32| ("a", 4_000.0 + f64::from(step) * 15_000.0, 10_000 * step as usize)).collect();
    let known = after(&reports).known();
    let mut next = on();
    next.start_from(Past { known, ..Past::default() });
    // A sixth less for the same text.
    next.observe(0, &answer("b", 103_333.0, 0.0), None, both(80_000));
    close(next.estimate().tokens(size(90_000)), 103_333.0 + 1.25 * 10_000.0, 0.01);
}

proptest! {
    #[test]
    fn two_models_in_turn_each_keep_how_they_count(
        (one, other) in (0.9..1.8f64, 0.9..1.8f64),
        overhead in 0.0..8_000.0f64,
        turns in prop::collection::vec(any::<bool>(), 30),
    ) {
        let mut calibration = on();
        let report = |is_other: bool, counted: usize| {
            let scale = if is_other { other } else { one };
            scale * (overhead + counted as f64)
        };
        let mut counted = 4_000;
        // Each is first met with enough text to tell how it counts.
        let steady = (0..16).map(|at| at >= 8);
        for is_other in steady.chain(turns) {
            counted += 2_000;
            let model = if is_other { "b" } else { "a" };
            calibration.observe(0, &answer(model, report(is_other, counted), 0.0), None, both(counted));
        }
        for is_other in [false, true] {
            let model = if is_other { "b" } else { "a" };
            calibration.observe(0, &answer(model, report(is_other, counted), 0.0), None, both(counted));
            let estimate = calibration.estimate().tokens(size(counted + 4_000));
            let expected = report(is_other, counted + 4_000);
            prop_assert!((estimate - expected).abs() <= 0.01 * expected, "{model} {estimate} {expected}");
        }
    }
}

#[test]
fn switched_off_it_learns_nothing_and_says_so() {
    let mut off = Calibration::new(false, 200_000.0);
    off.observe(0, &answer("a", 60_000.0, 0.0), None, both(20_000));
    assert!(!off.is_on() && on().is_on());
    assert_eq!((off.estimate(), off.known(), off.caution()), (Estimate::PLAIN, None, 1.0));
    assert!(on().caution() < 1.0);
}

#[test]
fn a_report_that_leaves_less_than_nothing_bears_nothing_out() {
    let good = [("a", 42_700.0, 20_000), ("a", 55_400.0, 30_000), ("a", 68_100.0, 40_000)];
    let expected = after(&good).estimate();
    // Two that agree, of lists that held a third of this.
    let [first, second, third] = good;
    let small = [("a", 20_000.0, 40_000), ("a", 20_635.0, 40_500)];
    let [one, other] = small;
    assert_eq!(after(&[first, second, third, one, other]).estimate(), expected);
}

#[test]
fn what_was_read_and_written_is_counted_once_where_input_has_both() {
    let mut calibration = after(&[("a", 20_000.0, 15_000)]);
    for step in 1..20 {
        let prompt = 20_000.0 + 1_270.0 * f64::from(step);
        let usage = Usage {
            input: Some(prompt),
            cache_read: Some(prompt - 1_270.0),
            cache_write: Some(1_270.0),
            ..Usage::default()
        };
        let assistant = Assistant { usage, ..answer("a", 0.0, 0.0) };
        calibration.observe(0, &assistant, None, both(15_000 + 1_000 * step as usize));
    }
    close(calibration.estimate().tokens(size(35_000)), 45_400.0, 0.01);
}
