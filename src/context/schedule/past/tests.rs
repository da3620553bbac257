//! Which messages stand for each other in two lists.

use super::*;
use crate::context::layers::Limits;
use crate::context::measure::{Part, Raw, RawRole, Rules, measure};
use crate::context::schedule::economy::Policy;
use crate::context::schedule::sticky::Sticky;
use crate::context::traits::hash_of_text;
use crate::context::transcript::Usage;

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// What is known by `name` at that time is one message.
fn dated(role: RawRole<'_>, parts: Vec<Part<'_>>, name: &[u16], timestamp_ms: Option<f64>) -> Message {
    let time = timestamp_ms.unwrap_or_default().to_bits();
    let identity = u128::from(hash_of_text(name)) << 64 | u128::from(time);
    Message { timestamp_ms, identity, ..measure(&Raw::new(role, parts), &Rules::default()) }
}

fn result(id: &str, text: &str, time: Option<f64>) -> Message {
    let (id, text) = (utf16(id), utf16(text));
    let role = RawRole::ToolResult { call_id: &id, tool_name: &[], marker: None };
    dated(role, vec![Part::Text(&text)], &text, time)
}

fn says(role: RawRole<'_>, text: &str, time: Option<f64>) -> Message {
    let text = utf16(text);
    dated(role, vec![Part::Text(&text)], &text, time)
}

fn answer(ids: &[&str], time: Option<f64>) -> Message {
    reported(ids, time, None)
}

fn reported(ids: &[&str], time: Option<f64>, input: Option<f64>) -> Message {
    let ids: Vec<Vec<u16>> = ids.iter().map(|id| utf16(id)).collect();
    let calls = ids.iter().map(|id| Part::Call { id, name: &[], arguments: &[], is_signed: false });
    let usage = Usage { input, ..Usage::default() };
    let role = RawRole::Assistant { api: &[], provider: &[], model: &[], usage, has_text_id: false };
    dated(role, calls.collect(), &ids.concat(), time)
}

#[test]
fn an_edited_message_is_known_by_its_role_its_time_and_its_call() {
    let now = Some(5.0);
    let user = says(RawRole::User, "as it was", now);
    assert!(is_same_input(&user, &says(RawRole::User, "otherwise", now)));
    assert!(!is_same_input(&user, &says(RawRole::User, "as it was", Some(6.0))));
    assert!(!is_same_input(&user, &says(RawRole::User, "as it was", None)));
    assert!(!is_same_input(&user, &says(RawRole::Other, "as it was", now)));
    assert!(!is_same_input(&user, &says(RawRole::Summary, "as it was", now)));

    let of_call = result("a", "as it was", now);
    assert!(is_same_input(&of_call, &result("a", "otherwise", now)));
    assert!(!is_same_input(&of_call, &result("b", "as it was", now)));
    assert!(!is_same_input(&of_call, &result("a", "as it was", Some(6.0))));
    assert!(!is_same_input(&of_call, &user));
    assert!(is_same_input(&result("a", "x", None), &result("a", "y", None)));

    assert!(!is_same_input(&answer(&["a"], now), &answer(&["a"], now)), "of an answer no text is changed");
    assert!(!is_same_input(&answer(&["a"], now), &user));
}

#[test]
fn only_a_time_or_a_call_tells_a_message_from_one_alike() {
    assert!(
        !is_telling(&says(RawRole::User, "go", None)) && is_telling(&says(RawRole::User, "go", Some(0.0)))
    );
    assert!(is_telling(&result("a", "x", None)));
    assert!(is_telling(&answer(&["a"], None)) && is_telling(&answer(&[], Some(1.0))));
    assert!(!is_telling(&answer(&[], None)));
}

#[test]
fn most_are_kept_where_three_are_and_more_than_half() {
    let old: Vec<Arc<Message>> =
        (0..8).map(|at| Arc::new(says(RawRole::User, &format!("old {at}"), Some(f64::from(at))))).collect();
    let new: Vec<Arc<Message>> =
        (0..8).map(|at| Arc::new(says(RawRole::User, &format!("new {at}"), Some(f64::from(at))))).collect();
    let mut fold = Sticky::new(Policy::default(), Limits::default());
    fold.advance(&Transcript::new(old.clone()));
    let kept = |added: usize, from: usize| {
        let rest: Vec<Arc<Message>> = new.iter().take(added).chain(old.iter().skip(from)).cloned().collect();
        kept_in(&fold, 0, &rest)
    };
    assert_eq!(kept(0, 1), (7, true));
    assert_eq!(kept(1, 6), (3, false), "two may be alike");
    assert_eq!(kept(1, 5), (4, true));
    assert_eq!(kept(3, 5), (6, false), "no more than half");
    assert_eq!(kept(8, 8), (0, false));
    assert_eq!(kept_in(&fold, 6, &old[6..]), (2, false));
}

#[test]
fn a_list_edited_all_over_goes_on_where_its_answer_is_that_of_the_last_call() {
    let list = |text: &str, more: Vec<Message>| -> Vec<Arc<Message>> {
        let asked = says(RawRole::User, text, Some(1.0));
        let first = [asked, reported(&["a"], Some(2.0), Some(5000.0)), result("a", text, Some(3.0))];
        first.into_iter().chain(more).map(Arc::new).collect()
    };
    let mut fold = Sticky::new(Policy::default(), Limits::default());
    let _ = fold.plan(&Transcript::new(list("as it was", vec![])));
    let planned = fold.planned_tokens().expect("there was a report");
    let is_edited_after =
        |input: Option<f64>| is_edited(&fold, &list("otherwise", vec![reported(&["b"], Some(4.0), input)]));
    assert!(is_edited_after(None), "not reported yet");
    assert!(is_edited_after(Some(planned * 1.2)) && is_edited_after(Some(planned * 0.8)));
    assert!(!is_edited_after(Some(planned * 1.3)) && !is_edited_after(Some(planned * 0.7)));
    assert!(!is_edited(&fold, &list("otherwise", vec![])), "nothing was answered");
}
