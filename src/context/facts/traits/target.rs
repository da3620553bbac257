//! The target of a tool call as plain data: the files it reads or changes, and the form of the call. `calls` reads it from
//! a call's arguments.

use super::forms::Form;
use super::keep::State;
use super::lines::{self, Line};
use super::paths::Path;
use crate::text::utf16;

/// The target of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The form of the call; `None` where no form of the table matches.
    pub form: Option<Form>,
    /// The files it names.
    pub files: Box<[File]>,
    /// The state that it reads or writes.
    pub state: Option<State>,
}

/// A file named by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path of the file.
    pub path: Path,
    /// The lines that the call asks for; `None` for the whole file.
    pub range: Option<Range>,
    /// The change that the call makes to it; `None` if it only reads.
    pub change: Option<Change>,
}

/// Lines of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first line.
    pub first: u64,
    /// The last line; `None` for the end of the file.
    pub last: Option<u64>,
}

/// The change that a call makes to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The new place of the file.
    pub moved_to: Option<Path>,
    /// Lines it replaces, quoted word for word: ascending, each once.
    pub old: Box<[Line]>,
    /// Lines it writes: ascending, each once.
    pub new: Box<[Line]>,
}

impl Range {
    /// The range from `first` to `last`; `None` if that is no range or the whole file.
    pub fn of(first: Option<u64>, last: Option<u64>) -> Option<Self> {
        let range = Self { first: first.unwrap_or(1).max(1), last };
        let is_part = range.first > 1 || range.last.is_some();
        (is_part && range.last.is_none_or(|last| last >= range.first)).then_some(range)
    }

    /// The part of `self` that `inner`, counted from its start, asks for.
    #[must_use]
    pub fn narrowed(self, inner: Self) -> Self {
        let before = self.first.saturating_sub(1);
        let last = inner.last.map(|last| last.saturating_add(before));
        let last = [self.last, last].into_iter().flatten().min();
        Self { first: inner.first.saturating_add(before), last }
    }
}

impl Change {
    /// The change that replaces these texts with those.
    pub(super) fn of(old: &[&str], new: &[&str]) -> Self {
        let lines = |texts: &[&str]| lines::of_texts(texts.iter().map(|text| utf16(text)));
        Self { moved_to: None, old: lines(old), new: lines(new) }
    }

    /// Returns `true` if no line is known that it replaces or writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// The use of a file: its path and texts, as the call or patch has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileUse<'a> {
    pub(super) path: &'a str,
    /// The lines that the call asks for.
    pub(super) range: Option<Range>,
    /// The path it moves to.
    pub(super) moved_to: Option<&'a str>,
    /// True if the call writes to the file.
    pub(super) is_changed: bool,
    /// The texts it expects to find.
    pub(super) old: Vec<&'a str>,
    /// The texts it leaves.
    pub(super) new: Vec<&'a str>,
}

impl FileUse<'_> {
    /// The file; its paths are relative to `folder`.
    pub(super) fn file(&self, folder: Option<&str>) -> Option<File> {
        let moved_to = self.moved_to.and_then(|to| Path::of(to, folder));
        let is_changed = self.is_changed || moved_to.is_some();
        let change = is_changed.then(|| Change { moved_to, ..Change::of(&self.old, &self.new) });
        Some(File { path: Path::of(self.path, folder)?, range: self.range, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_range_counts_from_its_start() {
        let range = |first, last| Range::of(Some(first), Some(last)).expect("is a part");
        assert_eq!(range(10, 40).narrowed(range(3, 5)), range(12, 14));
        assert_eq!(range(10, 12).narrowed(range(1, 100)), range(10, 12));
        assert_eq!(Range::of(None, None), None);
        assert_eq!(Range::of(Some(5), Some(4)), None);
    }
}
