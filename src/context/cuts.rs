//! Cuts of a long text to its head and tail: a short table per text, made when its message is measured.
//!
//! With the tables a request can be made to fit from facts alone. The texts themselves are gone by then.

use crate::contract::CUT_MARKER;
use crate::text::{Utf16Len, head, tail, utf16};

/// The least a text is cut to, in tokens: less says nothing.
pub const MIN_CUT_TOKENS: usize = 64;

/// Up to this many tokens each cut doubles the one before, above it two cuts do: a huge text should lose little more than
/// it must, and a cut of a small one saves little anyway.
const FINE_FROM_TOKENS: usize = 1024;

/// Tries of a cut that has too many tokens, each shorter than the last.
const MAX_TRIES: usize = 4;

/// Position of a cut size in the common scale 64, 128, … 1024, 1448, 2048, 2896, … tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u8);

impl Level {
    /// The smallest cut.
    pub const MIN: Self = Self(0);

    /// Tokens a text has at most when cut to this level.
    pub fn tokens(self) -> usize {
        let coarse = FINE_FROM_TOKENS.ilog2() - MIN_CUT_TOKENS.ilog2();
        let fine = u32::from(self.0).saturating_sub(coarse);
        let doublings = u32::from(self.0).min(coarse) + fine / 2;
        let tokens = 1usize.checked_shl(MIN_CUT_TOKENS.ilog2() + doublings).unwrap_or(usize::MAX);
        if fine % 2 == 1 { (tokens / 128).saturating_mul(181) } else { tokens }
    }

    /// The highest level of at most `tokens`; the least if there is none.
    pub fn within(tokens: usize) -> Self {
        let fitting = (0..u8::MAX).take_while(|&level| Self(level).tokens() <= tokens);
        Self(fitting.last().unwrap_or_default())
    }
}

/// A text block of which only head and tail stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Position of the block among the message's text blocks.
    pub text_block: usize,
    /// Length of the beginning that stays.
    pub head: Utf16Len,
    /// Length of the end that stays.
    pub tail: Utf16Len,
    /// Tokens this cut saves.
    pub tokens_saved: usize,
}

/// The cuts of one message's text blocks, at every level below their size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutTable(Box<[BlockCuts]>);

/// The cuts of one text block by level.
type BlockCuts = Box<[Cut]>;

impl CutTable {
    /// The table of a message with these text blocks, whose tokens `count` counts.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a [u16]>, count: impl Fn(&[u16]) -> usize) -> Self {
        let long = texts.into_iter().enumerate().filter(|(_, text)| text.len() > MIN_CUT_TOKENS);
        let blocks = long.map(|block| cuts_of(block, &count));
        Self(blocks.filter(|cuts| !cuts.is_empty()).collect())
    }

    /// True if nothing can be cut.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The highest level at which something is cut; `None` where nothing can be.
    pub fn top(&self) -> Option<Level> {
        let most = self.0.iter().map(|cuts| cuts.len()).max()?;
        most.checked_sub(1).map(|level| Level(level as u8))
    }

    /// The cuts that bring every block to `level`; blocks that are no longer than it stay whole.
    pub fn at(&self, level: Level) -> impl Iterator<Item = Cut> + '_ {
        self.0.iter().filter_map(move |cuts| cuts.get(usize::from(level.0)).copied())
    }

    /// Tokens saved by cutting every block to `level`.
    pub fn saved_at(&self, level: Level) -> usize {
        self.at(level).map(|cut| cut.tokens_saved).sum()
    }

    /// Bytes it takes, for caches that are bounded by them.
    pub fn heap_bytes(&self) -> usize {
        self.0.iter().map(|cuts| size_of::<BlockCuts>() + size_of_val(&**cuts)).sum()
    }
}

/// The marker for so many characters left out.
pub fn cut_marker(omitted: Utf16Len) -> Vec<u16> {
    utf16(&CUT_MARKER.join(&omitted.0.to_string()))
}

/// The text that a cut leaves.
///
/// ```
/// use pi_strata::context::cuts::cut_text;
/// use pi_strata::text::Utf16Len;
///
/// let text: Vec<u16> = "0123456789".repeat(10).encode_utf16().collect();
/// let cut = String::from_utf16_lossy(&cut_text(&text, Utf16Len(3), Utf16Len(2)));
/// assert_eq!(cut, "012\n\n... [95 characters truncated] ...\n\n89");
/// ```
pub fn cut_text(text: &[u16], kept_head: Utf16Len, kept_tail: Utf16Len) -> Vec<u16> {
    let (head, tail) = (head(text, kept_head), tail(text, kept_tail));
    let omitted = text.len().saturating_sub(head.len() + tail.len());
    [head, &cut_marker(Utf16Len(omitted)), tail].concat()
}

/// The cuts of one text, the smallest first: each saves tokens and makes the text shorter.
fn cuts_of(block: (usize, &[u16]), count: &impl Fn(&[u16]) -> usize) -> BlockCuts {
    let before = count(block.1);
    let levels = (0..u8::MAX).map(Level).take_while(|level| level.tokens() < before);
    levels.map_while(|level| cut_to(block, before, level, count)).collect()
}

/// A cut of `text`, which has `before` tokens, that leaves at most `level`.
fn cut_to(
    (text_block, text): (usize, &[u16]),
    before: usize,
    level: Level,
    count: &impl Fn(&[u16]) -> usize,
) -> Option<Cut> {
    let level = level.tokens();
    let mut half = text.len() / 2 * level / before.max(1);
    for attempt in 0..MAX_TRIES {
        // The last try keeps nothing but the marker, which is below every level.
        let half_len = Utf16Len(if attempt + 1 == MAX_TRIES { 0 } else { half });
        let cut = cut_text(text, half_len, half_len);
        let after = count(&cut);
        if after <= level && after < before && cut.len() < text.len() {
            let (head, tail) = (Utf16Len(head(text, half_len).len()), Utf16Len(tail(text, half_len).len()));
            return Some(Cut { text_block, head, tail, tokens_saved: before - after });
        }
        half = if after > level { half * level / (after + after / 32) } else { half * 3 / 4 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens;
    use proptest::prelude::*;

    fn utf16(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn levels_double_and_then_rise_by_half_doublings() {
        let tokens: Vec<usize> = (0..9).map(|level| Level(level).tokens()).collect();
        assert_eq!(tokens, [64, 128, 256, 512, 1024, 1448, 2048, 2896, 4096]);
        assert_eq!(Level::within(2000), Level(5));
        assert_eq!(Level::within(3), Level::MIN);
        assert!((0..u8::MAX).is_sorted_by_key(|level| Level(level).tokens()));
    }

    #[test]
    fn a_long_text_keeps_most_of_what_a_level_allows() {
        let text = utf16(&"some words of a long text, one line after the other\n".repeat(2000));
        let table = CutTable::of([text.as_slice()], tokens::count_utf16);
        let before = tokens::count_utf16(&text);
        for level in (1..=table.top().expect("can be cut").0).map(Level) {
            let left = before - table.saved_at(level);
            assert!(left <= level.tokens() && left * 10 > level.tokens() * 8, "{left} at {level:?}");
        }
    }

    #[test]
    fn a_table_takes_the_bytes_of_its_blocks_and_their_cuts() {
        let words = |count| utf16(&"some words of a long text\n".repeat(count));
        let bytes = |texts: &[Vec<u16>]| {
            let table = CutTable::of(texts.iter().map(Vec::as_slice), tokens::count_utf16);
            let levels = |text: &Vec<u16>| {
                (0..u8::MAX).take_while(|&level| Level(level).tokens() < tokens::count_utf16(text)).count()
            };
            let cuts: usize = texts.iter().map(levels).sum();
            assert!(cuts > 0);
            (table.heap_bytes(), texts.len() * size_of::<BlockCuts>() + cuts * size_of::<Cut>())
        };
        for texts in [vec![words(100)], vec![words(100), words(900)], vec![words(4000)]] {
            let (taken, expected) = bytes(&texts);
            assert_eq!(taken, expected);
        }
        assert_eq!(CutTable::default().heap_bytes(), 0);
    }

    proptest! {
        #[test]
        fn what_a_cut_saves_is_what_it_saves(text in "(\\PC{0,20}[ \\n]){0,200}", more in "[a-z😀]{0,2000}") {
            let text = utf16(&(text + &more));
            let table = CutTable::of([text.as_slice()], tokens::count_utf16);
            for level in table.top().into_iter().flat_map(|top| (0..=top.0).map(Level)) {
                for cut in table.at(level) {
                    let left = cut_text(&text, cut.head, cut.tail);
                    prop_assert!(left.len() < text.len());
                    let tokens = tokens::count_utf16(&left);
                    prop_assert_eq!(tokens + cut.tokens_saved, tokens::count_utf16(&text));
                    prop_assert!(tokens <= level.tokens());
                }
            }
        }
    }
}
