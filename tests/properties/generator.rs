//! Generated conversations: what real sessions hold, in any order that is possible, up to a given length; and with
//! noise, what breaks them.

use std::collections::VecDeque;

use pi_strata::context::layers::{Limits, Overflow, ThinkingScope};
use pi_strata::context::schedule::Mode;

use super::model::{Block, Message, Role, Text};

pub(crate) const APIS: [&str; 6] = [
    "anthropic-messages",
    "openai-completions",
    "openai-responses",
    "google-generative-ai",
    "mistral-conversations",
    "of-a-kind-unknown",
];

/// The source of chance: the bytes of a fuzzer as long as they last, then a small generator of its own
/// (xorshift64*), so that one seed names one conversation.
pub(crate) struct Dice {
    bytes: VecDeque<u8>,
    state: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed | 1, ..Self::reading(&[]) }
    }

    pub(crate) fn reading(bytes: &[u8]) -> Self {
        Self { bytes: bytes.iter().copied().collect(), state: 1 }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if let Some(byte) = self.bytes.pop_front() {
            let more = if bound > 256 { self.bytes.pop_front().unwrap_or_default() } else { 0 };
            return usize::from(u16::from_le_bytes([byte, more])) % bound;
        }
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

pub(crate) fn limits(dice: &mut Dice) -> Limits {
    Limits {
        context_window: dice.pick(&[500.0, 3000.0, 12_000.0, 60_000.0, 1e9]),
        context_ratio: dice.pick(&[0.1, 0.75, 1.0]),
        keep_recent_tool_results: dice.below(8),
        keep_recent_thinking: dice.below(3),
        keep_recent_messages: dice.below(30),
        thinking_scope: dice.pick(&[ThinkingScope::All, ThinkingScope::ClosedTurns]),
        overflow: if dice.one_in(5) { Overflow::Keep } else { Overflow::Shrink },
        reserve_tokens: Some(dice.pick(&[0.0, 200.0, 8192.0])),
        ..Limits::default()
    }
}

pub(crate) fn mode(dice: &mut Dice) -> Mode {
    dice.pick(&[Mode::EveryCall, Mode::Sticky])
}

pub(crate) struct Conversation {
    pub(crate) api: &'static str,
    pub(crate) messages: Vec<Message>,
}

/// A conversation of at most `len` messages; about one message in `noise` is broken, none if it is `None`.
pub(crate) fn conversation(mut dice: Dice, len: usize, noise: Option<usize>) -> Conversation {
    let api = dice.pick(&APIS);
    let mut maker = Maker { dice, api, noise, next_id: 0, messages: Vec::new() };
    maker.opening();
    while maker.messages.len() < len {
        maker.turn(len);
    }
    maker.messages.truncate(len);
    // A call cut from its results by the end is no noise of ours.
    if noise.is_none() {
        maker.close();
    }
    Conversation { api, messages: maker.messages }
}

struct Maker {
    dice: Dice,
    api: &'static str,
    noise: Option<usize>,
    next_id: usize,
    messages: Vec<Message>,
}

impl Maker {
    fn is_noise(&mut self) -> bool {
        self.noise.is_some_and(|noise| self.dice.one_in(noise))
    }

    fn push(&mut self, role: Role, blocks: Vec<Block>) {
        self.messages.push(Message { role, is_sent: true, blocks });
    }

    fn opening(&mut self) {
        if self.dice.one_in(3) {
            let prompt = self.text(4);
            self.push(Role::System, vec![Block::Text(prompt), Block::Counted("{\"tools\":[]}".into())]);
        }
        match self.dice.below(5) {
            0 => self.summary(),
            1 => self.other(),
            _ => {}
        }
        if !self.is_noise() {
            self.user();
        }
    }

    fn turn(&mut self, len: usize) {
        for _ in 0..self.dice.below(12) {
            if self.messages.len() >= len {
                return;
            }
            match self.dice.below(24) {
                0 => self.failed_assistant(),
                1 => self.system(),
                2 => self.other(),
                _ => self.step(),
            }
        }
        if self.dice.one_in(2) && !self.messages.is_empty() {
            let last = self.text(3);
            self.assistant(vec![Block::Text(last)]);
        }
        match self.dice.below(10) {
            0 => self.summary(),
            _ => self.user(),
        }
    }

    fn system(&mut self) {
        let text = self.text(2);
        self.push(Role::System, vec![Block::Text(text)]);
    }

    fn summary(&mut self) {
        let text = self.text(8);
        self.push(Role::Summary, vec![Block::Counted(text)]);
    }

    fn other(&mut self) {
        let text = self.text(6);
        let role = if self.dice.one_in(2) { Role::Custom } else { Role::Other };
        self.push(role, vec![Block::Text(text), Block::Unknown]);
        if self.dice.one_in(4)
            && let Some(message) = self.messages.last_mut()
        {
            message.is_sent = false;
        }
    }

    fn user(&mut self) {
        let mut blocks = Vec::new();
        if self.dice.one_in(5) {
            blocks.push(Block::Image);
        }
        let text = if self.is_noise() { self.broken_text() } else { self.text(12) };
        blocks.push(Block::Text(text));
        self.push(Role::User, blocks);
    }

    fn assistant(&mut self, blocks: Vec<Block>) {
        let model = if self.dice.one_in(2) { "gemini-3-pro" } else { "model" };
        self.push(Role::Assistant { api: self.api.into(), model: model.into() }, blocks);
    }

    /// Stopped by an error or by hand: never sent again.
    fn failed_assistant(&mut self) {
        let mut blocks = self.thoughts();
        if self.dice.one_in(2) {
            blocks.push(self.call());
        }
        self.assistant(blocks);
        if let Some(message) = self.messages.last_mut() {
            message.is_sent = false;
        }
    }

    fn thoughts(&mut self) -> Vec<Block> {
        let count = self.dice.pick(&[0, 0, 1, 1, 2]);
        let thought = |maker: &mut Self| Block::Thinking {
            text: maker.text(6),
            signature: maker.dice.pick(&["", "reasoning_content", "Eq/4kA=="]).into(),
        };
        (0..count).map(|_| thought(self)).collect()
    }

    fn call(&mut self) -> Block {
        self.next_id += 1;
        let reuses = self.is_noise();
        let id = if reuses { "call_1".to_owned() } else { format!("call_{}", self.next_id) };
        let id = if self.is_noise() { format!("{id}|fc.1") } else { id };
        let arguments = if self.is_noise() { r#"{"text":"\ud83d"}"# } else { r#"{"path":"src/lib.rs"}"# };
        let is_signed = !self.is_noise();
        let name = self.dice.pick(&["read", "bash"]);
        Block::Call { id: id.as_str().into(), name: name.into(), arguments: arguments.into(), is_signed }
    }

    /// An assistant message with calls, and its results.
    fn step(&mut self) {
        let mut blocks = self.thoughts();
        if self.dice.one_in(2) {
            let text = if self.is_noise() { self.broken_text() } else { self.text(3) };
            blocks.push(Block::Text(text));
        }
        let count = self.dice.pick(&[1, 1, 1, 2, 3, 5]);
        let calls: Vec<Block> = (0..count).map(|_| self.call()).collect();
        blocks.extend(calls.iter().cloned());
        if self.is_noise() {
            blocks.push(Block::Text("and then".into()));
        }
        self.assistant(blocks);
        self.between();
        let mut calls = calls;
        if self.dice.one_in(3) {
            calls.reverse();
        }
        for call in &calls {
            if !self.is_noise() {
                self.result(call);
            }
            self.between();
            if self.is_noise() {
                self.result(call);
            }
        }
    }

    /// A message between a call and its results, seldom one that a provider sees.
    fn between(&mut self) {
        if self.is_noise() {
            match self.dice.below(4) {
                0 => self.user(),
                1 => self.summary(),
                2 => self.assistant(vec![Block::Text("aside".into())]),
                _ => self.push(Role::Custom, vec![Block::Text("a note".into())]),
            }
        } else if self.dice.one_in(60) {
            self.push(Role::Other, vec![Block::Text("an app's own".into())]);
        }
    }

    fn result(&mut self, call: &Block) {
        let Block::Call { id, name, .. } = call else { return };
        let mut blocks = Vec::new();
        for _ in 0..self.dice.pick(&[0, 1, 1, 1, 1, 2]) {
            let text = if self.is_noise() { self.broken_text() } else { self.text(60) };
            blocks.push(Block::Text(text));
        }
        if self.dice.one_in(12) {
            blocks.push(Block::Image);
        }
        self.push(Role::ToolResult { call_id: id.clone(), tool_name: name.clone() }, blocks);
    }

    /// Nothing is left open at the end.
    fn close(&mut self) {
        let ends_open =
            |messages: &[Message]| messages.last().is_some_and(|message| !matches!(message.role, Role::User));
        while ends_open(&self.messages) {
            self.messages.pop();
        }
    }

    fn text(&mut self, max_lines: usize) -> Text {
        const LINES: [&str; 9] = [
            "fn main() { println!(\"{}\", 1); }",
            "error: 未找到文件 src/lib.rs",
            "",
            "   ",
            "😀😀😀 done",
            "The quick brown fox jumps over the lazy dog.",
            "0123456789abcdef0123456789abcdef",
            "\tat run (src/a.js:1:2)",
            "the of and to in a is that",
        ];
        let mut text = String::from("-");
        for _ in 0..=self.dice.below(max_lines) {
            text.push_str(self.dice.pick(&LINES));
            if self.dice.one_in(36) {
                text.push_str(&"long 😀".repeat(100 + self.dice.below(400)));
            }
            text.push('\n');
        }
        if self.dice.one_in(40) {
            text.push_str(&"paste ".repeat(self.dice.below(4000)));
        }
        text.push('.');
        text.as_str().into()
    }

    fn broken_text(&mut self) -> Text {
        match self.dice.below(3) {
            0 => "".into(),
            1 => " \n".into(),
            _ => Text([&[0xD83D], &*"half ".repeat(200).encode_utf16().collect::<Vec<_>>()].concat()),
        }
    }
}
