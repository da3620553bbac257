//! The states that stay whole: the newest of each, up to a share of the window. Older ones have no worth of their own. The
//! host's `protect` outranks this rule, and a limit outranks both.

use std::collections::HashMap;

use super::{Keeping, Limits};
use crate::context::request::account::Account;
use crate::context::weights::KEPT_SHARE;

/// About the UTF-16 code units of a token.
const UNITS_PER_TOKEN: usize = 4;

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
        // The size in tokens of the largest newer version of each key.
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut room = KEPT_SHARE * limits.context_window;
        for &index in account.results().iter().rev() {
            let Some(row) = account.row(index).filter(|row| row.group != index) else { continue };
            let Some(opens) = account.message(row.group) else { continue };
            let Some(state) = opens.traits.targets.get(row.call).and_then(|of| of.state.as_ref()) else {
                continue;
            };
            if row.message.tool_result().is_none_or(|result| result.is_error) {
                continue;
            }
            let size = row.message.tokens.max(state.said / UNITS_PER_TOKEN);
            // A newer version of less than half the size may be a part of this one, or "unchanged" or "step 1 is done".
            let half = size.div_ceil(2 * state.keys.len());
            let is_replaced = state.keys.iter().zip(&state.wholes).all(|(key, whole)| {
                [key, whole].into_iter().any(|key| known.get(key).is_some_and(|&newer| newer >= half))
            });
            // Replaced versions count, too: what they replaced does not come back.
            for &key in &state.keys {
                let newer = known.entry(key).or_default();
                *newer = if state.is_whole { usize::MAX } else { size.max(*newer) };
            }
            if is_replaced {
                states.older.push(row.group);
                continue;
            }
            let tokens = scale * (row.message.tokens + opens.tokens) as f64;
            if tokens <= room {
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
