//! One report of a provider, and the ways in which it can be read.

use super::scale::{PRIOR_SCALE, PRIOR_WEIGHT, SCALE_RANGE};
use crate::context::transcript::{Source, Usage};
use crate::tokens::estimate::{MESSAGE_FRAME_TOKENS, Size};

/// A prediction this close to a report tells what was sent, if the other one is farther off by as much.
const TELLING_MISS: f64 = 0.05;
/// A step of at least this share of what was sent tells the scale without those before it.
const TELLING_STEP: f64 = 0.02;
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
    twice: Twice,
}

/// What a provider says of the cache although its `input` has it already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Twice {
    #[default]
    Nothing,
    /// What was read from it.
    Read,
    /// What was read and what was written.
    All,
}

impl Reading {
    /// The same, of a list that was sent with its edits.
    pub(super) fn of_edited(self) -> Self {
        Self { was_raw: false, ..self }
    }

    /// Tokens of the prompt that a usage with so many in all reports; those, where it cannot be read so.
    pub(super) fn prompt_tokens(self, total: f64, usage: &Usage) -> f64 {
        self.twice.prompt_tokens(total, usage).unwrap_or(total)
    }
}

impl Twice {
    /// The prompt by `usage`, if that can be; `total` if nothing is said twice, as where nothing was cached.
    fn prompt_tokens(self, total: f64, usage: &Usage) -> Option<f64> {
        let (input, read) = (usage.input?, usage.cache_read.unwrap_or(0.0));
        let cached = read + usage.cache_write.unwrap_or(0.0);
        match self {
            Self::Nothing => Some(total),
            Self::Read => (input >= read).then_some(total - read),
            Self::All => (input >= cached).then_some(total - cached),
        }
    }
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
    /// `usage`, of a prompt of so many tokens in all, read so if that can be, else as it stands.
    pub(super) fn read(source: &Source, total: f64, usage: &Usage, sent: Sent, reading: Reading) -> Self {
        Self::read_as(reading, source, total, usage, sent)
            .or_else(|| Self::read_as(Reading::default(), source, total, usage, sent))
            .unwrap_or_else(|| Self { source: source.clone(), reported: 0.0, counted: 0.0, reading })
    }

    fn read_as(reading: Reading, source: &Source, total: f64, usage: &Usage, sent: Sent) -> Option<Self> {
        let size = if reading.was_raw { sent.raw } else { sent.edited };
        let tokens = reading.twice.prompt_tokens(total, usage)?;
        let reported = tokens - MESSAGE_FRAME_TOKENS * size.messages as f64;
        Some(Self { source: source.clone(), reported, counted: size.cl100k as f64, reading })
    }

    /// How its model counts, with nothing known: as most do, unless that leaves less than nothing beside the messages.
    pub(super) fn likely_scale(&self) -> f64 {
        PRIOR_SCALE.min(self.scale_beside(0.0))
    }

    /// How its model counts, if the host sends so many cl100k tokens beside the messages.
    pub(super) fn scale_beside(&self, overhead: f64) -> f64 {
        self.reported / (overhead + self.counted).max(1.0)
    }

    /// The same where that was said of another model: as it may have changed a little with the model, the report tells the
    /// less the less text there is.
    pub(super) fn scale_of_other(&self, overhead: f64) -> f64 {
        let text = self.counted.powi(2);
        let told = text / (overhead.powi(2) + PRIOR_WEIGHT.powi(2) + text);
        let scale = told * self.scale_beside(overhead) + (1.0 - told) * PRIOR_SCALE;
        scale.min(self.scale_beside(0.0))
    }

    /// The next report in the reading that fits this one best at so many tokens for one of cl100k; this one's own
    /// reading, unless another is clearly better. That it was sent without the edits takes a scale that is learned: with
    /// another one the edits explain as much.
    pub(super) fn next(
        &self,
        total: f64,
        usage: &Usage,
        sent: Sent,
        (scale, is_learned): (f64, bool),
    ) -> Self {
        let miss = |next: &Self| {
            let predicted = self.reported + scale * (next.counted - self.counted);
            (predicted - next.reported).abs() / next.reported.max(1.0)
        };
        let last = Self::read(&self.source, total, usage, sent, self.reading);
        let (last_miss, mut best) = (miss(&last), last.clone());
        let raw_too = is_learned || self.reading.was_raw;
        for was_raw in [false, true].into_iter().filter(|&was_raw| raw_too || !was_raw) {
            for twice in [Twice::Nothing, Twice::Read, Twice::All] {
                let reading = Reading { was_raw, twice };
                let Some(other) = Self::read_as(reading, &self.source, total, usage, sent) else { continue };
                let of_other = miss(&other);
                if of_other <= TELLING_MISS && of_other + TELLING_MISS < last_miss && of_other < miss(&best) {
                    best = other;
                }
            }
        }
        best
    }

    /// The tokens for one of cl100k at which three reports say the same stands beside the messages; `None` if they do not.
    pub(super) fn common_scale(first: &Self, second: &Self, third: &Self) -> Option<f64> {
        let ratio = |from: &Self, to: &Self| {
            let counted = to.counted - from.counted;
            let is_telling = counted.abs() >= TELLING_STEP * to.counted && from.source == to.source;
            is_telling.then(|| (to.reported - from.reported) / counted)
        };
        let (early, late) = (ratio(first, second)?, ratio(second, third)?);
        let (lowest, highest) = SCALE_RANGE;
        let agree = (early - late).abs() <= TELLING_MISS * late;
        (agree && late >= lowest && late <= highest && third.reported >= late * third.counted).then_some(late)
    }

    /// Whether a prompt with so many cl100k tokens can have been reported so.
    pub(super) fn is_possible(&self) -> bool {
        let (lowest, highest) = SCALE_RANGE;
        self.reported >= self.counted * lowest && self.reported <= self.counted * highest + MAX_OVERHEAD
    }
}
