//! Makes the table of character classes the cl100k pattern asks for, from the regex engine tiktoken-rs itself runs on.
//!
//! Nothing is typed in: `\p{L}`, `\p{N}` and `\s` are parsed by `regex-syntax`, so the classes cannot drift from the
//! oracle's Unicode version.

use regex_syntax::hir::{Class, HirKind};

/// Code points per block of the two-stage table.
const BLOCK: usize = 128;
/// One past the last code point.
const END: usize = 0x11_0000;
/// Classes by number: 0 is "none of these".
const CLASSES: [(&str, u8); 3] = [(r"\p{L}", 1), (r"\p{N}", 2), (r"\s", 3)];

/// `class_blocks.bin` (block number per 128 code points) and `classes.bin` (four two-bit classes to a byte).
pub(crate) fn tables() -> Vec<(&'static str, Vec<u8>)> {
    let mut of = vec![0u8; END];
    for (pattern, number) in CLASSES {
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
    let packed = blocks
        .concat()
        .chunks(4)
        .map(|four| four.iter().rev().fold(0, |byte, class| byte << 2 | class))
        .collect();
    vec![("class_blocks.bin", stage), ("classes.bin", packed)]
}

fn ranges(pattern: &str) -> Vec<(char, char)> {
    let hir = regex_syntax::parse(pattern).expect("a class of the cl100k pattern");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        kind => unreachable!("{pattern} is a class of characters, not {kind:?}"),
    }
}
