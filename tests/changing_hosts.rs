//! What is known outlives a host that changes its list or its model's window: a report is of what was really sent, and only
//! what is decided next goes by the new window.

#![expect(clippy::indexing_slicing, reason = "a test that indexes out of bounds fails, as it should")]

use std::sync::Arc;

use pi_strata::context::decide::economy::Policy;
use pi_strata::context::decide::verdict::Verdict;
use pi_strata::context::decide::weights::LEAST_CONTEXT;
use pi_strata::context::decide::{Conversation, Decision, Lessons, Mode, Terms};
use pi_strata::context::facts::measure::{Part, Raw, RawRole, Rules, measure};
use pi_strata::context::facts::transcript::{Message, Refusal, Usage};
use pi_strata::context::request::layers::Limits;
use pi_strata::tokens::estimate::{MESSAGE_FRAME_TOKENS, Size};

/// What the provider counts beside the messages, and for one token of cl100k.
const BESIDE: f64 = 1000.0;
const SCALE: f64 = 1.4;
const WINDOW: f64 = 32_000.0;

fn prompt(sent: Size) -> f64 {
    BESIDE + SCALE * sent.cl100k as f64 + MESSAGE_FRAME_TOKENS * sent.messages as f64
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// A host with its list; each message is a second newer than the one before, and like no other.
struct Host {
    conversation: Conversation,
    messages: Vec<Arc<Message>>,
    context_window: f64,
    made: u32,
    /// Since the first message, in ms.
    now: f64,
}

impl Host {
    fn new(mode: Mode) -> Self {
        let mut host = Self {
            conversation: Conversation::new(mode),
            messages: Vec::new(),
            context_window: WINDOW,
            made: 0,
            now: 0.0,
        };
        let question = host.say(RawRole::User, 20);
        host.messages.push(question);
        host
    }

    fn make(&mut self, role: RawRole<'_>, is_sent: bool, parts: Vec<Part<'_>>) -> Arc<Message> {
        self.made += 1;
        self.now += 1000.0;
        let identity = u128::from(self.made);
        let timestamp_ms = Some(1.7e12 + self.now);
        let raw = Raw { timestamp_ms, is_sent, fingerprint: identity, identity, ..Raw::new(role, parts) };
        Arc::new(measure(&raw, &Rules::default()))
    }

    fn say(&mut self, role: RawRole<'_>, words: usize) -> Arc<Message> {
        let text = utf16(&format!("word_{} ", self.made).repeat(words));
        self.make(role, true, vec![Part::Text(&text)])
    }

    /// A step of the agent: an answer with this usage that reads a file, and its result.
    fn step(&mut self, usage: Usage) {
        let id = utf16(&format!("call_{}", self.made));
        let (api, provider, model) = (utf16("api"), utf16("provider"), utf16("model"));
        let (name, arguments) = (utf16("read"), utf16(&format!("{{\"path\":\"file_{}\"}}", self.made)));
        let answer =
            RawRole::Assistant { api: &api, provider: &provider, model: &model, usage, has_text_id: false };
        let call = Part::Call { id: &id, name: &name, arguments: &arguments, is_signed: false };
        let answer = self.make(answer, usage.refused.is_none(), vec![call]);
        self.messages.push(answer);
        if usage.refused.is_none() {
            let result = RawRole::ToolResult { call_id: &id, tool_name: &name, marker: None };
            let result = self.say(result, 200);
            self.messages.push(result);
        }
    }

    /// Decides about the next call, the list being changed since by this splice.
    fn decide(&mut self, at: usize, removed: usize, inserted: usize) -> Decision {
        self.conversation.splice(at, removed, inserted, self.messages[at..].to_vec());
        let limits = Limits { context_window: self.context_window, ..Limits::default() };
        let policy = Policy::default();
        let terms = Terms { policy, limits, overhead_tokens: None, known_window: None };
        self.conversation.decide(&terms, &mut Lessons::default())
    }

    /// The calls of so many steps, and one that is planned: what is sent in that.
    fn goes_on(&mut self, steps: usize) -> Size {
        let mut known = 0;
        for _ in 0..steps {
            let decision = self.decide(known, 0, 0);
            known = self.messages.len();
            self.step(Usage { input: Some(prompt(decision.plan.after)), ..Usage::default() });
        }
        self.decide(known, 0, 0).plan.after
    }
}

fn is_learned(decision: &Decision, sent: Size, reported: f64) {
    let estimate = decision.estimate.tokens(sent);
    assert!((estimate - reported).abs() < 0.01 * reported, "{estimate} where {reported} was reported");
}

#[test]
fn a_refusal_is_of_what_was_sent_though_the_host_compacted_and_changed_what_it_kept() {
    for mode in [Mode::Sticky, Mode::EveryCall] {
        let mut host = Host::new(mode);
        let sent = host.goes_on(40);
        let before = host.messages.len();
        // More than was known, but not so much more that the number must be of something else.
        let told = 1.4 * prompt(sent);
        let refused = Refusal { prompt: Some(told), ..Refusal::default() };
        host.step(Usage { refused: Some(refused), ..Usage::default() });
        let kept = host.messages.split_off(before - 6);
        let summary = host.say(RawRole::Summary, 100);
        let question = host.say(RawRole::User, 20);
        host.messages = [vec![summary], kept, vec![question]].concat();
        let newest = host.messages.len() - 3;
        host.messages[newest] = host.say(RawRole::User, 30);
        let inserted = host.messages.len();
        is_learned(&host.decide(0, before, inserted), sent, told);
    }
}

#[test]
fn under_a_wider_window_a_cold_cache_moves_nothing_of_little_context() {
    let mut host = Host::new(Mode::Sticky);
    host.goes_on(10);
    let sent = host.decide(host.messages.len(), 0, 0);
    assert!(prompt(sent.plan.after) < LEAST_CONTEXT, "the test needs less");
    host.context_window = 4.0 * WINDOW;
    host.now += 3.6e6;
    host.step(Usage { input: Some(prompt(sent.plan.after)), ..Usage::default() });
    let known = host.messages.len() - 2;
    let arithmetic = host.decide(known, 0, 0).arithmetic;
    assert_eq!(arithmetic.map(|of| of.verdict), Some(Verdict::Wait), "{arithmetic:?}");
}
