//! Piece starts of 64 ASCII bytes at once, by arithmetic on bit masks.
//!
//! A block that begins at a piece's start flows in as one bit per byte and kind ([`Masks`]); the starts inside it that
//! no byte beyond it can change flow out. Because the cl100k pattern never looks behind, a block needs nothing from
//! the one before: the caller lets the next block begin at the last start found. Bit 0 is the first byte, so `x << 1`
//! reads "the byte before is in x".

/// One bit per byte of a block, for each kind of ASCII byte the pattern tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    /// `[A-Za-z]`
    pub(crate) letter: u64,
    /// `[0-9]`
    pub(crate) digit: u64,
    /// `\r`, `\n`
    pub(crate) newline: u64,
    /// The space
    pub(crate) space: u64,
    /// White space that is neither of the two above: tab, vertical tab, form feed
    pub(crate) tab: u64,
    /// `'`, which is also a symbol
    pub(crate) quote: u64,
    /// Bytes of characters beyond ASCII
    pub(crate) beyond: u64,
}

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// Starts of pieces among the first `valid` bytes, which must all be ASCII. Right both where the text ends after them
/// and where it goes on.
#[inline(always)]
pub(crate) fn starts(block: &[u8; BLOCK], masks: &Masks, valid: u32) -> u64 {
    let all = u64::MAX.checked_shr(64 - valid).unwrap_or(0);
    let letter = masks.letter & all;
    let digit = masks.digit & all;
    let newline = masks.newline & all;
    let space = masks.space & all;
    let gap = (masks.space | masks.tab) & all;
    let symbol = all & !(letter | digit | newline | gap);

    let symbol_first = symbol & !(symbol << 1);
    let symbol_starts = symbol_first & !(space << 1);
    let lone_symbol = symbol_starts & !(symbol >> 1);

    // Line breaks right after symbols belong to them: adding the first of a run to the run clears it.
    let taken = (newline.wrapping_add(symbol << 1 & newline) ^ newline) & newline;
    let white = (gap | newline) & !taken;
    let white_starts = white & !(white << 1) | inner_white_starts(white, gap, all);

    let letter_starts = letter & !(letter << 1) & !((lone_symbol | gap) << 1);
    let quotes = lone_symbol & masks.quote & (letter >> 1);
    symbol_starts
        | white_starts
        | letter_starts
        | digit_starts(digit)
        | if quotes == 0 { 0 } else { after_contractions(block, quotes) & letter }
}

/// Starts inside runs of white space: after the last line break, and at the last character if that is no line break,
/// for it may belong to what follows. A run that reaches the block's end is one piece as far as is known, as it is at
/// the end of the text.
#[inline(always)]
fn inner_white_starts(white: u64, gap: u64, all: u64) -> u64 {
    let solid = all & !white;
    let settled = u64::MAX.checked_shr(solid.leading_zeros()).unwrap_or(0);
    let line_break = white & !gap;
    let last_gap = gap & !(white >> 1);
    let mut after_break = line_break << 1 & gap;
    if after_break != 0 {
        after_break &= !gaps_before(line_break, gap);
    }
    (last_gap | after_break) & settled
}

/// Runs of gaps that a line break follows. The run is filled from its end, so the bits are turned around.
#[inline(always)]
fn gaps_before(line_break: u64, gap: u64) -> u64 {
    let turned = gap.reverse_bits();
    let last = (line_break >> 1 & gap).reverse_bits();
    ((turned.wrapping_add(last) ^ turned) & turned).reverse_bits()
}

/// Every third digit of a run, from its first.
#[inline(always)]
fn digit_starts(digit: u64) -> u64 {
    let mut starts = digit & !(digit << 1);
    let fourth = digit & digit << 1 & digit << 2 & digit << 3;
    let mut next = starts << 3 & fourth;
    while next != 0 {
        starts |= next;
        next = next << 3 & fourth;
    }
    starts
}

/// Places after contractions, given the quotes that start a piece and stand before a letter.
#[cold]
fn after_contractions(block: &[u8; BLOCK], mut quotes: u64) -> u64 {
    let mut after = 0;
    while quotes != 0 {
        let at = quotes.trailing_zeros() as usize;
        let byte = |offset: usize| block.get(at + offset).copied().unwrap_or(0) | 0x20;
        after |= match (byte(1), byte(2)) {
            (b's' | b'd' | b'm' | b't', _) => 1u64.checked_shl(at as u32 + 2).unwrap_or(0),
            (b'l', b'l') | (b'v' | b'r', b'e') => 1u64.checked_shl(at as u32 + 3).unwrap_or(0),
            _ => 0,
        };
        quotes &= quotes - 1;
    }
    after
}
