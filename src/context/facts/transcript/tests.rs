//! Tests of how messages belong together, and of what their facts say.

use super::*;
use crate::context::facts::measure::{Part, Raw, RawRole, Rules, measure};
use crate::text::utf16;

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
