//! The tree that the lines of a file form by naming their parents. Where a broken line tore a parent out, the line before
//! stands in.

use super::{Id, Object};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The line that a line follows.
#[derive(Default)]
pub(super) enum Parent {
    Root,
    Id(Id),
    /// None is named: the line before it in the file.
    #[default]
    Previous,
}

impl Parent {
    /// The parent that `line` names by `key`.
    pub(super) fn of(line: &Object, key: &str) -> Self {
        match line.get(key) {
            Some(Value::String(id)) => Self::Id(Id::of(id)),
            Some(Value::Null) => Self::Root,
            _ => Self::Previous,
        }
    }

    /// The parent's place among the lines, for a line at `index`.
    pub(super) fn place(&self, index: usize, places: &HashMap<Id, usize>) -> Option<usize> {
        match self {
            Self::Root => None,
            Self::Id(id) => places.get(id).copied().or_else(|| index.checked_sub(1)),
            Self::Previous => index.checked_sub(1),
        }
    }
}

/// Places of the lines by their ids; of two with one id the later.
pub(super) fn places(ids: impl Iterator<Item = Option<Id>>) -> HashMap<Id, usize> {
    ids.enumerate().filter_map(|(index, id)| Some((id?, index))).collect()
}

/// The places from `last` up to the root, by what comes `before` each; a loop ends where it closes.
pub(super) fn path(last: Option<usize>, before: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut seen = HashSet::new();
    std::iter::successors(last, |&index| before(index)).take_while(|&index| seen.insert(index)).collect()
}
