//! Bit-mask arithmetic on blocks of 64 ASCII bytes, for the patterns' `starts`. Bit 0 is the first byte, so `x << 1` reads
//! "the byte before is in x".
//!
//! A line of code as cl100k_base cuts it, `·` a space and `⏎` its end, the first byte at the left:
//!
//! ```text
//! bytes           fn·f(x)·{⏎····1234;
//! letter          ##.#.#.............
//! symbol          ....#.#.#.........#
//! taken           .........#.........   line breaks right after symbols: `flood` from the first along the run
//! symbol starts   ....#.#...........#   not where a space stands before, which is theirs
//! white starts    ..#....#..#..#.....   of a run, and its last space, which may be what follows it has
//! letter starts   #..................   not after a space or a lone symbol, which are theirs
//! digit triples   ..............#..#.
//! all             #.#.#.##..#..##..##
//! pieces          fn|·f|(x|)|·{⏎|···|·|123|4|;
//! ```

/// One bit per byte of a block, for each kind of ASCII byte that a pattern distinguishes.
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

/// The bits of `within` from those of `from`, which lie in it, up to the end of their runs: adding one to a run's bit
/// clears the run from there on. A second bit in the same run comes out wrong, hence the last step.
///
/// From the `o` of `foo` to the end of its letters, bit 0 on the left:
///
/// ```text
/// text                       f o o 4 2 : b a r
/// within, the letters        1 1 1 . . . 1 1 1
/// from                       . 1 . . . . . . .
/// within + from              1 . . 1 . . 1 1 1   the carry stops behind the run
/// ... ^ within               . 1 1 1 . . . . .
/// (... | from) & within      . 1 1 . . . . . .
/// ```
#[inline(always)]
pub(crate) fn flood(from: u64, within: u64) -> u64 {
    (within.wrapping_add(from) ^ within | from) & within
}

/// Starts inside runs of white space: after the last line break, and at the last character if that is no line break,
/// for it may belong to what follows. A run that reaches the block's end is one piece as far as is known, as it is at
/// the end of the text. `kept` are last characters that belong to nothing that follows.
///
/// In `a⏎␠␠b` the break ends a piece, and the last space belongs to `b`:
///
/// ```text
/// text          a ⏎ ␠ ␠ b
/// white         . 1 1 1 .
/// gap           . . 1 1 .
/// last_gap      . . . 1 .   no white space follows
/// after_break   . . 1 . .   a gap behind a break, in a run that no further break follows
/// starts        . . 1 1 .   so the pieces are a, ⏎, ␠, ␠b
/// ```
#[inline(always)]
pub(crate) fn inner_white_starts(white: u64, gap: u64, kept: u64, all: u64) -> u64 {
    let solid = all & !white;
    let settled = u64::MAX.checked_shr(solid.leading_zeros()).unwrap_or(0);
    let line_break = white & !gap;
    let last_gap = gap & !(white >> 1) & !kept;
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

/// Every third digit of a run, from its first: in `1234567` those of 1, 4 and 7, as no number has more than three digits.
///
/// `fourth` has the digits with three more before them: only there may a number end and the next begin.
#[inline(always)]
pub(crate) fn digit_triples(digit: u64) -> u64 {
    let mut starts = digit & !(digit << 1);
    let fourth = digit & digit << 1 & digit << 2 & digit << 3;
    let mut next = starts << 3 & fourth;
    while next != 0 {
        starts |= next;
        next = next << 3 & fourth;
    }
    starts
}
