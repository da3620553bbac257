use super::*;
use crate::context::facts::measure::{Raw, RawRole, outline};
use crate::context::facts::transcript::{Refusal, Source, Usage};
use crate::contract::Subject;
use proptest::prelude::*;

fn answer(model: &str, input: f64, cache_read: f64) -> Assistant {
    Assistant {
        source: Source {
            api: "anthropic-messages".into(),
            provider: "anthropic".into(),
            model: model.into(),
        },
        usage: Usage { input: Some(input), cache_read: Some(cache_read), ..Usage::default() },
        ..Assistant::default()
    }
}

fn on() -> Calibration {
    Calibration::new(true)
}

fn both(tokens: usize) -> SentSizes {
    SentSizes { raw: size(tokens), edited: size(tokens), ..SentSizes::default() }
}

fn size(cl100k: usize) -> Size {
    Size { cl100k, ..Size::default() }
}

/// A call that was answered at no known time.
fn observe(calibration: &mut Calibration, assistant: &Assistant, sent: SentSizes) {
    calibration.observe(0, assistant, sent, false, false);
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

/// A new process that does not know a batch thinks that more was sent.
#[test]
fn reports_that_leave_prompt_and_tools_less_than_nothing_are_of_other_lists() {
    let good = [("a", 30_000.0, 20_000), ("a", 31_270.0, 21_000)];
    let [first, second] = good;
    let low = after(&[first, second, ("a", 27_000.0, 40_000), ("a", 28_270.0, 41_000)]);
    assert_eq!(low.estimate(), after(&good).estimate());
}

/// Twelve reports with 2,000 more tokens each. Every fourth one follows a question, which makes 5,000 of them old thinking.
fn after_thinking(reported: impl Fn(usize, Size) -> f64) -> Estimate {
    let mut calibration = on();
    for step in 1..=12 {
        let size = Size { old_thinking: 5_000 * (step / 4), ..size(2_000 * step) };
        let sent = SentSizes { raw: size, edited: size, ..SentSizes::default() };
        observe(&mut calibration, &answer("a", reported(step, size), 0.0), sent);
    }
    calibration.estimate()
}

#[test]
fn old_thinking_is_left_out_if_that_explains_the_reports() {
    let without = after_thinking(|_, size| 9_000.0 + size.without_old_thinking().cl100k as f64);
    let with = after_thinking(|_, size| 9_000.0 + size.cl100k as f64);
    let of_neither = after_thinking(|step, _| 3_000.0 + 2_000.0 * (step % 3) as f64);
    assert_eq!([without, with, of_neither].map(|estimate| estimate.drops_old_thinking), [true, false, false]);
}

#[test]
fn a_constant_is_no_count() {
    let reports =
        [("a", 5_000.0, 1_000), ("a", 5_000.0, 1_900), ("a", 5_000.0, 2_800), ("a", 5_000.0, 3_700)];
    assert_eq!(after(&reports).estimate(), after(&reports[..1]).estimate());
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
fn learns_any_scale_within_a_few_calls() {
    for scale in [0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0] {
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
            observe(&mut calibration, &answer(if model == 0 { "a" } else { "b" }, input, cached), SentSizes { raw: size(raw), edited: size(edited), ..SentSizes::default() });
            let estimate = calibration.estimate();
            prop_assert!((0.15..=3.5).contains(&estimate.scale) && estimate.base.is_finite());
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
    let sent = SentSizes { raw: size(2_400), edited: size(2_060), ..SentSizes::default() };
    observe(&mut calibration, &answer("a", 1_085.0 + 1.5 * 1_870.0, 0.0), sent);
    close(calibration.estimate().tokens(size(1_000)), 1_085.0 + 1.5 * 810.0, 0.05);
}

/// Takes in the report of a request. The list grows by 1 000 tokens a step, and the hook keeps a third of them.
fn report(calibration: &mut Calibration, step: usize, is_edited: bool, times: f64) -> f64 {
    let (raw, edited) = (1_000 * step, 400 + 330 * step);
    let tokens = 5_000.0 + 1.4 * if is_edited { edited as f64 } else { raw as f64 };
    let sent = SentSizes { raw: size(raw), edited: size(edited), ..SentSizes::default() };
    observe(calibration, &answer("a", times * tokens, 0.0), sent);
    calibration.estimate().tokens(size(edited)) / (5_000.0 + 1.4 * edited as f64)
}

#[test]
fn a_list_that_was_recorded_without_the_hook_is_read_so_and_the_hook_may_begin_at_any_call() {
    for begins in [0, 1, 5, 12, 30] {
        let mut calibration = on();
        for step in 1..40 {
            let share = report(&mut calibration, step, step > begins, 1.0);
            assert!(step < 4 || (share - 1.0).abs() < 0.08, "begins at {begins}, step {step}: {share}");
        }
    }
}

#[test]
fn what_a_long_list_leaves_when_most_of_it_goes_is_told_by_all_its_text() {
    let mut tokens = 3_000.0;
    let reports = (1..200).map(|step: usize| {
        tokens += if step < 100 { 700.0 } else { 550.0 };
        ("a", tokens, 500 * step)
    });
    close(after(&reports.collect::<Vec<_>>()).estimate().tokens(size(5_000)), 3_000.0 + 1.25 * 5_000.0, 0.1);
}

#[test]
fn a_false_report_of_an_edited_list_is_not_taken_for_the_whole_list() {
    for times in [2.0, 2.9, 6.0] {
        let mut calibration = on();
        for step in 1..40 {
            let share = report(&mut calibration, step, true, if step == 20 { times } else { 1.0 });
            assert!(step < 4 || (share - 1.0).abs() < 0.05, "{times} times, step {step}: {share}");
        }
    }
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
fn a_late_report_of_another_list_teaches_nothing() {
    let usage = Usage { input: Some(110_000.0), ..Usage::default() };
    let role = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
    let told = [Arc::new(outline(&Raw::new(role, Vec::new())))];
    for (is_stale, expected) in [(true, Vec::new()), (false, vec![0])] {
        let mut calibration = on();
        calibration.observe(0, &answer("a", 0.0, 0.0), both(60_000), is_stale, false);
        assert_eq!(calibration.catch_up(&told), expected);
    }
}

fn refuse(calibration: &mut Calibration, model: &str, refusal: Refusal, counted: usize) -> Option<f64> {
    let usage = Usage { refused: Some(refusal), ..Usage::default() };
    let refused = Assistant { usage, ..answer(model, 0.0, 0.0) };
    calibration.observe(0, &refused, both(counted), false, true);
    calibration.room
}

fn window(calibration: &Calibration) -> (f64, f64, f64) {
    let limits = calibration.narrow(&Limits::default());
    (limits.context_window, limits.output_tokens, limits.most_tokens)
}

const NAMED: Refusal = Refusal {
    prompt: Some(66_000.0),
    limit: Some(64_000.0),
    output: None,
    excess: None,
    images: None,
    image_chars: None,
    subject: None,
};

#[test]
fn a_limit_that_is_named_is_the_window_of_that_model_until_more_is_accepted() {
    let mut calibration = after(&[("a", 60_000.0, 60_000)]);
    close(refuse(&mut calibration, "a", NAMED, 66_000).expect("is refused"), 57_600.0, 1e-9);
    assert_eq!(window(&calibration).0.to_bits(), 64_000f64.to_bits());
    observe(&mut calibration, &answer("a", 57_000.0, 0.0), both(57_000));
    assert_eq!((calibration.room, window(&calibration).0.to_bits()), (None, 64_000f64.to_bits()));
    observe(&mut calibration, &answer("b", 57_000.0, 0.0), both(57_000));
    assert_eq!(window(&calibration).0.to_bits(), 200_000f64.to_bits(), "another model");
    observe(&mut calibration, &answer("a", 90_000.0, 0.0), both(90_000));
    assert_eq!(window(&calibration).0.to_bits(), 200_000f64.to_bits(), "more was accepted");
}

#[test]
fn numbers_that_make_no_sense_are_passed_over() {
    for refusal in [
        Refusal { prompt: Some(9_000_000.0), limit: Some(8_000_000.0), ..NAMED },
        Refusal { prompt: Some(1_000.0), limit: None, ..NAMED },
        Refusal { prompt: None, output: Some(70_000.0), ..NAMED },
    ] {
        let mut calibration = after(&[("a", 50_000.0, 40_000), ("a", 60_000.0, 50_000)]);
        let room = refuse(&mut calibration, "a", refusal, 60_000).expect("is refused");
        close(room, 56_000.0, 0.01);
        close(calibration.estimate().tokens(size(60_000)), 70_000.0, 0.01);
    }
}

#[test]
fn a_prompt_that_leaves_no_room_for_any_message_is_passed_over() {
    let refusal = Refusal { prompt: Some(120_000.0), ..NAMED };
    let mut calibration = Calibration::new(true);
    close(refuse(&mut calibration, "a", refusal, 16_000).expect("is refused"), 12_800.0, 0.05);
}

#[test]
fn a_refusal_without_a_limit_of_less_than_was_accepted_is_believed_the_second_time() {
    let mut calibration = after(&[("a", 80_000.0, 80_000)]);
    let numberless = Refusal { prompt: None, limit: None, ..NAMED };
    assert_eq!(refuse(&mut calibration, "a", numberless, 60_000), None);
    assert!(window(&calibration).2.is_infinite());
    close(refuse(&mut calibration, "a", numberless, 60_000).expect("is refused"), 48_000.0, 1e-9);
    observe(&mut calibration, &answer("a", 58_000.0, 0.0), both(58_000));
    assert!(refuse(&mut calibration, "a", numberless, 57_000).is_some(), "hardly less");
}

#[test]
fn a_body_that_is_too_large_is_about_images_if_those_that_may_go_fill_it() {
    let body = Refusal { prompt: None, limit: None, subject: Some(Subject::Body), ..NAMED };
    for (may_go, room, chars) in [(800_000, None, 600_000), (0, Some(32_000.0), usize::MAX)] {
        // More was accepted, which says nothing about bytes.
        let mut calibration = after(&[("a", 80_000.0, 80_000)]);
        let usage = Usage { refused: Some(body), ..Usage::default() };
        let sent = SentSizes { image_chars: [1_000_000, may_go], ..both(40_000) };
        calibration.observe(0, &Assistant { usage, ..answer("a", 0.0, 0.0) }, sent, false, true);
        assert_eq!(calibration.room.map(f64::round), room);
        assert_eq!(calibration.narrow(&Limits::default()).most_images.chars, chars);
    }
}

#[test]
fn limits_on_images_outlast_a_change_of_window() {
    let mut calibration = after(&[("a", 50_000.0, 40_000)]);
    let refusal = Refusal { prompt: None, limit: None, images: Some(5), ..NAMED };
    assert_eq!(refuse(&mut calibration, "a", refusal, 40_000), None);
    calibration.forget_windows();
    let images = ImageSize { count: 5, ..ImageSize::MAX };
    assert_eq!(calibration.narrow(&Limits::default()).most_images, images);
    assert_eq!(calibration.learned(), None);
}
