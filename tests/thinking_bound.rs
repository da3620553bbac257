//! Thinking that is bound to its prefix is only sent behind the very bytes it was made behind, under every schedule.

#![expect(clippy::indexing_slicing, reason = "a test that indexes out of bounds fails, as it should")]
#![expect(clippy::format_collect, reason = "made-up texts need no speed")]

use std::sync::Arc;

use pi_strata::context::layers::{Limits, Overflow};
use pi_strata::context::measure::{Part, Raw, RawRole, Rules, measure};
use pi_strata::context::plan::{Action, Plan};
use pi_strata::context::schedule::economy::Policy;
use pi_strata::context::schedule::verdict::Verdict;
use pi_strata::context::schedule::{Conversation, Decision, Lessons, Mode, Terms};
use pi_strata::context::transcript::{Message, Usage};
use pi_strata::contract::ECONOMY_THRIFTY;
use proptest::prelude::*;

const BOUND: &str = "claude-opus-5-5";

/// One step of a made-up agent: maybe a word of the user's first, then an answer with results of so many lines.
#[derive(Clone, Debug)]
struct Step {
    asks: bool,
    thinks: bool,
    results: Vec<u16>,
    gap_seconds: f64,
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![8 => 1.0..60.0, 1 => 301.0..900.0];
    let results = prop::collection::vec(0u16..150, 0..3);
    let step = (prop::bool::weighted(0.25), prop::bool::weighted(0.7), results, gap);
    let step =
        step.prop_map(|(asks, thinks, results, gap_seconds)| Step { asks, thinks, results, gap_seconds });
    prop::collection::vec(step, 1..most)
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// The answers report 1.2 tokens for each that is counted before them, or nothing.
fn conversation(steps: &[Step], model: &str, reports: bool) -> Vec<Arc<Message>> {
    let mut messages: Vec<Arc<Message>> = Vec::new();
    let mut counted = 0;
    let mut now = 1.7e12;
    let mut push = |role: RawRole<'_>, now: f64, parts: Vec<Part<'_>>| {
        let fingerprint = messages.len() as u128 + 1;
        let raw =
            Raw { timestamp_ms: Some(now), fingerprint, identity: fingerprint, ..Raw::new(role, parts) };
        let message = measure(&raw, &Rules::default());
        counted += message.tokens;
        messages.push(Arc::new(message));
        counted
    };
    let mut before = 0;
    let (api, provider, model) = (utf16("anthropic-messages"), utf16("anthropic"), utf16(model));
    for (number, step) in steps.iter().enumerate() {
        if step.asks || number == 0 {
            before = push(
                RawRole::User,
                now,
                vec![Part::Text(&utf16(&format!("question {number} about things")))],
            );
        }
        let role = RawRole::Assistant {
            api: &api,
            provider: &provider,
            model: &model,
            usage: Usage { input: reports.then_some(1.2 * before as f64), ..Usage::default() },
            has_text_id: false,
        };
        let (thought, said) = (utf16(&format!("thinking {number} ").repeat(40)), utf16("I look."));
        let ids: Vec<Vec<u16>> =
            (0..step.results.len()).map(|at| utf16(&format!("c{number}_{at}"))).collect();
        let (name, arguments) = (utf16("bash"), utf16(&format!("{{\"command\":\"run {number}\"}}")));
        let mut parts = vec![Part::Text(&said)];
        if step.thinks {
            parts.insert(0, Part::Thinking { text: &thought, signature: &[] });
        }
        parts.extend(ids.iter().map(|id| Part::Call {
            id,
            name: &name,
            arguments: &arguments,
            is_signed: false,
        }));
        before = push(role, now, parts);
        for (id, lines) in ids.iter().zip(&step.results) {
            let text: String = (0..*lines).map(|line| format!("line {line} of output_{number}\n")).collect();
            let role = RawRole::ToolResult { call_id: id, tool_name: &name, marker: None };
            before = push(role, now, vec![Part::Text(&utf16(&text))]);
        }
        now += 1000.0 * step.gap_seconds;
    }
    messages
}

fn limits() -> Limits {
    Limits {
        context_window: 12_000.0,
        overflow: Overflow::Shrink,
        reserve_tokens: Some(500.0),
        ..Limits::default()
    }
}

/// Goes on with the conversation until it is these messages, and decides about the call that would follow.
fn decided(messages: &[Arc<Message>], limits: &Limits, conversation: &mut Conversation) -> Decision {
    let policy = Policy { economy: ECONOMY_THRIFTY, ..Policy::default() };
    let known = conversation.transcript().len();
    conversation.splice(known, 0, 0, messages[known..].to_vec());
    let terms = Terms { policy, limits: limits.clone(), overhead_tokens: None, known_window: None };
    conversation.decide(&terms, &mut Lessons::default())
}

/// The sent part of each message.
fn sent(plan: &Plan, len: usize) -> Vec<String> {
    let mut sent = vec![String::new(); len];
    for (edit, index) in
        plan.edits.iter().flat_map(|edit| (edit.index..edit.end()).map(move |index| (edit, index)))
    {
        sent[index] = format!("{:?} {}", edit.action, edit.images_out);
    }
    sent
}

fn shows_thinking(message: &Message, sent: &str) -> bool {
    let has_thinking = message.sent_assistant().is_some_and(|of| of.thinking.is_some());
    let left =
        [Action::StripThinking, Action::Drop].iter().all(|gone| !sent.starts_with(&format!("{gone:?}")));
    has_thinking && left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bound_thinking_stands_behind_what_it_was_made_behind(steps in steps(60), is_sticky in any::<bool>(), reports in any::<bool>()) {
        let mode = if is_sticky { Mode::Sticky } else { Mode::EveryCall };
        let messages = conversation(&steps, BOUND, reports);
        let (mut grown, limits) = (Conversation::new(mode), limits());
        let mut behind: Vec<Vec<String>> = vec![Vec::new(); messages.len()];
        for at in (1..messages.len()).filter(|&at| messages[at].assistant().is_some()) {
            let now = sent(&decided(&messages[..at], &limits, &mut grown).plan, at);
            for index in (0..at).filter(|&index| shows_thinking(&messages[index], &now[index])) {
                prop_assert_eq!(&behind[index], &now[..index].to_vec(), "thinking of {} at call {}", index, at);
            }
            behind[at] = now;
        }
    }
}

#[test]
fn a_batch_waits_for_the_end_of_the_turn_unless_the_window_is_passed() {
    let step = |asks, gap_seconds| Step { asks, thinks: true, results: vec![40], gap_seconds };
    let mut steps = vec![step(false, 5.0); 60];
    steps.push(step(false, 900.0));
    let limits = Limits { context_window: 90_000.0, ..limits() };
    let verdict = |messages: &[Arc<Message>], limits: &Limits| {
        decided(messages, limits, &mut Conversation::new(Mode::Sticky)).arithmetic.map(|of| of.verdict)
    };
    let mut bound = conversation(&steps, BOUND, true);
    // The cache is cold by then: other models move.
    let late = |messages: &mut Vec<Arc<Message>>| {
        if let Some(last) = messages.last_mut() {
            let mut message = (**last).clone();
            message.timestamp_ms = message.timestamp_ms.map(|ms| ms + 900_000.0);
            *last = Arc::new(message);
        }
    };
    late(&mut bound);
    assert_eq!(verdict(&bound, &limits), Some(Verdict::TurnOpen));
    let mut free = conversation(&steps, "claude-opus-4-5", true);
    late(&mut free);
    assert_eq!(verdict(&free, &limits), Some(Verdict::Cold));
    let small = Limits { context_window: 6000.0, ..limits.clone() };
    let mut at_calls = (1..bound.len()).filter(|&at| bound[at].assistant().is_some());
    let moves = |at: usize| verdict(&bound[..at], &small) == Some(Verdict::OverWindow);
    assert!(at_calls.any(moves), "what does not fit cannot wait");
    steps.push(step(true, 5.0));
    let mut closed = conversation(&steps, BOUND, true);
    closed.truncate(closed.len() - 2);
    assert_eq!(verdict(&closed, &limits), Some(Verdict::Cold));
}
