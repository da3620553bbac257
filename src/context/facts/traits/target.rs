//! The target of a tool call as plain data: the files it reads or changes, and the form of the call. `calls` reads it from
//! a call's arguments.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::forms::Form;
use super::lines::{self, Line};
use super::paths::Path;
use crate::text::utf16;

/// Most files read of one call.
pub(super) const MAX_FILES: usize = 64;

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
    /// One for each thing that the call shows. Equal keys are versions of one thing.
    pub keys: Box<[u64]>,
    /// For each key, that of the whole thing, of which this may be a part.
    pub wholes: Box<[u64]>,
    /// The file or tool.
    pub name: Box<str>,
    /// Length of the version in the call's arguments, in UTF-16 code units; 0 for a read.
    pub said: usize,
    /// True if the call writes a whole file, however short.
    pub is_whole: bool,
}

/// A file named by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path of the file.
    pub path: Path,
    /// Hash of the words that select lines of it; 0 for the whole file.
    pub part: u64,
    /// True if the call only searches it.
    pub is_searched: bool,
    /// The change that the call makes to it; `None` if it only reads.
    pub change: Option<Change>,
}

/// The change that a call makes to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// True if the call writes the whole file.
    pub is_whole: bool,
    /// Lines it replaces, quoted word for word: ascending, each once.
    pub old: Box<[Line]>,
    /// Lines it writes: ascending, each once.
    pub new: Box<[Line]>,
}

impl Change {
    /// The change that replaces `old` with `new`.
    pub(super) fn of(old: &[&str], new: &[&str]) -> Self {
        let lines = |texts: &[&str]| lines::of_texts(texts.iter().map(|text| utf16(text)));
        Self { is_whole: old.is_empty() && !new.is_empty(), old: lines(old), new: lines(new) }
    }

    /// Returns `true` if it has neither replaced nor written lines.
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// A file as a call or a patch names it, with its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FileUse<'a> {
    pub(super) path: &'a str,
    /// The part that the call reads.
    pub(super) part: u64,
    pub(super) is_searched: bool,
    /// True if the call writes to the file or moves it.
    pub(super) is_changed: bool,
    /// True if it adds to the file's content.
    pub(super) is_added: bool,
    /// The texts it expects to find.
    pub(super) old: Vec<&'a str>,
    /// The texts it writes.
    pub(super) new: Vec<&'a str>,
}

impl FileUse<'_> {
    /// The file; its path is relative to `folder`.
    pub(super) fn file(&self, folder: Option<&str>) -> Option<File> {
        let change = self.is_changed.then(|| {
            let change = Change::of(&self.old, &self.new);
            Change { is_whole: change.is_whole && !self.is_added, ..change }
        });
        let Self { part, is_searched, .. } = *self;
        Some(File { path: Path::of(self.path, folder)?, part, is_searched, change })
    }
}

/// Hash of the part that `words` select within `part`.
pub(super) fn part_of(part: u64, words: impl IntoIterator<Item: AsRef<str>>) -> u64 {
    words.into_iter().fold(part, |part, word| xxh3_64_with_seed(word.as_ref().as_bytes(), part))
}
