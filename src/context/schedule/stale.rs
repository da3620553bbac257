//! Finds old tool results that are superseded: each rule one small function over two calls.
//!
//! An edit supersedes no read: it changes some lines of a file, and the rest of the earlier read may be the only copy.
//! Which lines are stale is known line by line, in `lines`.

use std::collections::HashMap;

use crate::context::plan::Reason;
use crate::context::traits::target::{File, Target};

/// The results so far, by what they are about.
#[derive(Clone, Debug, Default)]
pub struct Staleness {
    files: HashMap<u64, Vec<(usize, Read)>>,
    calls: HashMap<u64, usize>,
    texts: HashMap<u64, usize>,
}

/// One file read by one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    call: u64,
    is_whole: bool,
}

/// The same file was read again, at least as much of it.
fn read_again(older: Read, newer: Read) -> bool {
    newer.is_whole || older.call == newer.call
}

/// The file that a call reads, if it is one.
fn only_read(target: &Target) -> Option<&File> {
    let [file] = &*target.files else { return None };
    file.change.is_none().then_some(file)
}

impl Staleness {
    /// The result at `index` came, to a call with this target, with a text of this hash (0 for none).
    pub fn enter(&mut self, index: usize, target: Option<&Target>, text: u64) -> Vec<(usize, Reason)> {
        let mut superseded = Vec::new();
        if text != 0
            && let Some(older) = self.texts.insert(text, index)
        {
            superseded.push((older, Reason::Duplicate));
        }
        let Some(target) = target else { return superseded };
        if let Some(file) = only_read(target) {
            let read = Read { call: target.call, is_whole: file.is_whole };
            let reads = self.files.entry(file.path.whole()).or_default();
            reads.retain(|&(older, of)| {
                let is_superseded = read_again(of, read);
                superseded.extend(is_superseded.then_some((older, Reason::ReadAgain)));
                !is_superseded
            });
            reads.push((index, read));
        } else if target.files.is_empty()
            && let Some(older) = self.calls.insert(target.call, index)
        {
            superseded.push((older, Reason::RunAgain));
        }
        superseded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::traits::paths::Path;
    use crate::context::traits::target::Change;

    fn file(path: &str, is_whole: bool, change: Option<Change>) -> File {
        File { path: Path::of(path, None).expect("names a file"), is_whole, change }
    }

    fn on(call: u64, files: Vec<File>) -> Target {
        Target { call, files: files.into() }
    }

    #[test]
    fn each_result_is_superseded_once_and_told_why() {
        let mut staleness = Staleness::default();
        let read = on(1, vec![file("a", true, None)]);
        let edit = on(2, vec![file("a", true, Some(Change::default()))]);
        let command = on(9, vec![]);
        assert_eq!(staleness.enter(0, Some(&read), 7), []);
        assert_eq!(staleness.enter(1, Some(&command), 8), []);
        assert_eq!(staleness.enter(2, Some(&read), 6), [(0, Reason::ReadAgain)]);
        assert_eq!(
            staleness.enter(3, Some(&edit), 0),
            [],
            "an edit leaves most lines of a read as they were"
        );
        assert_eq!(staleness.enter(4, Some(&command), 5), [(1, Reason::RunAgain)]);
        assert_eq!(staleness.enter(5, None, 5), [(4, Reason::Duplicate)]);
        assert_eq!(staleness.enter(6, Some(&edit), 0), []);
    }

    #[test]
    fn a_read_is_superseded_by_a_whole_or_equal_read_of_the_same_file() {
        let mut staleness = Staleness::default();
        let part = |call| on(call, vec![file("a", false, None)]);
        assert_eq!(staleness.enter(0, Some(&part(1)), 0), []);
        assert_eq!(staleness.enter(1, Some(&part(2)), 0), []);
        assert_eq!(staleness.enter(2, Some(&part(1)), 0), [(0, Reason::ReadAgain)]);
        let both = on(3, vec![file("a", true, None), file("b", true, None)]);
        assert_eq!(staleness.enter(3, Some(&both), 0), [], "which lines are whose is not known");
        let whole = on(4, vec![file("a", true, None)]);
        let superseded = staleness.enter(4, Some(&whole), 0);
        assert_eq!(superseded, [(1, Reason::ReadAgain), (2, Reason::ReadAgain)]);
        assert_eq!(staleness.enter(5, Some(&on(5, vec![file("b", true, None)])), 0), []);
    }
}
