//! Counts which identifiers the context still shows, and what would be lost with a message.
//!
//! It counts, for each identifier, the messages that still show it. Which message goes is decided in `batch`.

use std::collections::HashMap;
use std::sync::Arc;

use super::value::{History, worth};
use crate::context::traits::identifiers::Identifier;

/// Numbers of identifiers, the ledger's own, dense from 0; in the order of the identifiers.
pub type Numbers = Arc<[u32]>;

/// Who shows an identifier to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The model: a use.
    Assistant,
    /// A tool.
    Tool,
    /// The user, the prompt or a summary mentions it.
    Other,
}

/// All identifiers seen so far.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    numbers: Arc<HashMap<Identifier, u32>>,
    rows: Vec<ShownIdentifier>,
    calls: u32,
}

#[derive(Clone, Copy, Debug)]
struct ShownIdentifier {
    identifier: Identifier,
    /// Messages in the context that show it.
    holders: u32,
    uses: u32,
    last_use: u32,
    last_seen: u32,
    is_mentioned: bool,
    /// The message that showed it first.
    origin: u32,
}

impl Ledger {
    /// Starts the next call: everything known grows older by one.
    pub fn tick(&mut self) {
        self.calls += 1;
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// The numbers of these identifiers, new ones entered as first shown by the message at `index`.
    pub fn number(&mut self, identifiers: &[Identifier], index: usize) -> Numbers {
        let mut numbers: Vec<u32> = Vec::with_capacity(identifiers.len());
        let known = Arc::make_mut(&mut self.numbers);
        for &identifier in identifiers {
            let next = self.rows.len() as u32;
            let number = *known.entry(identifier).or_insert(next);
            if number == next {
                let origin = index as u32;
                let row = ShownIdentifier {
                    identifier,
                    holders: 0,
                    uses: 0,
                    last_use: 0,
                    last_seen: 0,
                    is_mentioned: false,
                    origin,
                };
                self.rows.push(row);
            }
            numbers.push(number);
        }
        numbers.into()
    }

    /// A message shows these. Returns the messages that first brought what is used now.
    pub fn enter(&mut self, numbers: &[u32], speaker: Speaker) -> Vec<u32> {
        let mut origins = Vec::new();
        let calls = self.calls;
        for &number in numbers {
            let Some(row) = self.rows.get_mut(number as usize) else { continue };
            row.holders += 1;
            row.last_seen = calls;
            match speaker {
                Speaker::Assistant => {
                    row.uses += 1;
                    row.last_use = calls;
                    origins.push(row.origin);
                }
                Speaker::Tool => {}
                Speaker::Other => row.is_mentioned = true,
            }
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

    /// True if the model has used it.
    #[must_use]
    pub fn is_used(&self, number: u32) -> bool {
        self.rows.get(number as usize).is_some_and(|row| row.uses > 0)
    }

    /// Expected uses lost if one message no longer showed these.
    #[must_use]
    pub fn loss_of(&self, numbers: &[u32]) -> f64 {
        numbers.iter().map(|&number| self.loss(number, 1)).sum()
    }

    /// Expected uses lost with all the messages that show `numbers`: ascending, once for each message.
    #[must_use]
    pub fn loss_of_all(&self, numbers: &[u32]) -> f64 {
        let runs = numbers.chunk_by(|a, b| a == b);
        runs.filter_map(|run| Some(self.loss(*run.first()?, run.len() as u32))).sum()
    }

    /// Expected uses lost with this many of the messages that show `number`.
    #[must_use]
    pub fn loss(&self, number: u32, holders_gone: u32) -> f64 {
        match self.rows.get(number as usize) {
            Some(row) if row.holders <= holders_gone => worth(row.identifier, row.history(self.calls)),
            _ => 0.0,
        }
    }
}

impl ShownIdentifier {
    fn history(&self, calls: u32) -> History {
        History {
            uses: self.uses,
            calls_since_use: calls.saturating_sub(self.last_use),
            calls_since_seen: calls.saturating_sub(self.last_seen),
            is_mentioned: self.is_mentioned,
        }
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
        let mut ledger = Ledger::default();
        let both = ledger.number(&identifiers("alphabet betatest"), 0);
        let one = ledger.number(&identifiers("alphabet"), 1);
        ledger.enter(&both, Speaker::Tool);
        let alone = ledger.loss_of(&both);
        ledger.enter(&one, Speaker::Tool);
        let covered = ledger.loss_of(&both);
        assert!(covered > 0.0 && covered < alone);
        assert!(ledger.loss_of(&one).abs() < 1e-12);
        let mut group = [&*both, &*one].concat();
        group.sort_unstable();
        assert!((ledger.loss_of_all(&group) - alone).abs() < 1e-12);
        ledger.hide(&one);
        assert!((ledger.loss_of(&both) - alone).abs() < 1e-12);
    }

    #[test]
    fn a_use_names_the_messages_that_brought_what_is_used() {
        let mut ledger = Ledger::default();
        let numbers = ledger.number(&identifiers("alphabet betatest"), 4);
        assert!(ledger.enter(&numbers, Speaker::Tool).is_empty());
        let used = ledger.number(&identifiers("betatest newly_found"), 7);
        assert_eq!(ledger.enter(&used, Speaker::Assistant), [4, 7]);
    }
}
