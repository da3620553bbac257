//! The target of a tool call as plain data: the files it reads or changes, and the form of the call. `calls` reads it from
//! a call's arguments.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::forms::Form;
use super::lines::{self, Line};
use super::paths::{Path, is_path};
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

/// A state that a call reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Equal for states of one thing.
    pub key: u64,
    /// The file or tool.
    pub name: Box<str>,
}

/// A file named by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path of the file.
    pub path: Path,
    /// Hash of the words that name lines of it to read; 0 for the whole file.
    pub part: u64,
    /// True if the call shows what a search finds in it.
    pub is_searched: bool,
    /// The change that the call makes to it; `None` if it only reads.
    pub change: Option<Change>,
}

/// The change that a call makes to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// True if the call quotes text that it replaces: else it writes the whole file.
    pub has_old: bool,
    /// Lines it replaces, quoted word for word.
    pub old: Vec<Line>,
    /// Lines it writes.
    pub new: Vec<Line>,
}

impl Change {
    /// Returns `true` if no line is known that it replaces or writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

impl File {
    /// A file that is read; its path is relative to `folder`. `None` if the path is none of a file.
    pub(super) fn of(path: &str, folder: Option<&str>) -> Option<Self> {
        let path = Path::of(path, folder).filter(|_| is_path(path))?;
        Some(Self { path, part: 0, is_searched: false, change: None })
    }

    /// Goes on to a part that these words name within the part that is read.
    pub(super) fn narrow(&mut self, words: impl IntoIterator<Item: AsRef<str>>) {
        for word in words {
            self.part = xxh3_64_with_seed(word.as_ref().as_bytes(), self.part);
        }
    }

    /// The file, written with this text.
    pub(super) fn written(mut self, text: Option<&str>) -> Self {
        self.replace(None, text);
        self
    }

    /// Adds texts that the call replaces, and texts that it leaves.
    pub(super) fn replace<'a>(
        &mut self,
        old: impl IntoIterator<Item = &'a str>,
        new: impl IntoIterator<Item = &'a str>,
    ) {
        let change = self.change.get_or_insert_default();
        for text in old {
            change.has_old = true;
            lines::add(&utf16(text), &mut change.old);
        }
        for text in new {
            lines::add(&utf16(text), &mut change.new);
        }
    }
}
