//! The file that each line of the index stands in and whether it still does, told by the calls that read and change files.

use super::shown::Shown;
use super::weights::FAR;
use crate::context::traits::lines::Line;
use crate::context::traits::target::{Change, File};

impl Shown {
    /// A call on `files` came back with a result that shows `numbers`: the lines it read stand in its file now, and so do
    /// those it wrote; those it replaced stand there no more.
    pub fn learn(&mut self, files: &[File], numbers: &[u32]) {
        let mut target = None;
        self.note_edit(files);
        for file in files {
            let id = self.work.files.number(&file.path);
            target.get_or_insert(id);
            if let Some(change) = &file.change {
                self.change(id, change);
            }
        }
        let Some(file) = target else { return };
        let calls = self.calls();
        self.work.files.touch(file, calls);
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
            self.work.files.enter(to, file);
        }
        if change.is_empty() {
            return;
        }
        for line in &change.old {
            if let Some((line, work)) = self.number_of(*line).and_then(|number| self.line_and_work(number)) {
                work.files.move_line(line.file.take(), None);
                line.is_replaced = true;
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
            work.files.move_line(line.file.replace(file), Some(file));
        }
        line.last_seen = work.calls;
        line.is_own |= is_own;
        line.is_replaced = false;
        line.company = company;
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
        File { path: Path::of(path, None).expect("names a file"), range: None, change }
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

    /// The worth of a line to edits: read, then a first edit of another file if there is one, then so many calls.
    fn worth_to_edits(calls: u32, first: Option<Change>, last: Option<Change>) -> f64 {
        let mut lines = Shown::default();
        let numbers = enter(&mut lines, &[line("let first = 1;")], file("a.rs", None));
        lines.learn(&[file("b.rs", first)], &[]);
        for _ in 0..calls {
            lines.tick();
        }
        lines.learn(&[file("b.rs", last)], &[]);
        lines.loss(numbers[0], 1) - copies(&lines, numbers[0])
    }

    #[test]
    fn what_was_read_ages_from_the_first_edit_after_it() {
        let new = || Some(edit(&[], &[line("let second = 2;")]));
        assert!(worth_to_edits(30, new(), new()) < 0.6 * worth_to_edits(30, None, new()));
    }

    #[test]
    fn what_an_agent_reads_that_edits_nothing_ages_too() {
        assert!(worth_to_edits(60, None, None) < 0.5 * worth_to_edits(0, None, None));
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
        let put_out = line("some line of a log");
        let numbers = lines.number(&[], &[put_out], 0);
        lines.enter(&numbers, false);
        assert!(lines.loss(numbers[0], 1) > 0.0);
        lines.learn(&[file("a.rs", Some(edit(&[put_out], &[])))], &[]);
        assert!(lines.loss(numbers[0], 1).abs() < 1e-12, "replaced");
        lines.enter(&numbers, false);
        assert!(lines.loss(numbers[0], 2) > 0.0, "shown again");
    }

    #[test]
    fn a_line_that_an_edit_quotes_and_writes_again_is_not_replaced() {
        let [changed, beside] = ["let first = 1;", "let second = 2;"].map(line);
        let mut lines = Shown::default();
        let read = enter(&mut lines, &[changed, beside], file("a.rs", None));
        lines.learn(&[file("a.rs", Some(edit(&[changed, beside], &[beside])))], &[]);
        assert!(copies(&lines, read[0]).abs() < 1e-12 && copies(&lines, read[1]) > 0.0);
    }
}
