//! Properties of the sticky schedule, over made-up conversations: what it may never do, whatever comes in.

#![expect(clippy::indexing_slicing, reason = "a test that indexes out of bounds fails, as it should")]
#![expect(clippy::format_collect, reason = "made-up texts need no speed")]

use std::sync::Arc;

use pi_strata::context::decide::economy::Policy;
use pi_strata::context::decide::verdict::{Arithmetic, Verdict};
use pi_strata::context::decide::weights::LEAST_SHARE;
use pi_strata::context::decide::{Conversation, Decision, Lessons, Mode, Terms, decide};
use pi_strata::context::facts::measure::{Part, Raw, RawRole, Rules, measure};
use pi_strata::context::facts::transcript::{Body, Link, Message, Transcript, Usage};
use pi_strata::context::request::account::Account;
use pi_strata::context::request::layers::{Limits, Overflow, window};
use pi_strata::context::request::plan::{Action, Edit};
use pi_strata::contract::{ECONOMY_BALANCED, ECONOMY_THRIFTY};
use proptest::prelude::*;

/// One turn of a made-up conversation.
#[expect(clippy::struct_excessive_bools, reason = "independent coins")]
#[derive(Clone, Debug)]
struct Turn {
    says: bool,
    thinks: bool,
    /// File or command of each call, and how long its result is.
    calls: Vec<(u8, u16)>,
    /// Words it takes up from earlier results.
    uses: Vec<u8>,
    ok: bool,
    /// A reported size; `Some(0.0)` stands for the true one.
    usage: Option<f64>,
    model: bool,
    /// True if the app puts in a note of its own afterwards.
    notes: bool,
    /// Seconds until the next message.
    gap: Option<f64>,
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Equal content, equal fingerprint; FNV-1a is enough to tell these apart.
fn fingerprint(content: &str) -> u128 {
    content.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let usage = prop_oneof![4 => Just(Some(0.0)), 1 => Just(None), 1 => Just(Some(f64::NAN)), 1 => Just(Some(-5.0)), 1 => Just(Some(1e300))];
    let gap = prop_oneof![8 => (0.0..60.0).prop_map(Some), 1 => (301.0..4000.0).prop_map(Some), 1 => (-900.0..0.0).prop_map(Some), 1 => Just(None)];
    let turn = (
        prop::bool::weighted(0.4),
        any::<bool>(),
        prop::collection::vec((0u8..6, 0u16..120), 0..4),
        prop::collection::vec(any::<u8>(), 0..6),
        prop::bool::weighted(0.9),
        usage,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.1),
        gap,
    );
    let turn = turn.prop_map(|(says, thinks, calls, uses, ok, usage, model, notes, gap)| Turn {
        says,
        thinks,
        calls,
        uses,
        ok,
        usage,
        model,
        notes,
        gap,
    });
    prop::collection::vec(turn, 1..40)
}

/// Measures messages as the boundary would.
struct Maker {
    messages: Vec<Arc<Message>>,
    now: f64,
    known: bool,
}

impl Maker {
    fn push(&mut self, role: RawRole<'_>, is_sent: bool, parts: Vec<Part<'_>>) {
        let fingerprint = fingerprint(&format!("{role:?}{is_sent}{:?}{parts:?}", self.now));
        let timestamp_ms = self.known.then_some(self.now);
        let raw = Raw { timestamp_ms, is_sent, fingerprint, identity: fingerprint, ..Raw::new(role, parts) };
        self.messages.push(Arc::new(measure(&raw, &Rules::default())));
    }

    fn turn(&mut self, number: usize, turn: &Turn) {
        if turn.says || number == 0 {
            let text =
                utf16(&format!("please change question_{number} and identifier_{} ", number % 7).repeat(30));
            self.push(RawRole::User, true, vec![Part::Text(&text)]);
        }
        let tokens: usize = self.messages.iter().map(|message| message.tokens).sum();
        let prompt =
            turn.usage.map(|usage| if usage.to_bits() == 0 { 3000.0 + 1.3 * tokens as f64 } else { usage });
        let words: String = turn.uses.iter().map(|word| format!(" identifier_{word}")).collect();
        let text = utf16(&format!("I look at{words}"));
        let thought = utf16(&format!("considering alternatives_{number}{words}"));
        let calls: Vec<_> = turn
            .calls
            .iter()
            .enumerate()
            .map(|(at, (what, _))| {
                let arguments = if *what < 4 {
                    format!("{{\"path\":\"src/file_{what}.rs\"}}")
                } else {
                    format!("{{\"command\":\"cargo test {what}\"}}")
                };
                (
                    utf16(&format!("call_{number}_{at}")),
                    utf16(if *what < 4 { "read" } else { "bash" }),
                    utf16(&arguments),
                )
            })
            .collect();
        let mut parts = vec![Part::Text(&text)];
        if turn.thinks {
            parts.insert(0, Part::Thinking { text: &thought, signature: &[] });
        }
        parts.extend(calls.iter().map(|(id, name, arguments)| Part::Call {
            id,
            name,
            arguments,
            is_signed: false,
        }));
        let (api, provider, model) =
            (utf16("anthropic-messages"), utf16("anthropic"), utf16(if turn.model { "a" } else { "b" }));
        let role = RawRole::Assistant {
            api: &api,
            provider: &provider,
            model: &model,
            usage: Usage { input: prompt, ..Usage::default() },
            has_text_id: false,
        };
        self.push(role, turn.ok, parts);
        for ((id, name, _), (_, length)) in calls.iter().zip(&turn.calls) {
            let text = utf16(
                &(0..*length)
                    .map(|line| {
                        format!(
                            "line {line} has identifier_{} and local_{number}_{}\n",
                            line % 256,
                            line / 16
                        )
                    })
                    .collect::<String>(),
            );
            self.push(
                RawRole::ToolResult { call_id: id, tool_name: name, marker: None },
                true,
                vec![Part::Text(&text)],
            );
        }
        if turn.notes {
            let text = utf16(&format!("note {number}: nothing new\n").repeat(200));
            self.push(RawRole::Other, true, vec![Part::Text(&text)]);
        }
        self.known = turn.gap.is_some();
        self.now += turn.gap.unwrap_or(1.0) * 1000.0;
    }
}

fn conversation(turns: &[Turn]) -> Vec<Arc<Message>> {
    let mut maker = Maker { messages: Vec::new(), now: 1.7e12, known: true };
    for (number, turn) in turns.iter().enumerate() {
        maker.turn(number, turn);
    }
    maker.messages
}

fn limits() -> Limits {
    Limits { context_window: 20_000.0, overflow: Overflow::Keep, ..Limits::default() }
}

fn policy(economy: f64) -> Policy {
    Policy { economy, ..Policy::default() }
}

/// A conversation under the sticky schedule, and the terms of all its calls.
struct Sticky(Conversation, Terms);

impl Sticky {
    fn new(policy: Policy, limits: Limits) -> Self {
        Self(
            Conversation::new(Mode::Sticky),
            Terms { policy, limits, overhead_tokens: None, known_window: None },
        )
    }

    fn decide(&mut self, messages: &[Arc<Message>]) -> (Decision, Arithmetic) {
        let known = self.0.transcript().len();
        self.0.splice(known, 0, 0, messages[known..].to_vec());
        let decision = self.0.decide(&self.1, &mut Lessons::default());
        let Some(arithmetic) = decision.arithmetic else { unreachable!("the schedule weighs") };
        (decision, arithmetic)
    }
}

fn plan(sticky: &mut Sticky, messages: &[Arc<Message>]) -> (Vec<Edit>, Arithmetic) {
    let (decision, arithmetic) = sticky.decide(messages);
    (decision.plan.by_message(sticky.0.transcript()), arithmetic)
}

fn fresh(messages: &[Arc<Message>]) -> (Vec<Edit>, Arithmetic) {
    plan(&mut Sticky::new(policy(ECONOMY_BALANCED), limits()), messages)
}

/// True if nothing was reported, and the context is so large that only the first call on a list edits it for that.
fn is_met_without_report(arithmetic: &Arithmetic) -> bool {
    arithmetic.verdict == Verdict::Unreported && arithmetic.context >= LEAST_SHARE * limits().context_window
}

/// The places of calls: before each assistant message, and at the end.
fn calls(messages: &[Arc<Message>]) -> Vec<usize> {
    (1..messages.len()).filter(|&at| messages[at].assistant().is_some()).chain([messages.len()]).collect()
}

/// The share that is gone; a result that was cut by line may lose more lines.
fn depth(action: &Action) -> u32 {
    match action {
        Action::Drop => u32::MAX,
        Action::KeepLines(kept) => u32::MAX / 2 - kept.tokens,
        _ => u32::MAX / 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_edited_message_keeps_its_bytes_or_goes(turns in turns()) {
        let messages = conversation(&turns);
        let mut sticky = Sticky::new(policy(ECONOMY_THRIFTY), limits());
        let mut before: Vec<Option<u32>> = Vec::new();
        for at in calls(&messages) {
            let (edits, account) = plan(&mut sticky, &messages[..at]);
            let mut now = vec![None; at];
            for edit in &edits {
                now[edit.index] = Some(depth(&edit.action));
            }
            for (index, (then, now)) in before.iter().zip(&now).enumerate() {
                prop_assert!(now >= then, "message {} went back", index);
                // Layer 1 and 3 repair orphans as they come; all else waits for a batch.
                if account.verdict == Verdict::Wait {
                    prop_assert_eq!(now, then, "message {} changed while waiting", index);
                }
            }
            before = now;
        }
    }

    /// The newest are as many as the host said; where a limit bites, the last group.
    #[test]
    fn the_newest_and_the_first_user_message_stay_and_groups_are_whole(turns in turns()) {
        let (messages, limits) = (conversation(&turns), limits());
        let mut sticky = Sticky::new(policy(ECONOMY_BALANCED), limits.clone());
        let mut before: Vec<Edit> = Vec::new();
        for at in calls(&messages) {
            let (Decision { plan, .. }, arithmetic) = sticky.decide(&messages[..at]);
            let transcript = Transcript::new(messages[..at].to_vec());
            let edits = plan.by_message(&transcript);
            let gone: Vec<usize> = edits.iter().filter(|edit| edit.action == Action::Drop).map(|edit| edit.index).collect();
            let is_at_limit = arithmetic.context > limits.threshold().min(limits.budget());
            let is_turn = |&index: &usize| {
                messages[index].is_sent && messages[index].tokens > 0 && transcript.link(index) != Link::Orphan
            };
            let last = (0..at).rfind(is_turn);
            let last_group = last.map_or(0, |index| transcript.group_start(index));
            let of = |index: usize| before.iter().find(|edit| edit.index == index);
            for edit in edits.iter().filter(|edit| of(edit.index).is_none_or(|before| before.action != edit.action)) {
                let results = (edit.index..at).filter(|&index| messages[index].tool_result().is_some());
                let is_older = is_at_limit && edit.index < last_group;
                match &edit.action {
                    Action::Summarize | Action::KeepLines(_) => prop_assert!(
                        results.count() > limits.keep_recent_tool_results || is_older,
                        "result {} of {} was cut", edit.index, at
                    ),
                    Action::Drop if transcript.link(edit.index) != Link::Orphan => {
                        prop_assert!(
                            edit.index + limits.keep_recent_messages < at || is_older,
                            "message {} of {} went", edit.index, at
                        );
                        prop_assert!(transcript.group(transcript.group_start(edit.index)).all(|member| gone.contains(&member)));
                        prop_assert!(Some(edit.index) != messages.iter().position(|message| message.is_user()));
                    }
                    _ => {}
                }
            }
            before = edits;
        }
    }

    #[test]
    fn user_text_goes_only_when_nothing_else_is_left(turns in turns()) {
        let messages = conversation(&turns);
        let mut sticky = Sticky::new(policy(ECONOMY_BALANCED), limits());
        let mut users_gone = 0;
        for at in calls(&messages) {
            let (edits, account) = plan(&mut sticky, &messages[..at]);
            let dropped = |index: usize| edits.iter().any(|edit| edit.index == index && edit.action == Action::Drop);
            let now_gone = (0..at).filter(|&index| messages[index].is_user() && dropped(index)).count();
            if now_gone > users_gone && account.verdict != Verdict::Wait {
                let tail = window::tail_start(&Account::of(&Transcript::new(messages[..at].to_vec())), &limits());
                let left = (1..tail).find(|&index| messages[index].assistant().is_some() && !dropped(index));
                prop_assert_eq!(left, None, "user text went before this");
            }
            users_gone = now_gone;
        }
    }

    /// After the user's words the steps begin that Gemini 3 wants signed: no older ones may come among them.
    #[test]
    fn a_note_in_the_open_turn_goes_only_after_all_before_it(mut turns in turns()) {
        for (number, turn) in turns.iter_mut().enumerate() {
            turn.says = false;
            turn.notes = number % 4 == 1;
        }
        let messages = conversation(&turns);
        for at in calls(&messages) {
            let (edits, _) = fresh(&messages[..at]);
            let dropped = |index: usize| edits.iter().any(|edit| edit.index == index && edit.action == Action::Drop);
            let open = messages[..at].iter().rposition(|message| message.is_user()).unwrap_or(0)..at;
            let note = open.clone().rfind(|&index| matches!(messages[index].body, Body::Other) && dropped(index));
            let left = (open.start..note.unwrap_or(0)).find(|&index| messages[index].assistant().is_some() && !dropped(index));
            prop_assert_eq!(left, None, "note {:?} went before this", note);
        }
    }

    #[test]
    fn a_conversation_that_grows_is_the_one_met_whole(turns in turns()) {
        let messages = conversation(&turns);
        let terms = Terms { policy: policy(ECONOMY_BALANCED), limits: limits(), overhead_tokens: None, known_window: None };
        for mode in [Mode::Sticky, Mode::EveryCall] {
            let mut grown = Conversation::new(mode);
            for end in (1..=messages.len()).filter(|&at| messages.get(at).is_none_or(|of| of.assistant().is_some())) {
                let known = grown.transcript().len();
                grown.splice(known, 0, 0, messages[known..end].to_vec());
                let decision = grown.decide(&terms, &mut Lessons::default());
                let whole = Transcript::new(messages[..end].to_vec());
                let anew = decide(&whole, mode, &terms.policy, &terms.limits, None);
                if !anew.arithmetic.as_ref().is_some_and(is_met_without_report) {
                    prop_assert_eq!((decision.plan.edits, decision.arithmetic), (anew.plan.edits, anew.arithmetic));
                }
                prop_assert_eq!(decision.estimate, anew.estimate);
            }
        }
    }

    #[test]
    fn edited_thinking_never_precedes_kept_thinking_of_closed_turns(turns in turns()) {
        let messages = conversation(&turns);
        let (edits, account) = fresh(&messages);
        prop_assume!(account.verdict != Verdict::Wait);
        let last_user = messages.iter().rposition(|message| message.is_user()).unwrap_or(0);
        let edited = |index: usize| edits.iter().any(|edit| edit.index == index);
        let newest = messages.iter().rposition(|message| message.sent_assistant().is_some_and(|assistant| assistant.thinking.is_some()));
        for (index, message) in messages.iter().enumerate().take(last_user) {
            let has_thinking = message.sent_assistant().is_some_and(|assistant| assistant.thinking.is_some());
            prop_assert!(!has_thinking || edited(index) || Some(index) == newest, "message {} kept its thinking", index);
        }
    }
}
