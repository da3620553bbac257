//! Reads edits written as text: `apply_patch` patches, unified diffs, and search-and-replace blocks.

use super::target::{File, FileUse};

/// The first line of an `apply_patch` patch.
pub(super) const START: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const UPDATE: &str = "*** Update File: ";
const FILES: [&str; 3] = [UPDATE, "*** Add File: ", "*** Delete File: "];
/// Most files read of one text.
const MAX_FILES: usize = 256;

impl<'a> FileUse<'a> {
    /// A file that a patch changes; with `is_added`, only a part of it.
    fn patched(path: &'a str, is_added: bool) -> Self {
        Self { path: path.trim(), is_changed: true, is_added, ..Self::default() }
    }

    /// Adds a line of a hunk: kept and removed lines to `old`, kept and added lines to `new`.
    fn add_line(&mut self, line: &'a str) {
        if let Some(rest) = line.strip_prefix(' ') {
            self.old.push(rest);
            self.new.push(rest);
        } else if let Some(rest) = line.strip_prefix('-') {
            self.old.push(rest);
        } else if let Some(rest) = line.strip_prefix('+') {
            self.new.push(rest);
        }
    }
}

/// The files that the patches and diffs in `text` change; paths are relative to `folder`.
pub(super) fn changed(text: &str, folder: Option<&str>) -> Vec<File> {
    files(text).iter().filter_map(|file| file.file(folder)).collect()
}

/// The files of every patch or unified diff in `text`; nothing if it holds none.
pub(super) fn files(text: &str) -> Vec<FileUse<'_>> {
    let mut files = if text.contains(START) { patches(text) } else { unified(text) };
    files.truncate(MAX_FILES);
    files
}

fn patches(text: &str) -> Vec<FileUse<'_>> {
    let mut files: Vec<FileUse<'_>> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if line.contains(START) || line.starts_with(END) {
            is_open = !line.starts_with(END);
        } else if !is_open {
        } else if let Some(path) = FILES.iter().find_map(|start| line.strip_prefix(start)) {
            files.push(FileUse::patched(path, line.starts_with(UPDATE)));
        } else if let Some(file) = files.last_mut() {
            file.add_line(line);
        }
    }
    files
}

/// Files of a unified diff: `--- a/x`, `+++ b/x`, then hunks that open with `@@`.
fn unified(text: &str) -> Vec<FileUse<'_>> {
    const NONE: &str = "/dev/null";
    let mut files: Vec<FileUse<'_>> = Vec::new();
    let (mut before, mut is_hunk) = (None, false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if opens {
            (before, is_hunk) = (line.get(4..), false);
        } else if let (Some(old), Some(new)) = (before.take_if(|_| !is_hunk), line.strip_prefix("+++ ")) {
            let name = if new.trim() == NONE { old } else { new };
            let name = name.split('\t').next().unwrap_or_default();
            let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
            files.push(FileUse::patched(bare, old.trim() != NONE));
        } else if line.starts_with("diff --git ") {
            is_hunk = false;
        } else if line.starts_with("@@") {
            is_hunk = true;
        } else if let (true, Some(file)) = (is_hunk, files.last_mut()) {
            file.add_line(line);
        }
    }
    files
}

/// The lines that the blocks in `text` search for and their replacements. A block runs from `<<<<<<< SEARCH` (or seven
/// dashes, or `ORIGINAL`) through `=======` to `>>>>>>> REPLACE` (or seven pluses, or `UPDATED`), without `:start_line:` hints
/// and their dashes.
pub(super) fn blocks(text: &str) -> FileUse<'_> {
    let is_mark = |line: &str, starts: [&str; 2], words: [&str; 2]| {
        starts.iter().any(|start| line.strip_prefix(start).is_some_and(|rest| words.contains(&rest.trim())))
    };
    let is_hint = |line: &str| {
        [":start_line:", ":end_line:"].iter().any(|start| line.starts_with(start)) || line == "-------"
    };
    let mut found = FileUse::default();
    let mut side = None;
    for line in text.lines() {
        side = match side {
            None if is_mark(line, ["<<<<<<<", "-------"], ["SEARCH", "ORIGINAL"]) => Some(false),
            Some(false) if line.trim_end() == "=======" => Some(true),
            Some(true) if is_mark(line, [">>>>>>>", "+++++++"], ["REPLACE", "UPDATED"]) => None,
            Some(false) if is_hint(line.trim_end()) => side,
            Some(is_new) => {
                if is_new { &mut found.new } else { &mut found.old }.push(line);
                side
            }
            None => None,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_stays_goes_and_comes() {
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn x\n stays\n-goes\n+comes\n*** Add File: c.rs\n+new\n*** End Patch\nEOF";
        assert_eq!(
            files(patch),
            [
                FileUse {
                    old: vec!["stays", "goes"],
                    new: vec!["stays", "comes"],
                    ..FileUse::patched("a.rs", true)
                },
                FileUse { new: vec!["new"], ..FileUse::patched("c.rs", false) },
            ]
        );
        assert_eq!(files("*** Begin Patch\n-stray"), []);
        assert_eq!(files("no patch"), []);
    }

    #[test]
    fn reads_unified_diffs() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n stays\n--- goes\n+comes\n--- /dev/null\n+++ b/c.rs\n@@ -0,0 +1 @@\n+new\n";
        assert_eq!(
            files(diff),
            [
                FileUse {
                    old: vec!["stays", "-- goes"],
                    new: vec!["stays", "comes"],
                    ..FileUse::patched("a.rs", true)
                },
                FileUse { new: vec!["new"], ..FileUse::patched("c.rs", false) },
            ]
        );
    }
}
