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
        repeated_calls: None,
        thinking: None,
        has_other_content: true,
        has_text_id: false,
    }
}

fn on() -> Calibration {
    Calibration::new(true)
}

fn both(tokens: usize) -> Sent {
    Sent { raw: size(tokens), edited: size(tokens) }
}

fn size(cl100k: usize) -> Size {
    Size { cl100k, messages: 0 }
}

/// A call that was answered at no known time.
fn observe(calibration: &mut Calibration, assistant: &Assistant, sent: Sent) {
    calibration.observe(0, assistant, sent, false, 200_000.0);
}

fn after(reports: &[(&str, f64, usize)]) -> Calibration {
    let mut calibration = on();
    for &(model, reported, counted) in reports {
        observe(&mut calibration, &answer(model, reported, 0.0), both(counted));
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
    told.set_overhead(Some(9_000.0));
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
fn a_huge_overhead_is_doubted() {
    let mut calibration = on();
    for step in 0..5 {
        let reported = 110_000.0 + 700.0 * f64::from(step);
        observe(&mut calibration, &answer("a", reported, 0.0), both(300 + 500 * step as usize));
    }
    assert_eq!(calibration.estimate(), Estimate::PLAIN);
    observe(&mut calibration, &answer("a", 9_000.0, 0.0), both(3_000));
    close(calibration.estimate().tokens(size(3_000)), 9_000.0, 1e-6);
}

#[test]
fn tells_a_recording_from_live_use_at_the_first_edit() {
    let reports = |last: f64| {
        let mut calibration = after(&[("a", 60_000.0, 40_000)]);
        observe(&mut calibration, &answer("a", last, 0.0), Sent { raw: size(41_000), edited: size(21_000) });
        calibration.estimate().tokens(size(22_000))
    };
    close(reports(61_270.0), 61_270.0 - 19_000.0 * PRIOR_SCALE, 0.02);
    close(reports(35_870.0), 35_870.0 + 1_000.0 * PRIOR_SCALE, 0.02);
}

#[test]
fn a_recording_that_goes_on_live_is_told_at_the_first_call() {
    let mut calibration = after(&[("a", 60_000.0, 40_000)]);
    observe(&mut calibration, &answer("a", 61_270.0, 0.0), Sent { raw: size(41_000), edited: size(21_000) });
    observe(&mut calibration, &answer("a", 37_140.0, 0.0), Sent { raw: size(42_000), edited: size(22_000) });
    close(calibration.estimate().tokens(size(22_000)), 37_140.0, 1e-6);
}

/// A conversation that grows to 40 000 tokens, then one of which 2 500 are edited away, or would be.
fn long_before_a_small_edit(is_recording: bool) -> (Calibration, impl Fn(usize) -> f64) {
    let prompt = |counted: usize| 300.0 + 1.27 * counted as f64;
    let mut calibration = after(&[]);
    for counted in (2_000..=40_000).step_by(2_000) {
        observe(&mut calibration, &answer("a", prompt(counted), 0.0), both(counted));
    }
    let sent = Sent { raw: size(41_000), edited: size(38_500) };
    let told = if is_recording { sent.raw } else { sent.edited };
    observe(&mut calibration, &answer("a", prompt(told.cl100k), 0.0), sent);
    (calibration, prompt)
}

#[test]
fn a_small_edit_of_a_long_recording_tells_it_from_live_use() {
    for is_recording in [true, false] {
        let (calibration, prompt) = long_before_a_small_edit(is_recording);
        close(calibration.estimate().tokens(size(45_000)), prompt(45_000), 1e-3);
    }
}

#[test]
fn the_next_model_of_a_recording_is_read_as_the_one_before() {
    let (mut calibration, _) = long_before_a_small_edit(true);
    let sent = Sent { raw: size(42_000), edited: size(39_500) };
    observe(&mut calibration, &answer("b", 1.4 * 42_250.0, 0.0), sent);
    close(calibration.estimate().tokens(size(50_000)), 1.4 * 50_250.0, 0.01);
}

#[test]
fn tokens_counted_twice_are_counted_once() {
    let mut calibration = after(&[("a", 20_000.0, 15_000)]);
    for step in 1..20 {
        let prompt = 20_000.0 + 1_270.0 * f64::from(step);
        observe(
            &mut calibration,
            &answer("a", prompt, prompt - 1_270.0),
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
        observe(&mut calibration, &assistant, both(15_000 + 1_000 * step as usize));
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
            observe(&mut calibration, &answer(if model == 0 { "a" } else { "b" }, input, cached), Sent { raw: size(raw), edited: size(edited) });
            let estimate = calibration.estimate();
            prop_assert!((0.6..=3.5).contains(&estimate.scale) && estimate.base.is_finite());
        }
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
    observe(&mut calibration, &answer("a", 1_085.0 + 1.5 * 1_870.0, 0.0), sent);
    close(calibration.estimate().tokens(size(1_000)), 1_085.0 + 1.5 * 810.0, 0.05);
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
            observe(&mut calibration, &answer(model, report(is_other, counted), 0.0), both(counted));
        }
        for is_other in [false, true] {
            let model = if is_other { "b" } else { "a" };
            observe(&mut calibration, &answer(model, report(is_other, counted), 0.0), both(counted));
            let estimate = calibration.estimate().tokens(size(counted + 4_000));
            let expected = report(is_other, counted + 4_000);
            prop_assert!((estimate - expected).abs() <= 0.01 * expected, "{model} {estimate} {expected}");
        }
    }
}

#[test]
fn switched_off_it_learns_nothing_and_says_so() {
    let mut off = Calibration::new(false);
    observe(&mut off, &answer("a", 60_000.0, 0.0), both(20_000));
    assert_eq!((off.estimate(), off.caution()), (Estimate::PLAIN, 1.0));
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
        observe(&mut calibration, &assistant, both(15_000 + 1_000 * step as usize));
    }
    close(calibration.estimate().tokens(size(35_000)), 45_400.0, 0.01);
}

#[test]
fn a_report_of_another_list_teaches_nothing() {
    let mut calibration = on();
    let mut call = |tokens: f64, counted: usize, is_stale: bool| {
        let assistant = &answer("a", tokens, 0.0);
        let context_window = 200_000.0;
        calibration.observe(0, assistant, both(counted), is_stale, context_window);
        calibration.estimate()
    };
    assert_eq!(call(110_000.0, 300, true), Estimate::PLAIN);
    close(call(40_000.0, 30_000, false).tokens(size(30_000)), 40_000.0, 1e-6);
}

#[test]
fn a_report_of_the_call_before_is_told_by_the_steps() {
    let sizes = [2_000, 9_000, 10_500, 26_000, 27_000, 12_000, 13_500, 15_000];
    let prompt = |counted: usize| 8_000.0 + 1.4 * counted as f64;
    let mut calibration = on();
    observe(&mut calibration, &answer("a", f64::NAN, 0.0), both(sizes[0]));
    for (before, now) in sizes.iter().zip(sizes.iter().skip(1)) {
        observe(&mut calibration, &answer("a", prompt(*before), 0.0), both(*now));
    }
    close(calibration.estimate().tokens(size(40_000)), prompt(40_000), 0.01);
}

#[test]
fn what_input_holds_already_is_counted_once_from_the_first_call_that_writes() {
    let mut calibration = on();
    for step in 0..3 {
        let prompt = 20_000.0 + 1_270.0 * f64::from(step);
        let read = if step == 0 { 0.0 } else { prompt - 1_270.0 };
        let usage = Usage {
            input: Some(prompt),
            cache_read: Some(read),
            cache_write: Some(prompt - read),
            ..Usage::default()
        };
        let assistant = Assistant { usage, ..answer("a", 0.0, 0.0) };
        observe(&mut calibration, &assistant, both(15_000 + 1_000 * step as usize));
    }
    close(calibration.estimate().tokens(size(20_000)), 26_350.0, 0.01);
}

fn refuse(calibration: &mut Calibration, model: &str, told: f64, sent: Sent, context_window: f64) {
    let usage = Usage { refused: Some(told), ..Usage::default() };
    let refused = Assistant { usage, ..answer(model, 0.0, 0.0) };
    calibration.observe(0, &refused, sent, false, context_window);
}

#[test]
fn each_refusal_makes_the_next_request_smaller_by_a_real_step() {
    for real in [0.9, 1.5, 1.9] {
        let budget = 30_000.0;
        let mut calibration = after(&[("a", 16_000.0, 20_000), ("a", 17_600.0, 22_000)]);
        let mut sent = calibration.estimate().cl100k_within(budget, 0);
        let mut refusals = 0;
        while real * sent as f64 > 32_000.0 {
            refuse(&mut calibration, "b", 0.0, both(sent), 32_000.0);
            assert!(calibration.is_refused());
            let next = calibration.estimate().cl100k_within(budget, 0);
            assert!((next as f64) < 0.9 * sent as f64, "{real}: {next} after {sent}");
            (sent, refusals) = (next, refusals + 1);
        }
        assert!(refusals <= 2, "{real}: {refusals}");
    }
}

#[test]
fn a_refusal_that_names_its_tokens_is_taken_at_its_word() {
    let mut calibration = after(&[("a", 20_000.0, 15_000), ("a", 21_270.0, 16_000)]);
    refuse(&mut calibration, "a", 60_000.0, both(30_000), 50_000.0);
    close(calibration.estimate().tokens(size(30_000)), 60_000.0, 1e-6);
    observe(&mut calibration, &answer("a", 22_540.0, 0.0), both(17_000));
    close(calibration.estimate().tokens(size(18_000)), 23_810.0, 0.01);
}

#[test]
fn what_is_refused_again_and_again_is_thought_no_larger() {
    for (told, expected) in [(0.0, REFUSED * 8_000.0), (9_000.0, 9_000.0)] {
        let mut calibration = after(&[("a", 6_000.0, 5_000), ("a", 7_200.0, 6_000)]);
        for _ in 0..20 {
            refuse(&mut calibration, "b", told, both(6_500), 8_000.0);
            close(calibration.estimate().tokens(size(6_500)), expected, 1e-6);
        }
    }
    let mut calibration = after(&[("a", 6_000.0, 5_000), ("a", 7_200.0, 6_000)]);
    refuse(&mut calibration, "a", 0.0, both(6_500), 8_000.0);
    refuse(&mut calibration, "a", 9_000.0, both(6_500), 8_000.0);
    close(calibration.estimate().tokens(size(6_500)), 9_000.0, 1e-6);
}
