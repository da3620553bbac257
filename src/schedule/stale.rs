//! What makes an old tool result superseded: each rule one small function over two calls.
//!
//! Calls and texts flow in one after the other; which earlier results a new one supersedes, and by which rule, flows
//! out.

use std::collections::HashMap;

use crate::plan::Reason;
use crate::traits::target::Target;

/// The results so far, by what they are about.
#[derive(Clone, Debug, Default)]
pub struct Staleness {
    files: HashMap<u64, Vec<(usize, Target)>>,
    calls: HashMap<u64, (usize, Target)>,
    texts: HashMap<u64, usize>,
}

/// The same file was read again, at least as much of it.
#[must_use]
pub fn read_again(older: &Target, newer: &Target) -> bool {
    let Some((older_file, newer_file)) = older.file.zip(newer.file) else { return false };
    let is_same = older_file.path == newer_file.path && !older_file.is_changed && !newer_file.is_changed;
    is_same && (newer_file.is_whole || older.call == newer.call)
}

/// The file that was read was changed later.
#[must_use]
pub fn changed_since(older: &Target, newer: &Target) -> bool {
    let Some((older_file, newer_file)) = older.file.zip(newer.file) else { return false };
    older_file.path == newer_file.path && !older_file.is_changed && newer_file.is_changed
}

/// The same was asked of the same tool, about no file in particular.
#[must_use]
pub fn run_again(older: &Target, newer: &Target) -> bool {
    older.call == newer.call && older.file.is_none() && newer.file.is_none()
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
        let Some(&target) = target else { return superseded };
        if let Some(file) = target.file {
            let reads = self.files.entry(file.path).or_default();
            reads.retain(|(older, of)| {
                let reason = if read_again(of, &target) {
                    Reason::ReadAgain
                } else if changed_since(of, &target) {
                    Reason::ChangedSince
                } else {
                    return true;
                };
                superseded.push((*older, reason));
                false
            });
            if !file.is_changed {
                reads.push((index, target));
            }
        } else if let Some((older, of)) = self.calls.insert(target.call, (index, target))
            && run_again(&of, &target)
        {
            superseded.push((older, Reason::RunAgain));
        }
        superseded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traits::target::File;

    fn read(path: u64) -> Target {
        Target { call: path, file: Some(File { path, is_whole: true, is_changed: false }) }
    }

    fn part(path: u64, call: u64) -> Target {
        Target { call, file: Some(File { path, is_whole: false, is_changed: false }) }
    }

    fn edit(path: u64) -> Target {
        Target { call: path + 1000, file: Some(File { path, is_whole: true, is_changed: true }) }
    }

    fn command(call: u64) -> Target {
        Target { call, file: None }
    }

    #[test]
    fn a_read_is_superseded_by_a_whole_or_equal_read_of_the_same_file() {
        assert!(read_again(&read(1), &read(1)) && read_again(&part(1, 5), &read(1)));
        assert!(read_again(&part(1, 5), &part(1, 5)));
        assert!(!read_again(&read(1), &part(1, 5)) && !read_again(&part(1, 5), &part(1, 6)));
        assert!(!read_again(&read(1), &read(2)) && !read_again(&read(1), &edit(1)));
    }

    #[test]
    fn a_read_is_superseded_by_a_change_but_a_change_by_nothing() {
        assert!(changed_since(&read(1), &edit(1)) && changed_since(&part(1, 5), &edit(1)));
        assert!(!changed_since(&edit(1), &edit(1)) && !changed_since(&read(1), &edit(2)));
    }

    #[test]
    fn a_command_is_superseded_by_the_same_command() {
        assert!(run_again(&command(1), &command(1)));
        assert!(!run_again(&command(1), &command(2)) && !run_again(&read(1), &read(1)));
    }

    #[test]
    fn each_result_is_superseded_once_and_told_why() {
        let mut staleness = Staleness::default();
        assert_eq!(staleness.enter(0, Some(&read(1)), 7), []);
        assert_eq!(staleness.enter(1, Some(&command(9)), 8), []);
        assert_eq!(staleness.enter(2, Some(&read(1)), 6), [(0, Reason::ReadAgain)]);
        assert_eq!(staleness.enter(3, Some(&edit(1)), 0), [(2, Reason::ChangedSince)]);
        assert_eq!(staleness.enter(4, Some(&command(9)), 5), [(1, Reason::RunAgain)]);
        assert_eq!(staleness.enter(5, None, 5), [(4, Reason::Duplicate)]);
        assert_eq!(staleness.enter(6, Some(&edit(1)), 0), []);
    }
}
