//! Edits that are written as text: patches in the form of `apply_patch`, unified diffs, and blocks of what is searched and
//! what replaces it.

use super::target::File;

/// The first line of a patch in the form of `apply_patch`.
pub(super) const START: &str = "*** Begin Patch";
/// What stands before the path of a file in a patch, and in a unified diff.
const FILES: [&str; 6] =
    ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ a/", "+++ b/", "+++ "];

/// The files that the patches and unified diffs in `text` change; paths are relative to `folder`. A file's change replaces lines
/// that stay and lines that go by lines that stay and lines that come.
pub(super) fn changed(text: &str, folder: Option<&str>) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for line in text.lines() {
        if let Some(path) = FILES.iter().find_map(|start| line.strip_prefix(start)) {
            let path = path.split('\t').next().unwrap_or_default();
            files.extend(File::of(path.trim(), folder));
            if let Some(file) = files.last_mut() {
                file.replace(None, None);
            }
        } else if let Some(file) = files.last_mut() {
            change_by(line, file);
        }
    }
    files
}

/// Adds the change that a line of a patch makes to a file.
pub(super) fn change_by(line: &str, file: &mut File) {
    let rest = line.get(1..);
    match line.chars().next() {
        Some(' ') => file.replace(rest, rest),
        Some('-') => file.replace(rest, None),
        Some('+') => file.replace(None, rest),
        _ => {}
    }
}

/// Adds the changes that the blocks in `text` make to a file. A block goes from `<<<<<<< SEARCH` (or seven dashes) over `=======` to
/// `>>>>>>> REPLACE` (or seven pluses). `:start_line:` and its dashes are no lines of it.
pub(super) fn change_by_blocks(text: &str, file: &mut File) {
    let mut is_new = None;
    for line in text.lines() {
        match line.trim_end() {
            "<<<<<<< SEARCH" | "------- SEARCH" => is_new = Some(false),
            "=======" => is_new = is_new.map(|_| true),
            ">>>>>>> REPLACE" | "+++++++ REPLACE" => is_new = None,
            "-------" => {}
            hint if hint.starts_with(":start_line:") || hint.starts_with(":end_line:") => {}
            _ => match is_new {
                Some(true) => file.replace(None, [line]),
                Some(false) => file.replace([line], None),
                None => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_file(path: &str, old: &[&str], new: &[&str]) -> File {
        let mut file = File::of(path, None).expect("is a path");
        file.replace(old.iter().copied(), new.iter().copied());
        file
    }

    #[test]
    fn reads_what_stays_goes_and_comes() {
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn x\n this line stays\n-this line goes\n+this line comes\n*** Add File: c.rs\n+this line is new\n*** End Patch\nEOF";
        assert_eq!(
            changed(patch, None),
            [
                changed_file(
                    "a.rs",
                    &["this line stays", "this line goes"],
                    &["this line stays", "this line comes"]
                ),
                changed_file("c.rs", &[], &["this line is new"]),
            ]
        );
        assert_eq!(changed("*** Begin Patch\n-stray", None), []);
    }

    #[test]
    fn reads_unified_diffs() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n this line stays\n--- this line goes\n+this line comes\n--- /dev/null\n+++ b/c.rs\n@@ -0,0 +1 @@\n+this line is new\n";
        let old = ["this line stays", "-- this line goes", "-- /dev/null"];
        assert_eq!(
            changed(diff, None),
            [
                changed_file("a.rs", &old, &["this line stays", "this line comes"]),
                changed_file("c.rs", &[], &["this line is new"]),
            ]
        );
    }
}
