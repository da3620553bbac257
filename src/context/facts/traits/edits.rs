//! Changes to files as lines that go and lines that come.

use super::lines;
use super::patch;
use super::paths::Path;
use super::target::{Change, File};
use crate::text::utf16;

/// The change that replaces these texts with those.
pub(super) fn change(old: &[&str], new: &[&str]) -> Change {
    let lines = |texts: &[&str]| lines::of_texts(texts.iter().map(|text| utf16(text)));
    Change { moved_to: None, old: lines(old), new: lines(new) }
}

/// The files that the patches in `text` change; paths are relative to `folder`.
pub(super) fn patched(text: &str, folder: Option<&str>) -> Vec<File> {
    let changed = patch::files(text).into_iter().filter_map(|file| {
        let moved_to = file.moved_to.and_then(|to| Path::of(to, folder));
        let change = Change { moved_to, ..change(&file.old, &file.new) };
        Some(File { path: Path::of(file.path, folder)?, range: None, change: Some(change) })
    });
    changed.collect()
}
