//! Repairs a transcript with the fewest losses: drops messages or blocks, and replaces lone surrogates.
//! Messages between a call and its results move behind the results. Nothing is added. Fixing one problem can cause another
//! (a dropped call leaves orphan results), so repair works in passes, contents first, until no problem is left. A transcript
//! may end on a reply: it waits for the user's next message.

use serde::Serialize;

use super::Family;
use super::check::{Checker, Mend, Mends};
use crate::context::facts::measure::{Part, Raw, RawRole};
use crate::text::has_lone_surrogate;

/// Stands for a text whose lone surrogates were replaced: neither blank nor broken.
const REPLACED: &[u16] = &[0xFFFD];

/// The changes that make a transcript valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// The indices of all messages in their new order; `None` if the order stays.
    pub order: Option<Vec<usize>>,
    /// The changes, by message index.
    pub mends: Mends,
}

/// Returns the changes that make these messages valid.
///
/// ```
/// use pi_strata::context::facts::measure::{Part, Raw, RawRole};
/// use pi_strata::context::request::validity::{Family, Rule, check, repair};
///
/// let text: Vec<u16> = "Go on".encode_utf16().collect();
/// let orphan = RawRole::ToolResult { call_id: &text, tool_name: &[], marker: None };
/// let messages = [
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
///     Raw::new(orphan, vec![Part::Text(&text)]),
///     Raw::new(RawRole::User, vec![Part::Text(&text)]),
/// ];
/// let problems = check(&messages, Family::Any);
/// assert!(problems.iter().any(|problem| problem.index == 1 && problem.rule == Rule::OrphanResult));
/// assert!(repair(&messages, Family::Any).mends[&1].is_dropped);
/// ```
pub fn repair(messages: &[Raw<'_>], family: Family) -> Repair {
    let order = Checker::of(messages, family).transcript.sending_order();
    let mut left: Vec<Raw<'_>> = order.iter().filter_map(|&index| messages.get(index)).cloned().collect();
    let mut mends = Mends::new();
    loop {
        let [within, pairs, turns, _] = Checker::of(&left, family).findings().mends;
        let Some(pass) = [within, pairs, turns].into_iter().find(|pass| !pass.is_empty()) else { break };
        for (at, mend) in pass {
            if let (Some(message), Some(&index)) = (left.get_mut(at), order.get(at)) {
                mends.entry(index).or_default().add(&mend, message.parts.len());
                mend.apply(message);
            }
        }
    }
    Repair { order: (!order.is_sorted()).then_some(order), mends }
}

impl Mend {
    /// Changes the message. A dropped one has no role and is not sent, so it breaks no rule.
    fn apply(&self, message: &mut Raw<'_>) {
        if self.is_dropped {
            *message = Raw { is_sent: false, ..Raw::new(RawRole::Other, Vec::new()) };
        }
        let mut at = 0..;
        message.parts.retain(|_| at.next().is_some_and(|at| !self.blocks.contains(&at)));
        for part in &mut message.parts {
            if let Part::Text(text) | Part::Counted(text) = part
                && self.is_rewritten
                && has_lone_surrogate(text)
            {
                *text = REPLACED;
            }
        }
    }

    /// Adds a later change, made when the message had `blocks` blocks.
    fn add(&mut self, later: &Self, blocks: usize) {
        let left: Vec<usize> = (0..).filter(|at| !self.blocks.contains(at)).take(blocks).collect();
        self.blocks.extend(later.blocks.iter().filter_map(|&at| left.get(at)));
        self.is_rewritten |= later.is_rewritten;
        if later.is_dropped {
            *self = Self { is_dropped: true, ..Self::default() };
        }
    }
}
