//! Strings that find mistakes in a tokenizer, from a seed.
//!
//! Each kind of string aims at one thing a pattern or the merges can get wrong; a seed gives the same string on every
//! machine.

#![expect(
    clippy::indexing_slicing,
    reason = "a test or bench fails where its own input is not what it must be"
)]

use std::fmt::Write;

/// Marsaglia's xorshift, scrambled so that neighbouring seeds differ at once.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// One of the first mostly, and now and then one of the others.
    fn pick_of(&mut self, most: &[&'static str], few: &[&'static str]) -> &'static str {
        if self.below(8) == 0 { self.pick(few) } else { self.pick(most) }
    }

    /// Any scalar value, the low planes more often.
    pub(crate) fn scalar(&mut self) -> char {
        let limit = self.pick(&[0x80, 0x250, 0x3000, 0x1_0000, 0x3_0000, 0x11_0000]);
        char::from_u32(self.below(limit) as u32).unwrap_or('\u{fffd}')
    }
}

/// White space of every kind the pattern knows, and look-alikes that are none.
const SPACES: [&str; 16] = [
    " ", " ", "  ", "\n", "\n\n", "\r\n", "\r", "\t", "\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{3000}",
    "\u{2028}", "\u{200b}", "\u{1c}",
];
/// Contractions in any case, the letters that only fold to them, and quotes that begin none.
const QUOTES: [&str; 14] =
    ["'s", "'S", "'t", "'LL", "'lL", "'Ve", "'re", "'m", "'D", "'", "''", "'x", "’s", "'l"];
const LONG_QUOTES: [&str; 2] = ["'\u{17f}", "'\u{212a}"];
/// Words, numbers and symbols of many scripts.
const WORDS: [&str; 32] = [
    "a", "the", "The", "hello", "x1", "7", "42", "123", "1234567", "½", "١٢٣", "Ⅷ", "中", "文字", "，", "。",
    "です", "ー", "ß", "é", "ﬁ", "ა", "𐐀", "😀", "🇯🇵", "👍🏽", "❤️", "\u{301}", "\u{0}", "ꟑ", "e\u{301}",
    "\u{feff}",
];
const LONG_WORDS: [&str; 8] =
    ["カタカナ", "한국어", "привет", "getElementById", "HTTPServer", "ὀδυσσεύς", "👩‍👩‍👧", "\u{10ffff}"];
const SYMBOLS: [&str; 21] = [
    ".", ",", "!", "?", "-", "--", "=", "====", "_", "/", "//", "{", "}", "({", "\":\"", "->", "::", "#",
    "…", "—", "«",
];
const LONG_SYMBOLS: [&str; 3] = ["----------------", "<|endoftext|>", "<|fim_prefix|>"];

/// The string of a seed: mostly short, now and then a few hundred bytes.
pub(crate) fn string(seed: u64) -> String {
    let mut random = Random::new(seed);
    let parts = if random.below(16) == 0 { 120 } else { 1 + random.below(24) };
    let kind = random.below(12);
    let mut text = String::new();
    for _ in 0..parts {
        match kind {
            0 => text.push_str(random.pick(&SPACES)),
            1 => spaced(&mut random, &mut text),
            2 => text.push(random.scalar()),
            3 => cjk(&mut random, &mut text),
            4 => code(&mut random, &mut text),
            5 => base64(&mut random, &mut text),
            6 => ascii(&mut random, &mut text),
            7 => runs(&mut random, &mut text),
            8 => cased(&mut random, &mut text),
            _ => mixed(&mut random, &mut text),
        }
    }
    text
}

fn mixed(random: &mut Random, text: &mut String) {
    match random.below(8) {
        0 | 1 => text.push_str(random.pick(&SPACES)),
        2 => text.push_str(random.pick_of(&QUOTES, &LONG_QUOTES)),
        3 | 4 => text.push_str(random.pick_of(&SYMBOLS, &LONG_SYMBOLS)),
        5 => text.push(random.scalar()),
        _ => text.push_str(random.pick_of(&WORDS, &LONG_WORDS)),
    }
}

fn spaced(random: &mut Random, text: &mut String) {
    text.push_str(random.pick(&SPACES));
    let tail: [fn(&mut Random) -> &'static str; 3] = [
        |random| random.pick_of(&QUOTES, &LONG_QUOTES),
        |random| random.pick_of(&WORDS, &LONG_WORDS),
        |random| random.pick_of(&SYMBOLS, &LONG_SYMBOLS),
    ];
    text.push_str(random.pick(&tail)(random));
}

fn cjk(random: &mut Random, text: &mut String) {
    let (from, count) =
        random.pick(&[(0x4e00, 0x5200), (0x3040, 0xc0), (0xac00, 0x2bb0), (0xff00, 0x60), (0x3000, 0x40)]);
    text.extend(char::from_u32(from + random.below(count) as u32));
}

fn code(random: &mut Random, text: &mut String) {
    const LINES: [&str; 8] = [
        "    let x = y;\n",
        "\t\tif (a != b) {\n",
        "    }\n\n",
        "fn main() -> Result<(), Error>",
        "// isn't it\n",
        "\"key\": 1.25,",
        "self.total_count += 1\r\n",
        "</div>\n",
    ];
    text.push_str(random.pick(&LINES));
}

fn base64(random: &mut Random, text: &mut String) {
    for _ in 0..4 {
        text.push(random.pick(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") as char);
    }
}

/// The classes that o200k_base tells apart in a word, and around one.
fn cased(random: &mut Random, text: &mut String) {
    const PARTS: [&str; 24] = [
        "a", "b", "A", "B", "ab", "AB", "É", "é", "ǅ", "ʰ", "日", "\u{301}", "\u{301}", "ß", "Я", "я", "1",
        " ", "  ", "!", "/", "\n", "\n/", "'",
    ];
    if random.below(8) == 0 {
        text.push_str(random.pick_of(&QUOTES, &LONG_QUOTES));
    } else {
        text.push_str(random.pick(&PARTS));
    }
}

fn ascii(random: &mut Random, text: &mut String) {
    text.push(random.pick(b" \n\r\t'!.,-_/aestLlVvRrmdD0159\x0b\x7f\x01") as char);
}

fn runs(random: &mut Random, text: &mut String) {
    let unit = random
        .pick(&["a", " ", "\n", "-", "=", "1", "\t", "中", "\u{301}", "😀", "ab", "é", "_", "*", " \n"]);
    let count = random.pick(&[1, 2, 3, 15, 16, 31, 63, 64, 65, 130]);
    let _ = write!(text, "{}", unit.repeat(1 + random.below(count)));
}
