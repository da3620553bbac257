//! The states that stay whole: the newest of each, up to a share of the window. Older ones have no worth of their own. The
//! host's `protect` outranks this rule, and a limit outranks both.

use std::collections::HashSet;

use super::{Keeping, Limits};
use crate::context::request::account::Account;
use crate::context::weights::KEPT_SHARE;

/// A state that stays whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The tool result that shows it.
    pub index: usize,
    /// The message that opens its group.
    pub group: usize,
    /// The file or tool.
    pub name: Box<str>,
}

/// Kept states, newest first, and the groups of states that a newer one replaces.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// Those that stay whole.
    pub kept: Vec<Kept>,
    /// Groups that show an older state.
    pub older: Vec<usize>,
}

impl States {
    /// The states in an account. `scale` is provider tokens per cl100k token.
    pub fn in_account(account: &Account, limits: &Limits, scale: f64) -> Self {
        let mut states = Self::default();
        if limits.keeping == Keeping::Nothing {
            return states;
        }
        let mut known = HashSet::new();
        let mut room = KEPT_SHARE * limits.context_window;
        for &index in account.results().iter().rev() {
            let Some(row) = account.row(index).filter(|row| row.group != index) else { continue };
            let Some(opens) = account.message(row.group) else { continue };
            let Some(state) = opens.traits.targets.get(row.call).and_then(|of| of.state.as_ref()) else {
                continue;
            };
            let Some(result) = row.message.tool_result().filter(|result| !result.is_error) else { continue };
            // A short call with a short answer, such as "unchanged" or "step 1 is done", may point at the version before it.
            let is_short = state.is_short && result.shortened.is_none();
            let tokens = scale * (row.message.tokens + opens.tokens) as f64;
            if known.contains(&(state.key, false)) || !known.insert((state.key, is_short)) {
                states.older.push(row.group);
            } else if tokens <= room {
                room -= tokens;
                states.kept.push(Kept { index, group: row.group, name: state.name.clone() });
            }
        }
        states
    }

    /// The states that the documented layers keep: none unless the host asked for it.
    pub fn asked_for(account: &Account, limits: &Limits, scale: f64) -> Self {
        let is_asked = limits.keeping == Keeping::Layers;
        if is_asked { Self::in_account(account, limits, scale) } else { Self::default() }
    }

    /// Returns `true` if the message at `index` stays whole.
    pub fn keeps(&self, index: usize) -> bool {
        self.kept.iter().any(|kept| kept.index == index)
    }

    /// Returns `true` if the group that opens at `start` stays.
    pub fn keeps_group(&self, start: usize) -> bool {
        self.kept.iter().any(|kept| kept.group == start)
    }
}
