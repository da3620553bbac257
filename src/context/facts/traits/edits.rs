//! Uses of files, as calls and patches write them.

use super::lines;
use super::patch;
use super::paths::Path;
use super::target::{Change, File, Range};
use crate::text::utf16;

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
        let change = is_changed.then(|| Change { moved_to, ..change(&self.old, &self.new) });
        Some(File { path: Path::of(self.path, folder)?, range: self.range, change })
    }
}

/// The change that replaces these texts with those.
pub(super) fn change(old: &[&str], new: &[&str]) -> Change {
    let lines = |texts: &[&str]| lines::of_texts(texts.iter().map(|text| utf16(text)));
    Change { moved_to: None, old: lines(old), new: lines(new) }
}

/// The files that the patches in `text` change; paths are relative to `folder`.
pub(super) fn patched(text: &str, folder: Option<&str>) -> Vec<File> {
    patch::files(text).iter().filter_map(|file| file.file(folder)).collect()
}
