//! One report of a provider, and the ways in which it can be read.

use super::scale::SCALE_RANGE;
use crate::tokens::estimate::{MESSAGE_FRAME_TOKENS, Size};
use crate::transcript::{Source, Usage};

/// A prediction this close to a report tells what was sent, if the other one is farther off by as much.
const TELLING_MISS: f64 = 0.05;
/// Most a provider counts beside the messages, for prompt and tools.
const MAX_OVERHEAD: f64 = 150_000.0;

/// What a prompt may have held, in cl100k tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The transcript as it was.
    pub raw: Size,
    /// With the edits decided then.
    pub edited: Size,
}

/// How a report is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The transcript was sent as it came.
    was_raw: bool,
    /// What came from the cache is part of `input` already.
    counts_cached_twice: bool,
}

/// A report beside what it was made of.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) source: Source,
    /// Without the frames around the messages.
    pub(super) reported: f64,
    /// cl100k tokens that were sent, by `reading`.
    pub(super) counted: f64,
    pub(super) reading: Reading,
}

impl Report {
    /// `usage`, of a prompt of so many tokens in all, read like this.
    pub(super) fn read(source: &Source, total: f64, usage: &Usage, sent: Sent, reading: Reading) -> Self {
        let tokens = if reading.counts_cached_twice { usage.input.unwrap_or(total) } else { total };
        let size = if reading.was_raw { sent.raw } else { sent.edited };
        let reported = tokens - MESSAGE_FRAME_TOKENS * size.messages as f64;
        Self { source: source.clone(), reported, counted: size.cl100k as f64, reading }
    }

    /// The next report in the reading that fits this one best at so many tokens for one of cl100k; this one's own
    /// reading, unless another is clearly better.
    pub(super) fn next(&self, total: f64, usage: &Usage, sent: Sent, scale: f64) -> Self {
        let read = |reading: Reading| {
            let next = Self::read(&self.source, total, usage, sent, reading);
            let predicted = self.reported + scale * (next.counted - self.counted);
            ((predicted - next.reported).abs() / next.reported.max(1.0), next)
        };
        let last = read(self.reading);
        let mut best = last.clone();
        let cached = usage.cache_read.unwrap_or(0.0) + usage.cache_write.unwrap_or(0.0);
        let may_count_twice = cached > 0.0 && usage.input.is_some_and(|input| input >= cached);
        for was_raw in [false, true] {
            for counts_cached_twice in [false, true] {
                if counts_cached_twice && !may_count_twice {
                    continue;
                }
                let other = read(Reading { was_raw, counts_cached_twice });
                if other.0 <= TELLING_MISS && other.0 + TELLING_MISS < last.0 && other.0 < best.0 {
                    best = other;
                }
            }
        }
        best.1
    }

    /// Whether a prompt with so many cl100k tokens can have been reported so.
    pub(super) fn is_possible(&self) -> bool {
        let (lowest, highest) = SCALE_RANGE;
        self.reported >= self.counted * lowest && self.reported <= self.counted * highest + MAX_OVERHEAD
    }
}
