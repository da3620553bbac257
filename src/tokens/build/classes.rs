//! Makes the table of character classes the patterns ask for, from the regex engine tiktoken-rs itself runs on.
//!
//! Nothing is typed in: the classes are parsed by `regex-syntax`, so the classes cannot drift from the
//! oracle's Unicode version.

use regex_syntax::hir::{Class, HirKind};

/// Code points per block of the two-stage table.
const BLOCK: usize = 128;
/// One past the last code point.
const END: usize = 0x11_0000;
/// Classes by number, with their names in `src/classes.rs`. The first is "none of the others", and what two have is the
/// later's.
const CLASSES: [(&str, &str); 9] = [
    ("Other", r"\p{Any}"),
    ("Upper", r"[\p{Lu}\p{Lt}]"),
    ("Lower", r"\p{Ll}"),
    ("Caseless", r"[\p{Lm}\p{Lo}]"),
    ("Mark", r"\p{M}"),
    ("Number", r"\p{N}"),
    ("Space", r"\s"),
    ("Symbol", r"[\p{P}\p{S}]"),
    ("Newline", r"[\r\n]"),
];

/// `class_blocks.bin` (block number per 128 code points), `classes.bin` (two four-bit classes to a byte), `ascii.rs` (the
/// classes of ASCII), `classes.rs` (all of them), `han.rs` (the code points of Chinese characters), and `newer.rs` (those that
/// Unicode 9 does not know).
pub(crate) fn tables() -> Vec<(&'static str, Vec<u8>)> {
    let mut of = vec![0u8; END];
    for (number, (_, pattern)) in (0..).zip(CLASSES) {
        for (start, end) in ranges(pattern) {
            of[start as usize..=end as usize].fill(number);
        }
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut stage = Vec::new();
    for block in of.chunks(BLOCK) {
        let at = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        stage.push(u8::try_from(at).expect("fewer than 256 distinct blocks"));
    }
    let packed = blocks.concat().chunks(2).map(|two| two[0] | two[1] << 4).collect();
    let named = |numbers: &[u8]| {
        let names = numbers.iter().map(|&number| format!("Class::{},", CLASSES[usize::from(number)].0));
        format!("[{}]", names.collect::<String>()).into_bytes()
    };
    vec![
        ("ascii.rs", named(&of[..128])),
        ("classes.rs", named(&[0, 1, 2, 3, 4, 5, 6, 7, 8])),
        ("class_blocks.bin", stage),
        ("classes.bin", packed),
        ("han.rs", list(r"\p{Han}")),
        ("newer.rs", list(r"\P{Age:9.0}")),
    ]
}

/// The first and last code points of a class's ranges, as Rust.
fn list(pattern: &str) -> Vec<u8> {
    let ranges: Vec<(u32, u32)> =
        ranges(pattern).into_iter().map(|(start, end)| (u32::from(start), u32::from(end))).collect();
    format!("&{ranges:?}").into_bytes()
}

fn ranges(pattern: &str) -> Vec<(char, char)> {
    let hir = regex_syntax::parse(pattern).expect("a class of a pattern");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        kind => unreachable!("{pattern} is a class of characters, not {kind:?}"),
    }
}
