//! The index of what the context shows: the identifiers and lines of its messages, how many messages still show each, and
//! what would be lost with the last of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::lines::{ShownLine, Work};
use super::value::{History, worth};
use crate::context::plan::Keep;
use crate::context::traits::identifiers::Identifier;
use crate::context::traits::lines::Line;

/// The numbers of what a message shows, in the index, dense from 0: its identifiers in their order, then its lines in theirs.
pub type Numbers = Arc<[u32]>;

/// All identifiers and lines seen so far.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    names: HashMap<Identifier, u32>,
    lines: HashMap<Line, u32>,
    rows: Vec<IndexEntry>,
    /// The work on files.
    pub(super) work: Work,
}

#[derive(Clone, Copy, Debug)]
struct IndexEntry {
    /// Messages in the context that show it.
    holders: u32,
    /// The call after which a new message last showed it.
    last_shown: u32,
    thing: Thing,
}

#[derive(Clone, Copy, Debug)]
enum Thing {
    Name(ShownName),
    Line(ShownLine),
}

#[derive(Clone, Copy, Debug)]
struct ShownName {
    uses: u32,
    last_use: u32,
    /// The message that showed it first.
    origin: u32,
}

impl Shown {
    /// Starts the next call: everything known grows older by one.
    pub fn tick(&mut self) {
        self.work.calls += 1;
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.work.calls
    }

    /// The numbers of these, new ones entered as first shown by the message at `index`.
    pub fn number(&mut self, identifiers: &[Identifier], lines: &[Line], index: usize) -> Numbers {
        let rows = &mut self.rows;
        let mut new = |thing: Thing| {
            rows.push(IndexEntry { holders: 0, last_shown: 0, thing });
            rows.len() as u32 - 1
        };
        let mut numbers = Vec::with_capacity(identifiers.len() + lines.len());
        let known = &mut self.names;
        for &identifier in identifiers {
            let name = ShownName { uses: 0, last_use: 0, origin: index as u32 };
            numbers.push(*known.entry(identifier).or_insert_with(|| new(Thing::Name(name))));
        }
        let known = &mut self.lines;
        for &line in lines {
            numbers.push(*known.entry(line).or_insert_with(|| new(Thing::Line(ShownLine::new(line)))));
        }
        numbers.into()
    }

    /// A new message shows these. Returns the messages that first brought the names that an answer uses now.
    pub fn enter(&mut self, numbers: &[u32], is_answer: bool) -> Vec<u32> {
        let mut origins = Vec::new();
        let calls = self.calls();
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            match &mut row.thing {
                Thing::Name(name) if is_answer => origins.push(name.enter(calls)),
                Thing::Name(_) => {}
                Thing::Line(line) => line.is_replaced = false,
            }
            row.holders += 1;
            row.last_shown = calls;
        }
        origins.sort_unstable();
        origins.dedup();
        origins
    }

    /// A message no longer shows these.
    pub fn hide(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            row.holders = row.holders.saturating_sub(1);
        }
    }

    /// A message shows these again, in its edited form.
    pub fn show(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            row.holders += 1;
        }
    }

    /// Why it stays, where it does.
    #[must_use]
    pub fn cause(&self, number: u32) -> Option<Keep> {
        Some(match self.rows.get(number as usize)?.thing {
            Thing::Name(name) if name.uses > 0 => Keep::UsedNames,
            Thing::Name(_) => Keep::NewNames,
            Thing::Line(line) if line.is_own => Keep::OwnLines,
            Thing::Line(_) => Keep::FileLines,
        })
    }

    /// The number of a line that was shown.
    pub(super) fn number_of(&self, line: Line) -> Option<u32> {
        self.lines.get(&line).copied()
    }

    /// The line of this number.
    pub(super) fn line(&self, number: u32) -> Option<&ShownLine> {
        match &self.rows.get(number as usize)?.thing {
            Thing::Line(line) => Some(line),
            Thing::Name(_) => None,
        }
    }

    /// The same, to be changed, and the work beside it.
    pub(super) fn line_and_work(&mut self, number: u32) -> Option<(&mut ShownLine, &mut Work)> {
        match &mut self.rows.get_mut(number as usize)?.thing {
            Thing::Line(line) => Some((line, &mut self.work)),
            Thing::Name(_) => None,
        }
    }

    /// Expected uses lost with all the messages that show `numbers`: ascending, once for each message.
    #[must_use]
    pub fn loss_of_all(&self, numbers: &[u32]) -> f64 {
        let runs = numbers.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some(self.loss(*run.first()?, run.len() as u32))).sum()
    }

    /// Expected uses lost with this many of the messages that show `number`: nothing where another one does.
    #[must_use]
    pub fn loss(&self, number: u32, holders_gone: u32) -> f64 {
        let Some(row) = self.rows.get(number as usize) else { return 0.0 };
        if row.holders > holders_gone {
            return 0.0;
        }
        let calls_since_shown = self.calls().saturating_sub(row.last_shown);
        match &row.thing {
            Thing::Name(name) => worth(name.history(calls_since_shown, self.calls())),
            Thing::Line(line) => self.work.worth(line, calls_since_shown),
        }
    }
}

impl ShownName {
    /// An answer uses it. Returns the message that brought it.
    fn enter(&mut self, calls: u32) -> u32 {
        (self.uses, self.last_use) = (self.uses + 1, calls);
        self.origin
    }

    fn history(&self, calls_since_seen: u32, calls: u32) -> History {
        History { uses: self.uses, calls_since_use: calls.saturating_sub(self.last_use), calls_since_seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::traits::identifiers::Collector;

    fn identifiers(text: &str) -> Box<[Identifier]> {
        let mut collector = Collector::default();
        collector.text(&text.encode_utf16().collect::<Vec<_>>());
        collector.finish()
    }

    #[test]
    fn only_the_last_holder_of_an_identifier_loses_it() {
        let mut shown = Shown::default();
        let both = shown.number(&identifiers("alphabet betatest"), &[], 0);
        let one = shown.number(&identifiers("alphabet"), &[], 1);
        shown.enter(&both, false);
        let alone = shown.loss_of_all(&both);
        shown.enter(&one, false);
        let covered = shown.loss_of_all(&both);
        assert!(covered > 0.0 && covered < alone);
        assert!(shown.loss_of_all(&one).abs() < 1e-12);
        let mut group = [&*both, &*one].concat();
        group.sort_unstable();
        assert!((shown.loss_of_all(&group) - alone).abs() < 1e-12);
        shown.hide(&one);
        assert!((shown.loss_of_all(&both) - alone).abs() < 1e-12);
    }

    #[test]
    fn a_use_names_the_messages_that_brought_what_is_used() {
        let mut shown = Shown::default();
        let numbers = shown.number(&identifiers("alphabet betatest"), &[], 4);
        assert!(shown.enter(&numbers, false).is_empty());
        let used = shown.number(&identifiers("betatest newly_found"), &[], 7);
        assert_eq!(shown.enter(&used, true), [4, 7]);
    }
}
