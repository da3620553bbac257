//! The lines of the index: whose file each stands in and whether it still does, told by the calls that read and change files,
//! and what would be lost with the last copy of one.
//!
//! A line is known by its hash alone, wherever it stands: in a result, in a patch, in what a call writes.

use std::sync::Arc;

use super::files::Files;
use super::shown::{Shown, Speaker};
use super::value::{CopyHistory, LineHistory, copy_worth, line_worth};
use super::weights::{FAR, Origin, TELLING_LINE, USUAL_EDITS, USUAL_LINES};
use crate::context::traits::lines::Line;
use crate::context::traits::target::{Change, File};

/// The work so far: the files, and what the session tells of how its agent edits and copies.
#[derive(Clone, Debug, Default)]
pub struct Work {
    files: Arc<Files>,
    edits: Edits,
    copies: Copies,
    /// Calls so far.
    pub(super) calls: u32,
}

/// Lines that the model showed, and how many of them it had from memory.
#[derive(Clone, Copy, Debug, Default)]
struct Copies {
    lines: u32,
    from_memory: u32,
}

/// The edits of a session: when they came, and how many of them the model made from memory.
#[derive(Clone, Debug, Default)]
struct Edits {
    /// The calls that changed files, ascending.
    calls: Vec<u32>,
    /// Those of them that replaced a line seen at least [`FAR`] calls before.
    from_memory: u32,
}

/// A line of the index.
#[derive(Clone, Copy, Debug)]
pub struct ShownLine {
    /// The file it was last seen in.
    file: Option<u32>,
    /// The call that showed or wrote it there.
    last_seen: u32,
    /// Lines that were shown or written along with it, itself among them.
    company: u32,
    /// About how many UTF-16 code units it has.
    units: u16,
    /// Answers that showed it after another message had, or once more.
    copies: u16,
    /// The first to show it; `None` before, and once an edit replaced it: no answer copies it then.
    speaker: Option<Speaker>,
    /// True if the model wrote it itself.
    pub(super) is_own: bool,
}

impl Shown {
    /// A call on `files` came back with a result that shows `numbers`: the lines it read stand in its file now, and so do
    /// those it wrote; those it replaced stand there no more.
    pub fn learn(&mut self, files: &[File], numbers: &[u32]) {
        let mut target = None;
        self.note_edit(files);
        for file in files {
            let id = Arc::make_mut(&mut self.work.files).number(&file.path);
            target.get_or_insert(id);
            if let Some(change) = &file.change {
                self.change(id, change);
            }
        }
        let Some(file) = target else { return };
        let calls = self.calls();
        Arc::make_mut(&mut self.work.files).touch(file, calls);
        let company = numbers.iter().filter(|&&number| self.line(number).is_some()).count() as u32;
        for &number in numbers {
            self.place(number, Place { file, is_own: false, company });
        }
    }

    /// Notes the first edit of a call, if it changes anything.
    fn note_edit(&mut self, files: &[File]) {
        let changes =
            || files.iter().filter_map(|file| file.change.as_ref()).filter(|change| !change.is_empty());
        let calls = self.calls();
        if changes().next().is_none() || self.work.edits.calls.last() == Some(&calls) {
            return;
        }
        let is_far = |line: &Line| {
            let line = self.number_of(*line).and_then(|number| self.line(number));
            line.is_some_and(|line| line.file.is_some() && line.last_seen + FAR <= calls)
        };
        let is_from_memory = changes().flat_map(|change| &change.old).any(is_far);
        self.work.edits.from_memory += u32::from(is_from_memory);
        self.work.edits.calls.push(calls);
    }

    fn change(&mut self, file: u32, change: &Change) {
        if let Some(to) = &change.moved_to {
            Arc::make_mut(&mut self.work.files).enter(to, file);
        }
        if change.is_empty() {
            return;
        }
        for line in &change.old {
            if let Some((line, work)) = self.number_of(*line).and_then(|number| self.line_and_work(number)) {
                Arc::make_mut(&mut work.files).move_line(line.file.take(), None);
                line.speaker = None;
            }
        }
        let place = Place { file, is_own: true, company: change.new.len() as u32 };
        for line in &change.new {
            if let Some(number) = self.number_of(*line) {
                self.place(number, place);
            }
        }
    }

    fn place(&mut self, number: u32, Place { file, is_own, company }: Place) {
        let Some((line, work)) = self.line_and_work(number) else { return };
        if line.file != Some(file) {
            Arc::make_mut(&mut work.files).move_line(line.file.replace(file), Some(file));
        }
        line.last_seen = work.calls;
        line.is_own |= is_own;
        line.company = company;
    }
}

impl Work {
    /// A new message shows a line that was last shown after the call `last_shown`.
    pub fn enter(&mut self, line: &mut ShownLine, speaker: Speaker, last_shown: u32) {
        if speaker == Speaker::Assistant && line.units >= TELLING_LINE {
            self.copies.lines += 1;
            if line.speaker.is_some() {
                line.copies = line.copies.saturating_add(1);
                self.copies.from_memory += u32::from(last_shown + FAR <= self.calls);
            }
        }
        line.speaker.get_or_insert(speaker);
    }

    /// Expected loss with the last copy of a line.
    #[must_use]
    pub fn worth(&self, line: &ShownLine, calls_since_shown: u32) -> f64 {
        let history = CopyHistory {
            units: line.units,
            copies: line.copies,
            calls_since_shown,
            from_memory: USUAL_LINES.share_of(self.copies.from_memory, self.copies.lines as usize),
        };
        let copied = line.origin().map_or(0.0, |origin| copy_worth(origin, history));
        let Some(file) = line.file.and_then(|file| self.files.row(file)) else { return copied };
        copied
            + line_worth(LineHistory {
                file_lines: file.lines,
                company: line.company,
                calls_since_seen: self.calls.saturating_sub(line.last_seen),
                calls_since_edit: self.edits.since_first_after(line.last_seen, self.calls),
                from_memory: USUAL_EDITS.share_of(self.edits.from_memory, self.edits.calls.len()),
                calls_since_touched: self.calls.saturating_sub(file.last_touch),
                is_own: line.is_own,
            })
    }
}

impl Edits {
    /// Calls since the first edit after that of `seen`; none where nothing was edited since.
    fn since_first_after(&self, seen: u32, now: u32) -> u32 {
        let first = self.calls.partition_point(|&call| call <= seen);
        self.calls.get(first).map_or(0, |&call| now.saturating_sub(call))
    }
}

impl ShownLine {
    /// One that nobody showed yet.
    pub fn new(line: Line) -> Self {
        let units = line.units() as u16;
        Self { file: None, last_seen: 0, company: 0, units, copies: 0, speaker: None, is_own: false }
    }

    fn origin(&self) -> Option<Origin> {
        Some(match self.speaker? {
            _ if self.is_own => Origin::Written,
            Speaker::Assistant => Origin::Said,
            Speaker::Tool if self.file.is_some() => Origin::Read,
            Speaker::Tool => Origin::Output,
            Speaker::Other => Origin::Told,
        })
    }
}

/// The place where a line was seen, and the number of lines with it.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    is_own: bool,
    company: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::schedule::shown::Numbers;
    use crate::context::traits::paths::Path;

    fn line(text: &str) -> Line {
        Line::of(&text.encode_utf16().collect::<Vec<_>>()).expect("is long enough")
    }

    fn file(path: &str, change: Option<Change>) -> File {
        File { path: Path::of(path, None).expect("names a file"), change }
    }

    fn edit(old: &[Line], new: &[Line]) -> Change {
        Change { moved_to: None, old: old.into(), new: new.into() }
    }

    /// A message that shows these lines, of a call on this file.
    fn enter(lines: &mut Shown, shown: &[Line], file: File) -> Numbers {
        let numbers = lines.number(&[], shown, 0);
        lines.show(&numbers);
        lines.learn(&[file], &numbers);
        lines.tick();
        numbers
    }

    #[test]
    fn only_the_last_copy_of_a_line_loses_it() {
        let mut lines = Shown::default();
        let both = [line("let first = 1;"), line("let second = 2;")];
        let read = enter(&mut lines, &both, file("a.rs", None));
        let again = enter(&mut lines, &both[..1], file("a.rs", None));
        assert!(lines.loss(read[0], 1).abs() < 1e-12 && lines.loss(read[1], 1) > 0.0);
        lines.hide(&again);
        assert!(lines.loss(read[0], 1) > 0.0);
    }

    #[test]
    fn an_edit_makes_stale_only_the_lines_it_replaces() {
        let mut lines = Shown::default();
        let [gone, stays, comes] = ["let first = 1;", "let second = 2;", "let third = 3;"].map(line);
        let read = enter(&mut lines, &[gone, stays], file("./src/a.rs", None));
        let written = lines.number(&[], &[gone, comes], 0);
        lines.show(&written);
        lines.learn(&[file("/home/me/src/a.rs", Some(edit(&[gone], &[comes])))], &[]);
        assert!(lines.loss(read[0], 2).abs() < 1e-12, "no edit can quote it any more");
        assert!(lines.loss(read[1], 1) > 0.0, "the rest of the read is still the only copy");
        assert!(lines.loss(written[1], 1) > lines.loss(read[1], 1), "what was written is edited first");
    }

    #[test]
    fn a_line_is_worth_more_in_a_small_file_and_among_few_that_were_written() {
        let many: Vec<Line> = (0..200).map(|i| line(&format!("let number{i:03} = {i};"))).collect();
        let read = |count: usize| {
            let mut lines = Shown::default();
            let numbers = enter(&mut lines, &many[..count], file("a.rs", None));
            lines.loss(numbers[0], 1)
        };
        let written = |count: usize| {
            let mut lines = Shown::default();
            let numbers = lines.number(&[], &many[..count], 0);
            lines.show(&numbers);
            lines.learn(&[file("a.rs", Some(edit(&[], &many[..count])))], &[]);
            lines.loss(numbers[0], 1)
        };
        assert!(read(20) > read(200) && written(20) > written(200));
    }

    #[test]
    fn what_was_read_ages_from_the_first_edit_after_it() {
        let [read, new] = ["let first = 1;", "let second = 2;"].map(line);
        let mut lines = Shown::default();
        let numbers = enter(&mut lines, &[read], file("a.rs", None));
        let mut after = |calls: u32, change: Option<Change>| {
            for _ in 0..calls {
                lines.tick();
            }
            lines.learn(&[file("b.rs", change)], &[]);
            lines.loss(numbers[0], 1) - copies(&lines, numbers[0])
        };
        let (fresh, later) = (after(1, None), after(30, None));
        assert!((fresh - later).abs() < 1e-12, "nothing was edited in between");
        let edited = after(1, Some(edit(&[], &[new])));
        assert!(after(30, None) < 0.6 * edited);
    }

    #[test]
    fn an_agent_that_edits_from_memory_needs_what_it_read() {
        let read: Vec<Line> = (0..20).map(|i| line(&format!("let number{i:03} = {i};"))).collect();
        let worth = |calls_between: u32| {
            let mut lines = Shown::default();
            let numbers = enter(&mut lines, &read, file("a.rs", None));
            for old in &read[1..6] {
                enter(&mut lines, &[*old], file("a.rs", None));
                for _ in 0..calls_between {
                    lines.tick();
                }
                lines.learn(&[file("a.rs", Some(edit(&[*old], &[])))], &[]);
            }
            let again = enter(&mut lines, &read[..1], file("a.rs", None));
            lines.hide(&again);
            lines.loss(numbers[0], 1)
        };
        assert!(worth(FAR) > 2.0 * worth(1));
    }

    /// The part of a line's worth that is copies.
    fn copies(lines: &Shown, number: u32) -> f64 {
        let mut lines = lines.clone();
        lines.line_and_work(number).expect("is a line").0.file = None;
        lines.loss(number, 1)
    }

    #[test]
    fn lines_that_went_make_their_file_smaller() {
        let many: Vec<Line> = (0..200).map(|i| line(&format!("let number{i:03} = {i};"))).collect();
        let mut lines = Shown::default();
        let numbers = enter(&mut lines, &many, file("a.rs", None));
        let size = |lines: &Shown| {
            (0..).map_while(|number| lines.work.files.row(number)).map(|row| row.lines).collect::<Vec<_>>()
        };
        assert_eq!(size(&lines), [200]);
        lines.learn(&[file("a.rs", Some(edit(&many[..50], &many[..10])))], &[]);
        assert_eq!(size(&lines), [160]);
        lines.learn(&[file("b.rs", None)], &numbers[..1]);
        assert_eq!(size(&lines), [159, 1], "a line stands in one place");
    }

    #[test]
    fn work_on_a_file_makes_all_its_lines_worth_more() {
        let after = |later: &str| {
            let mut lines = Shown::default();
            let [old, new] = ["let first = 1;", "let second = 2;"].map(line);
            let read = enter(&mut lines, &[old], file("a.rs", None));
            lines.tick();
            lines.learn(&[file("c.rs", Some(edit(&[], &[line("let third = 3;")])))], &[]);
            for _ in 0..20 {
                lines.tick();
            }
            enter(&mut lines, &[new], file(later, None));
            lines.loss(read[0], 1)
        };
        assert!(after("a.rs") > after("b.rs"));
    }

    #[test]
    fn a_line_of_no_file_is_worth_what_answers_may_copy_of_it() {
        let mut lines = Shown::default();
        let [said, put_out] = ["some words of a plan", "some line of a log"].map(line);
        let numbers = lines.number(&[], &[said, put_out], 0);
        lines.enter(&numbers[..1], Speaker::Assistant);
        lines.enter(&numbers[1..], Speaker::Tool);
        let before = numbers.iter().map(|&number| lines.loss(number, 1)).collect::<Vec<_>>();
        assert!(before[0] > before[1] && before[1] > 0.0);
        lines.learn(&[file("a.rs", Some(edit(&[put_out], &[])))], &[]);
        assert!(lines.loss(numbers[1], 1).abs() < 1e-12, "replaced");
    }
}
