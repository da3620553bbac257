//! Tests of how messages belong together, and of what their facts say.

use super::*;
use crate::context::facts::measure::{Part, Raw, RawRole, Rules, measure};

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn answer(model: &str, ids: &[&str], usage: Usage) -> Message {
    let (model, ids) = (utf16(model), ids.iter().map(|id| utf16(id)).collect::<Vec<_>>());
    let role = RawRole::Assistant { api: &[], provider: &[], model: &model, usage, has_text_id: false };
    let calls = ids.iter().map(|id| Part::Call { id, name: &[], arguments: &[], is_signed: false });
    measure(&Raw::new(role, calls.collect()), &Rules::default())
}

fn result(id: &str, text: &str) -> Message {
    let (id, text) = (utf16(id), utf16(text));
    let role = RawRole::ToolResult { call_id: &id, tool_name: &[], marker: None };
    measure(&Raw::new(role, vec![Part::Text(&text)]), &Rules::default())
}

fn user() -> Message {
    measure(&Raw::new(RawRole::User, vec![]), &Rules::default())
}

fn transcript(messages: Vec<Message>) -> Transcript {
    Transcript::new(messages.into_iter().map(Arc::new).collect())
}

#[test]
fn a_prompt_is_what_was_read_and_written_and_the_rest() {
    let usage = |input, cache_read, cache_write| Usage { input, cache_read, cache_write, ..Usage::default() };
    let tokens = |usage: Usage| usage.prompt_tokens();
    assert_eq!(tokens(usage(Some(1.0), Some(20.0), Some(300.0))), Some(321.0));
    assert_eq!(tokens(usage(Some(5.0), None, None)), Some(5.0));
    assert_eq!(tokens(usage(None, Some(5.0), None)), None);
    assert_eq!(tokens(usage(Some(0.0), None, None)), None);
    assert_eq!(tokens(usage(Some(-1.0), None, None)), None);
    assert_eq!(tokens(usage(Some(1e8), None, None)), Some(1e8));
    assert_eq!(tokens(usage(Some(1e8 + 1.0), None, None)), None);
    assert_eq!(tokens(usage(Some(f64::NAN), None, None)), None);
    assert!(usage(None, Some(1.0), None).is_cached() && usage(None, None, Some(1.0)).is_cached());
    assert!(!usage(None, Some(0.0), None).is_cached() && !usage(None, None, None).is_cached());
}

#[test]
fn results_find_the_call_they_answer() {
    let calls = || answer("m", &["a", "b", "a"], Usage::default());
    let of = |ids: &[&str]| {
        let results = ids.iter().map(|id| result(id, "x"));
        transcript([user(), calls()].into_iter().chain(results).collect())
    };
    let two = of(&["a", "b", "a", "a"]);
    assert_eq!([two.call_position(2), two.call_position(3)], [0, 1]);
    assert_eq!(
        [two.link(2), two.link(4)],
        [Link::ResultOf(1), Link::Orphan],
        "no provider takes an id twice"
    );
    assert_eq!(two.group(1).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!([two.group_start(0), two.group_start(3), two.group_start(5)], [0, 1, 5]);
    assert_eq!((two.last_user(), two.len(), two.is_empty()), (Some(0), 6, false));
    assert!(transcript(vec![]).is_empty());
    let opened = transcript(vec![answer("m", &[], Usage::default()), user(), user()]);
    assert_eq!(opened.last_user(), Some(2));
}

fn other(role: RawRole<'_>) -> Message {
    measure(&Raw::new(role, vec![]), &Rules::default())
}

#[test]
fn a_message_that_a_provider_sees_moves_behind_the_results() {
    let calls = |ids: &[&str]| answer("m", ids, Usage::default());
    let order = |messages| transcript(messages).sending_order();
    let between = |role| order(vec![calls(&["a"]), other(role), result("a", "x"), user()]);
    for role in [RawRole::User, RawRole::Summary, RawRole::Custom] {
        assert_eq!(between(role), [0, 2, 1, 3], "{role:?}");
    }
    for role in [RawRole::System, RawRole::Other] {
        assert_eq!(between(role), [0, 1, 2, 3], "{role:?}");
    }
    let custom = || other(RawRole::Custom);
    let unsent = Message { is_sent: false, ..custom() };
    assert_eq!(order(vec![calls(&["a"]), unsent, result("a", "x")]), [0, 1, 2]);
    let (a, b) = (|| result("a", "x"), || result("b", "y"));
    assert_eq!(order(vec![calls(&["a", "b"]), custom(), a(), custom(), b(), custom()]), [0, 2, 4, 1, 3, 5]);
    // Groups in each other: every result follows its call.
    assert_eq!(order(vec![calls(&["a"]), calls(&["b"]), a(), b()]), [0, 2, 1, 3]);
    assert_eq!(order(vec![calls(&["a"]), calls(&["b"]), custom(), b(), a()]), [0, 4, 1, 3, 2]);
    assert_eq!(order(vec![calls(&["a"]), custom(), calls(&["b"]), a(), custom(), b()]), [0, 3, 1, 2, 5, 4]);
}

#[test]
fn a_result_answers_the_nearest_call_of_its_id() {
    let calls = |ids: &[&str]| answer("m", ids, Usage::default());
    let failed = || Message { is_sent: false, ..calls(&["a"]) };
    let link = |messages: Vec<Message>| transcript(messages).link(2);
    assert_eq!(link(vec![calls(&["a"]), calls(&["a"]), result("a", "x")]), Link::ResultOf(1));
    assert_eq!(link(vec![calls(&["a"]), calls(&[]), result("a", "x")]), Link::ResultOf(0));
    assert_eq!(
        link(vec![calls(&["a"]), failed(), result("a", "x")]),
        Link::Orphan,
        "it belongs to what failed"
    );
    let answered = transcript(vec![calls(&["a"]), calls(&["a"]), result("a", "x"), result("a", "x")]);
    assert_eq!(answered.link(3), Link::Orphan, "a duplicate does not answer an older call");
    let far = std::iter::once(calls(&["a"])).chain((0..8).map(|_| calls(&[]))).chain([result("a", "x")]);
    assert_eq!(transcript(far.collect()).link(9), Link::Orphan);
}

#[test]
fn equal_content_is_the_same_message_and_a_late_report_changes_nothing() {
    let report = Usage { input: Some(5.0), ..Usage::default() };
    let marked = |fingerprint, identity, usage| Message { fingerprint, identity, ..answer("m", &[], usage) };
    let unreported = marked(1, 9, Usage::default());
    assert!(unreported.is_same(&marked(1, 8, report)));
    assert!(unreported.is_same(&marked(2, 9, report)));
    assert!(!unreported.is_same(&marked(2, 8, report)));
    assert!(!marked(1, 9, report).is_same(&marked(2, 9, report)));
    assert!(unreported.is_same(&unreported));
}

#[test]
fn facts_take_as_many_bytes_as_what_they_own() {
    let named = |model: &str, ids: &[&str]| answer(model, ids, Usage::default()).heap_bytes();
    assert_eq!(named("long-model", &[]) - named("m", &[]), 9);
    assert_eq!(named("m", &["call_1"]) - named("m", &["c"]), 5);
    assert!(named("m", &["a", "b"]) - named("m", &["a"]) > size_of::<Box<str>>());
    let plain = result("a", "x").heap_bytes();
    assert_eq!(result("abcdef", "x").heap_bytes() - plain, 5);
    let long = result("a", &"some line of output\n".repeat(100));
    let shortened = long.tool_result().and_then(|result| result.shortened.as_ref()).map(|of| of.text.len());
    assert!(shortened.is_some_and(|len| long.heap_bytes() > plain + 2 * len));
    assert!(plain >= size_of::<Message>());
}

#[test]
fn facts_take_the_bytes_of_their_parts_and_nothing_twice() {
    let lines: Vec<String> = (0..300).map(|at| format!("src/file{at}.rs:{at}: some_name_{at}")).collect();
    let output = lines.join("\n");
    let of = result("a", &output);
    let parts = of.traits.heap_bytes() + of.cuts.heap_bytes() + size_of_val(&*of.images.lens);
    let body = of.tool_result().map_or(0, |result| {
        let shortened = result.shortened.as_ref().map_or(0, |of| size_of_val(&*of.text));
        shortened + result.call_id.len()
    });
    assert_eq!(of.heap_bytes(), size_of::<Message>() + parts + body);
    let traits = &of.traits;
    let sets =
        size_of_val(&*traits.identifiers) + size_of_val(&*traits.lines) + size_of_val(&*traits.targets);
    let kept = traits.kept.as_deref().map_or(0, size_of_val);
    let kept_lines = traits.kept_lines.as_deref().map_or(0, size_of_val);
    let layout = traits.layout.as_ref().map_or(0, crate::context::facts::traits::lines::Layout::heap_bytes);
    assert!(kept > 0 && kept_lines > 0 && layout > 0 && of.cuts.heap_bytes() > 0);
    assert_eq!(traits.heap_bytes(), sets + kept + kept_lines + layout);
}

#[test]
fn a_protected_result_keeps_its_text() {
    let mut message = result("a", &"some line of output\n".repeat(500));
    assert!(!message.cuts.is_empty() && message.tool_result().is_some_and(|of| of.shortened.is_some()));
    message.protect();
    assert!(message.is_protected && message.cuts.is_empty());
    assert!(message.tool_result().is_some_and(|of| of.shortened.is_none() && of.is_excluded));
}
