//! Patches in the form of `apply_patch`: which files they change, which lines they expect to find and which they write. And
//! edits in blocks of what is searched and what replaces it.

const START: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const FILES: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
const MOVE: &str = "*** Move to: ";

/// The changes of a patch to one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilePatch<'a> {
    /// The file's path, as the patch names it.
    pub(super) path: &'a str,
    /// The path it moves to.
    pub(super) moved_to: Option<&'a str>,
    /// The lines it expects to find: those that stay and those that go.
    pub(super) old: Vec<&'a str>,
    /// The lines it leaves: those that stay and those that come.
    pub(super) new: Vec<&'a str>,
}

/// The files of every patch in `text`; nothing if it holds none.
pub(super) fn files(text: &str) -> Vec<FilePatch<'_>> {
    let Some((_, patch)) = text.split_once(START) else { return Vec::new() };
    let patch = patch.split_once(END).map_or(patch, |(patch, _)| patch);
    let mut files: Vec<FilePatch<'_>> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = FILES.iter().find_map(|start| line.strip_prefix(start)) {
            files.push(FilePatch { path: path.trim(), ..FilePatch::default() });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(path) = line.strip_prefix(MOVE) {
            file.moved_to = Some(path.trim());
        } else if let Some(rest) = line.strip_prefix(' ') {
            file.old.push(rest);
            file.new.push(rest);
        } else if let Some(rest) = line.strip_prefix('-') {
            file.old.push(rest);
        } else if let Some(rest) = line.strip_prefix('+') {
            file.new.push(rest);
        }
    }
    files
}

/// The lines that the blocks in `text` search for, and those that replace them. A block goes from `<<<<<<< SEARCH` (or seven
/// dashes) over `=======` to `>>>>>>> REPLACE` (or seven pluses).
pub(super) fn blocks(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_mark = |line: &str, starts: [&str; 2], word: &str| {
        starts.iter().any(|start| line.strip_prefix(start).is_some_and(|rest| rest.trim() == word))
    };
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut side = None;
    for line in text.lines() {
        side = match side {
            None if is_mark(line, ["<<<<<<<", "-------"], "SEARCH") => Some(false),
            Some(false) if line.trim_end() == "=======" => Some(true),
            Some(true) if is_mark(line, [">>>>>>>", "+++++++"], "REPLACE") => None,
            Some(is_new) => {
                if is_new { &mut new } else { &mut old }.push(line);
                side
            }
            None => None,
        };
    }
    (old, new)
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
                FilePatch {
                    path: "a.rs",
                    moved_to: Some("b.rs"),
                    old: vec!["stays", "goes"],
                    new: vec!["stays", "comes"]
                },
                FilePatch { path: "c.rs", moved_to: None, old: vec![], new: vec!["new"] },
            ]
        );
        assert_eq!(files("*** Begin Patch\n-stray"), []);
        assert_eq!(files("no patch"), []);
    }

    #[test]
    fn reads_blocks_of_what_is_searched_and_what_replaces_it() {
        let text = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\nbetween\n------- SEARCH\nmore\n=======\n+++++++ REPLACE\n";
        assert_eq!(blocks(text), (vec!["old", "more"], vec!["new"]));
        assert_eq!(blocks("-old\n+new\n======="), (vec![], vec![]));
    }
}
