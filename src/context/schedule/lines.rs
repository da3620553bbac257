//! Counts which lines of files the context still shows, and what would be lost with the last copy of one.
//!
//! A line is known by its hash alone, wherever it stands: in a result, in a patch, in what a call writes. Whose file it
//! is and whether it still stands there is told by the calls that read and change files.

use std::collections::HashMap;
use std::sync::Arc;

use super::files::Files;
use super::ledger::Speaker;
use super::value::{CopyHistory, LineHistory, copy_worth, line_worth};
use super::weights::{CALLS_BEFORE_EDITS, FAR, Origin, TELLING_LINE, USUAL_EDITS, USUAL_LINES};
use crate::context::traits::lines::Line;
use crate::context::traits::target::{Change, File};

/// Numbers of lines; dense from 0, in no order.
pub type LineNumbers = Arc<[u32]>;

/// All lines seen so far, and the files they belong to.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    numbers: Arc<HashMap<Line, u32>>,
    rows: Vec<ShownLine>,
    files: Arc<Files>,
    calls: u32,
    edits: Edits,
    copies: Copies,
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

#[derive(Clone, Copy, Debug)]
struct ShownLine {
    /// Messages in the context that show it.
    holders: u32,
    /// The file it was last seen in.
    file: Option<u32>,
    /// The call that showed or wrote it there.
    last_seen: u32,
    /// True if the model wrote it itself.
    is_own: bool,
    /// Lines that were shown or written along with it, itself among them.
    company: u32,
    /// About how many UTF-16 code units it has.
    units: u16,
    /// The first to show it; `None` before, and once an edit replaced it: no answer copies it then.
    speaker: Option<Speaker>,
    /// The call after which it was last shown.
    last_shown: u32,
    /// Answers that showed it after another message had, or once more.
    copies: u16,
}

impl Lines {
    /// Starts the next call: everything known grows older by one.
    pub fn tick(&mut self) {
        self.calls += 1;
    }

    /// The numbers of these lines, in their order; new ones are entered.
    pub fn number(&mut self, lines: &[Line]) -> LineNumbers {
        let known = Arc::make_mut(&mut self.numbers);
        let numbers = lines.iter().map(|&line| {
            let next = self.rows.len() as u32;
            let number = *known.entry(line).or_insert(next);
            if number == next {
                self.rows.push(ShownLine::new(line));
            }
            number
        });
        numbers.collect()
    }

    /// A message no longer shows these.
    pub fn hide(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            row.holders = row.holders.saturating_sub(1);
        }
    }

    /// A new message shows these.
    pub fn enter(&mut self, numbers: &[u32], speaker: Speaker) {
        let calls = self.calls;
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            if speaker == Speaker::Assistant && row.units >= TELLING_LINE {
                self.copies.lines += 1;
                if row.speaker.is_some() {
                    row.copies = row.copies.saturating_add(1);
                    self.copies.from_memory += u32::from(row.last_shown + FAR <= calls);
                }
            }
            row.speaker.get_or_insert(speaker);
            row.last_shown = calls;
            row.holders += 1;
        }
    }

    /// A message shows these.
    pub fn show(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            row.holders += 1;
        }
    }

    /// A call on `files` came back with a result that shows `shown`: what it read stands in its file now, and so does
    /// what it wrote; what it replaced stands there no more.
    pub fn learn(&mut self, files: &[File], shown: &[u32]) {
        let mut target = None;
        self.note_edit(files);
        for file in files {
            let id = Arc::make_mut(&mut self.files).number(&file.path);
            target.get_or_insert(id);
            if let Some(change) = &file.change {
                self.change(id, change);
            }
        }
        let Some(id) = target else { return };
        Arc::make_mut(&mut self.files).touch(id, self.calls);
        for &number in shown {
            self.place(number, Place { file: id, is_own: false, company: shown.len() as u32 });
        }
    }

    /// Notes the first edit of a call, if it changes anything.
    fn note_edit(&mut self, files: &[File]) {
        let changes =
            || files.iter().filter_map(|file| file.change.as_ref()).filter(|change| !change.is_empty());
        if changes().next().is_none() || self.edits.calls.last() == Some(&self.calls) {
            return;
        }
        let is_far = |line: &Line| {
            let row = self.numbers.get(line).and_then(|&number| self.rows.get(number as usize));
            row.is_some_and(|row| row.file.is_some() && row.last_seen + FAR <= self.calls)
        };
        self.edits.from_memory += u32::from(changes().flat_map(|change| &change.old).any(is_far));
        self.edits.calls.push(self.calls);
    }

    fn change(&mut self, id: u32, change: &Change) {
        if let Some(to) = &change.moved_to {
            Arc::make_mut(&mut self.files).enter(to, id);
        }
        if change.is_empty() {
            return;
        }
        for line in &change.old {
            if let Some(row) = self.numbers.get(line).and_then(|&number| self.rows.get_mut(number as usize)) {
                Arc::make_mut(&mut self.files).move_line(row.file.take(), None);
                row.speaker = None;
            }
        }
        let place = Place { file: id, is_own: true, company: change.new.len() as u32 };
        for line in &change.new {
            if let Some(&number) = self.numbers.get(line) {
                self.place(number, place);
            }
        }
    }

    fn place(&mut self, number: u32, Place { file, is_own, company }: Place) {
        let Some(row) = self.rows.get_mut(number as usize) else { return };
        if row.file != Some(file) {
            Arc::make_mut(&mut self.files).move_line(row.file.replace(file), Some(file));
        }
        row.last_seen = self.calls;
        row.is_own |= is_own;
        row.company = company;
    }

    /// True if the model wrote it itself.
    #[must_use]
    pub fn is_own(&self, number: u32) -> bool {
        self.rows.get(number as usize).is_some_and(|row| row.is_own)
    }

    /// Expected loss if a message no longer showed `number`: nothing where another one does.
    #[must_use]
    pub fn loss(&self, number: u32, holders_gone: u32) -> f64 {
        let Some(row) = self.rows.get(number as usize) else { return 0.0 };
        if row.holders > holders_gone {
            return 0.0;
        }
        let history = CopyHistory {
            units: row.units,
            copies: row.copies,
            calls_since_shown: self.calls.saturating_sub(row.last_shown),
            from_memory: self.copies.share_from_memory(),
        };
        let copied = row.origin().map_or(0.0, |origin| copy_worth(origin, history));
        let Some(file) = row.file.and_then(|file| self.files.row(file)) else { return copied };
        copied
            + self.edits_expected()
                * line_worth(LineHistory {
                    file_lines: file.lines,
                    company: row.company,
                    calls_since_seen: self.calls.saturating_sub(row.last_seen),
                    calls_since_edit: self.edits.since_first_after(row.last_seen, self.calls),
                    from_memory: self.edits.share_from_memory(),
                    calls_since_touched: self.calls.saturating_sub(file.last_touch),
                    is_own: row.is_own,
                })
    }

    /// The chance of edits where there were none yet: after so many calls without one, the next is less so with each.
    fn edits_expected(&self) -> f64 {
        let calls = self.calls.max(CALLS_BEFORE_EDITS);
        if self.edits.calls.is_empty() { f64::from(CALLS_BEFORE_EDITS) / f64::from(calls) } else { 1.0 }
    }

    /// Expected loss with all the messages that show `numbers`: ascending, once for each message.
    #[must_use]
    pub fn loss_of_all(&self, numbers: &[u32]) -> f64 {
        let runs = numbers.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some(self.loss(*run.first()?, run.len() as u32))).sum()
    }
}

impl Copies {
    fn share_from_memory(self) -> f64 {
        USUAL_LINES.share_of(self.from_memory, self.lines as usize)
    }
}

impl Edits {
    /// Calls since the first edit after that of `seen`; none where nothing was edited since.
    fn since_first_after(&self, seen: u32, now: u32) -> u32 {
        let first = self.calls.partition_point(|&call| call <= seen);
        self.calls.get(first).map_or(0, |&call| now.saturating_sub(call))
    }

    fn share_from_memory(&self) -> f64 {
        USUAL_EDITS.share_of(self.from_memory, self.calls.len())
    }
}

impl ShownLine {
    fn new(line: Line) -> Self {
        Self {
            holders: 0,
            file: None,
            last_seen: 0,
            is_own: false,
            company: 0,
            units: line.units() as u16,
            speaker: None,
            last_shown: 0,
            copies: 0,
        }
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
    use crate::context::traits::paths::Path;

    fn line(text: &str) -> Line {
        Line::of(&text.encode_utf16().collect::<Vec<_>>()).expect("is long enough")
    }

    fn file(path: &str, change: Option<Change>) -> File {
        File { path: Path::of(path, None).expect("names a file"), is_whole: true, change }
    }

    fn edit(old: &[Line], new: &[Line]) -> Change {
        Change { moved_to: None, old: old.into(), new: new.into() }
    }

    /// A message that shows these lines, of a call on this file.
    fn enter(lines: &mut Lines, shown: &[Line], file: File) -> LineNumbers {
        let numbers = lines.number(shown);
        lines.show(&numbers);
        lines.learn(&[file], &numbers);
        lines.tick();
        numbers
    }

    #[test]
    fn only_the_last_copy_of_a_line_loses_it() {
        let mut lines = Lines::default();
        let both = [line("let first = 1;"), line("let second = 2;")];
        let read = enter(&mut lines, &both, file("a.rs", None));
        let again = enter(&mut lines, &both[..1], file("a.rs", None));
        assert!(lines.loss(read[0], 1).abs() < 1e-12 && lines.loss(read[1], 1) > 0.0);
        lines.hide(&again);
        assert!(lines.loss(read[0], 1) > 0.0);
    }

    #[test]
    fn an_edit_makes_stale_only_the_lines_it_replaces() {
        let mut lines = Lines::default();
        let [gone, stays, comes] = ["let first = 1;", "let second = 2;", "let third = 3;"].map(line);
        let read = enter(&mut lines, &[gone, stays], file("./src/a.rs", None));
        let written = lines.number(&[gone, comes]);
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
            let mut lines = Lines::default();
            let numbers = enter(&mut lines, &many[..count], file("a.rs", None));
            lines.loss(numbers[0], 1)
        };
        let written = |count: usize| {
            let mut lines = Lines::default();
            let numbers = lines.number(&many[..count]);
            lines.show(&numbers);
            lines.learn(&[file("a.rs", Some(edit(&[], &many[..count])))], &[]);
            lines.loss(numbers[0], 1)
        };
        assert!(read(20) > read(200) && written(20) > written(200));
    }

    #[test]
    fn the_longer_nothing_is_edited_the_less_lines_are_worth() {
        let read = [line("let first = 1;")];
        let after = |calls: u32, is_edited: bool| {
            let mut lines = Lines::default();
            if is_edited {
                lines.learn(&[file("b.rs", Some(edit(&[], &[line("let second = 2;")])))], &[]);
            }
            for _ in 0..calls {
                lines.tick();
            }
            let numbers = enter(&mut lines, &read, file("a.rs", None));
            lines.loss(numbers[0], 1)
        };
        assert!(after(CALLS_BEFORE_EDITS - 1, false) >= after(CALLS_BEFORE_EDITS - 1, true));
        assert!(after(2 * CALLS_BEFORE_EDITS, false) < 0.7 * after(2 * CALLS_BEFORE_EDITS, true));
    }

    #[test]
    fn what_was_read_ages_from_the_first_edit_after_it() {
        let [read, new] = ["let first = 1;", "let second = 2;"].map(line);
        let mut lines = Lines::default();
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
            let mut lines = Lines::default();
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
    fn copies(lines: &Lines, number: u32) -> f64 {
        let mut lines = lines.clone();
        lines.rows[number as usize].file = None;
        lines.loss(number, 1)
    }

    #[test]
    fn lines_that_went_make_their_file_smaller() {
        let many: Vec<Line> = (0..200).map(|i| line(&format!("let number{i:03} = {i};"))).collect();
        let mut lines = Lines::default();
        let numbers = enter(&mut lines, &many, file("a.rs", None));
        let size = |lines: &Lines| {
            (0..).map_while(|number| lines.files.row(number)).map(|row| row.lines).collect::<Vec<_>>()
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
            let mut lines = Lines::default();
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
        let mut lines = Lines::default();
        let [said, put_out] = ["some words of a plan", "some line of a log"].map(line);
        let numbers = lines.number(&[said, put_out]);
        lines.enter(&numbers[..1], Speaker::Assistant);
        lines.enter(&numbers[1..], Speaker::Tool);
        let before = numbers.iter().map(|&number| lines.loss(number, 1)).collect::<Vec<_>>();
        assert!(before[0] > before[1] && before[1] > 0.0);
        lines.learn(&[file("a.rs", Some(edit(&[put_out], &[])))], &[]);
        assert!(lines.loss(numbers[1], 1).abs() < 1e-12, "replaced");
    }
}
