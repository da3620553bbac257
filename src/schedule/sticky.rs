//! The sticky schedule: a fold over the transcript that edits old messages in batches, when that pays.
//!
//! Messages flow in; a draft flows out, with the arithmetic of why the frontier moved or waits. What is decided at a
//! call depends on the messages before it alone, so the same transcript gives the same bytes after a restart, and an
//! edited message keeps its bytes. Every assistant message marks a call: even a failed request was sent with what was
//! decided for it. The fold holds no clock and no text.

use std::sync::Arc;

use super::batch::{Batch, Scope};
use super::calibration::{Calibration, Sent};
use super::clock::Clock;
use super::economy::Policy;
use super::every_call::drop_orphans;
use super::fold::Fold;
use super::held::{Form, Held};
use super::ledger::{Ledger, Numbers, Speaker};
use super::lines::{LineNumbers, Lines};
use super::stale::Staleness;
use crate::fault;
use crate::layers::window::opening;
use crate::layers::{Limits, shrink};
use crate::plan::{Action, Draft, Layer, Reason};
use crate::tokens::estimate::Estimate;
use crate::traits::target::Target;
use crate::transcript::{Assistant, Body, Link, Message, Transcript};

/// The fold after some messages.
#[derive(Clone, Debug)]
pub struct Sticky {
    policy: Policy,
    limits: Limits,
    held: Vec<Held>,
    ledger: Ledger,
    lines: Lines,
    staleness: Staleness,
    clock: Clock,
    calibration: Calibration,
    /// cl100k tokens as they came, and as sent.
    raw: usize,
    sent: usize,
    /// What `held` keeps from being freed.
    bytes: usize,
    /// Paid since the last batch for carrying what a new one could remove, in input tokens.
    carried: f64,
    /// Provider tokens the last batch left, or the low water if that is more.
    settled: f64,
}

/// The arithmetic of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// What was decided, and why.
    pub verdict: Verdict,
    /// Whether nothing is left in the provider's cache.
    pub is_cold: bool,
    /// Estimated prompt tokens before the decision.
    pub context: f64,
    /// Tokens a batch can be expected to remove.
    pub removable: f64,
    /// Paid so far for carrying them, in input tokens.
    pub carried: f64,
    /// What rewriting the rest would cost, in input tokens: the frontier moves when `carried` reaches it.
    pub rewrite: f64,
    /// Tokens above which the frontier moves whatever that costs.
    pub high_water: f64,
    /// Index after the last edited message.
    pub frontier: usize,
}

/// Why the frontier moved, or that it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Carrying is still cheaper than rewriting.
    Wait,
    /// The cache is cold: everything is written anyway.
    Cold,
    /// What carrying has cost reaches what rewriting costs.
    Carried,
    /// The high water is passed.
    HighWater,
}

impl Verdict {
    /// Every verdict, in declaration order: the boundary sends positions in this list.
    pub const ALL: [Self; 4] = [Self::Wait, Self::Cold, Self::Carried, Self::HighWater];

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "waits: carrying is cheaper than rewriting",
            Self::Cold => "moved: the cache is cold",
            Self::Carried => "moved: carrying has cost as much as rewriting",
            Self::HighWater => "moved: high water passed",
        }
    }
}

impl Sticky {
    /// The fold before any message.
    #[must_use]
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let settled = policy.waters.low * limits.context_window;
        Self {
            policy,
            limits,
            held: Vec::new(),
            ledger: Ledger::default(),
            lines: Lines::default(),
            staleness: Staleness::default(),
            clock: Clock::default(),
            calibration: Calibration::default(),
            raw: 0,
            sent: 0,
            bytes: 0,
            carried: 0.0,
            settled,
        }
    }

    /// Takes in what is new in `transcript` and decides for the call that would follow it.
    #[must_use]
    pub fn draft<'a>(&mut self, transcript: &'a Transcript) -> (Draft<'a>, Account) {
        self.advance(transcript);
        fault::step();
        let account = self.weigh();
        let mut draft = Draft::new(transcript);
        drop_orphans(&mut draft);
        let mut moved = None;
        if account.verdict != Verdict::Wait {
            moved.insert(self.clone()).cut(account.verdict);
        }
        let fold = moved.as_ref().unwrap_or(self);
        for (index, held) in fold.held.iter().enumerate() {
            apply(&mut draft, index, held);
        }
        shrink::shrink(&mut draft, &self.limits, &fold.estimate());
        (draft, Account { frontier: fold.frontier(), ..account })
    }

    /// How prompts are estimated now.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        if self.policy.calibrate { self.calibration.estimate() } else { Estimate::PLAIN }
    }

    /// Takes in the messages of `transcript` that are new; the others must be those taken in before.
    pub fn advance(&mut self, transcript: &Transcript) {
        for (index, message) in transcript.messages().iter().enumerate().skip(self.held.len()) {
            if let Some(assistant) = message.assistant() {
                self.call(assistant, message.is_sent);
            }
            self.enter(index, message, transcript);
        }
    }

    /// The call that this assistant message answered: decides as was decided then, and learns what it reports.
    fn call(&mut self, assistant: &Assistant, is_sent: bool) {
        let account = self.weigh();
        self.carried = account.carried;
        if account.verdict != Verdict::Wait {
            self.cut(account.verdict);
        }
        let time = self.time();
        let reached = is_sent || assistant.prompt_tokens.is_some();
        self.clock.tick(&assistant.source, time, reached);
        if let Some(reported) = assistant.prompt_tokens {
            self.calibration.observe(&assistant.source, reported, Sent { raw: self.raw, edited: self.sent });
        }
        self.ledger.tick();
        self.lines.tick();
    }

    fn time(&self) -> Option<f64> {
        self.held.last().and_then(|held| held.message.timestamp_ms)
    }

    /// The arithmetic of the next call.
    fn weigh(&self) -> Account {
        let window = self.limits.context_window;
        let context = self.estimate().tokens(self.sent);
        let above = context - self.settled;
        let is_cold = self.clock.is_cold(self.time(), self.policy.prices.ttl_seconds);
        let carried = self.carried + self.policy.carry(above);
        let rewrite = self.policy.rewrite(self.settled);
        let high_water = (self.policy.waters.high * window).min(self.limits.threshold());
        let verdict = if is_cold && context > self.policy.cold_mark(self.settled, window) {
            Verdict::Cold
        } else if context > high_water {
            Verdict::HighWater
        } else if carried > rewrite && above > 0.0 {
            Verdict::Carried
        } else {
            Verdict::Wait
        };
        let removable = self.policy.removable(above);
        Account { verdict, is_cold, context, removable, carried, rewrite, high_water, frontier: 0 }
    }

    fn cut(&mut self, verdict: Verdict) {
        let low = self.policy.waters.low * self.limits.context_window;
        let scope = self.scope(verdict);
        let batch = Batch {
            estimate: self.estimate(),
            held: &mut self.held,
            ledger: &mut self.ledger,
            lines: &mut self.lines,
            sent: self.sent,
            policy: &self.policy,
            limits: &self.limits,
            scope,
        };
        self.sent = batch.run();
        self.carried = 0.0;
        self.settled = self.estimate().tokens(self.sent).max(low);
    }

    fn scope(&self, verdict: Verdict) -> Scope {
        let waters = self.policy.waters;
        let high = (waters.high * self.limits.context_window).min(self.limits.threshold());
        // Past the high water a batch must gain room for many calls, or the next one is due at once.
        let low = waters.low * self.limits.context_window;
        let must = if verdict == Verdict::HighWater { f64::midpoint(low, high) } else { high };
        let is_user = |held: &Held| held.message.is_user();
        let tail = self.tail();
        let results =
            self.held.iter().enumerate().rev().filter(|(_, held)| held.message.tool_result().is_some());
        let newest = results.take(self.limits.keep_recent_tool_results).last();
        let turns = self.held.iter().enumerate().filter(|(_, held)| held.is_turn());
        Scope {
            opening: opening(turns.map(|(index, held)| (index, &*held.message))),
            first_user: self.held.iter().position(is_user),
            last_user: self.held.iter().rposition(is_user),
            tail,
            full_results: newest.map_or(self.held.len(), |(index, _)| index),
            must,
        }
    }

    /// Index from which on nothing is dropped: the newest messages, stretched back to whole groups.
    fn tail(&self) -> usize {
        let newest = self.held.iter().enumerate().rev().filter(|(_, held)| !held.message.is_system());
        let start =
            newest.take(self.limits.recent_messages()).last().map_or(self.held.len(), |(index, _)| index);
        self.held.iter().skip(start).map(|held| held.group).min().unwrap_or(start)
    }

    fn frontier(&self) -> usize {
        self.held.iter().rposition(|held| held.form != Form::Whole).map_or(0, |last| last + 1)
    }

    fn enter(&mut self, index: usize, message: &Arc<Message>, transcript: &Transcript) {
        let traits = &message.traits;
        let is_orphan = transcript.link(index) == Link::Orphan;
        let is_seen = !is_orphan && message.is_sent;
        let mut held = Held {
            message: message.clone(),
            group: transcript.group_start(index),
            numbers: Numbers::default(),
            kept: None,
            lines: LineNumbers::default(),
            kept_lines: None,
            line_cut: None,
            form: if is_orphan { Form::Gone } else { Form::Whole },
            reason: if is_orphan { Reason::OrphanResult } else { Reason::LeastUseful },
            is_taken_up: false,
            stale: None,
        };
        if is_seen {
            held.numbers = self.ledger.number(&traits.identifiers, index);
            held.kept = traits.kept.as_ref().map(|kept| self.ledger.number(kept, index));
            held.lines = self.lines.number(&traits.lines);
            held.kept_lines = traits.kept_lines.as_ref().map(|kept| self.lines.number(kept));
            self.lines.show(&held.lines);
            for origin in self.ledger.enter(&held.numbers, speaker(message)) {
                if let Some(origin) = self.held.get_mut(origin as usize) {
                    origin.is_taken_up = true;
                }
            }
            if let Some(result) = message.tool_result() {
                let call = self.held.get(held.group).map(|call| call.message.clone());
                let target = call.as_ref().and_then(|call| target(call, &result.call_id));
                if let Some(target) = target {
                    self.lines.learn(&target.files, &held.lines);
                }
                for (older, reason) in self.staleness.enter(index, target, traits.text) {
                    if let Some(older) = self.held.get_mut(older) {
                        older.stale.get_or_insert(reason);
                    }
                }
            }
        }
        self.raw += message.tokens;
        self.sent += held.tokens();
        self.bytes += held.bytes();
        self.held.push(held);
    }
}

/// What the call of `message` with this id acts on.
fn target<'a>(message: &'a Message, id: &str) -> Option<&'a Target> {
    let position = message.assistant()?.call_ids.iter().position(|of| **of == *id)?;
    message.traits.targets.get(position)
}

impl Fold for Sticky {
    fn len(&self) -> usize {
        self.held.len()
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn has(&self, index: usize, message: &Message) -> bool {
        self.held.get(index).is_some_and(|held| {
            std::ptr::eq(&raw const *held.message, message) || held.message.fingerprint == message.fingerprint
        })
    }
}

fn speaker(message: &Message) -> Speaker {
    match message.body {
        Body::Assistant(_) => Speaker::Assistant,
        Body::ToolResult(_) => Speaker::Tool,
        _ => Speaker::Other,
    }
}

fn apply(draft: &mut Draft<'_>, index: usize, held: &Held) {
    let action = match held.form {
        Form::Whole => return,
        Form::Gone => Action::Drop,
        Form::Lines => match &held.line_cut {
            Some(cut) => Action::KeepLines(cut.clone()),
            None => return,
        },
        Form::Edited if held.layer() == Layer::Thinking => Action::StripThinking,
        Form::Edited => Action::Summarize,
    };
    draft.apply(index, held.layer(), action, held.reason);
}
