//! Every Unicode scalar value in seven surroundings, by every vocabulary, against tiktoken-rs; of the planes where
//! nothing is assigned, or all is for private use, one in seven.

mod oracles;

use std::ops::RangeInclusive;
use std::thread;

use pi_strata_tokens::Tokenizer;
use tiktoken_rs::CoreBPE;

/// Alone, among letters, after a space and after two, before a line break, after a quote, among digits.
const SURROUNDINGS: [(&str, &str); 7] =
    [("", ""), ("a", "b"), (" ", ""), ("  ", "x"), ("", "\n"), ("'", "s"), ("1", "2")];

/// Planes 4 to 13, and those for private use: seven in ten of all scalar values.
const SAMPLED: [RangeInclusive<u32>; 2] = [0x4_0000..=0xD_FFFF, 0xF_0000..=0x10_FFFF];

fn scalars() -> impl Iterator<Item = char> {
    let is_tested = |&scalar: &char| {
        let number = u32::from(scalar);
        number % 7 == 0 || !SAMPLED.iter().any(|planes| planes.contains(&number))
    };
    ('\0'..=char::MAX).filter(is_tested)
}

#[test]
fn every_scalar_value_counts_as_tiktoken_counts_it() {
    assert_eq!(scalars().count(), 1_112_064 - 786_432 + 112_346);
    thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for tokenizer in oracles::vocabularies().skip(half).step_by(2) {
                    let oracle = oracles::oracle(tokenizer);
                    scalars().for_each(|scalar| check(tokenizer, oracle, scalar));
                }
            });
        }
    });
}

fn check(tokenizer: &Tokenizer, oracle: &CoreBPE, scalar: char) {
    let shown = u32::from(scalar);
    for (before, after) in SURROUNDINGS {
        let text = format!("{before}{scalar}{after}");
        let wanted = oracle.encode_ordinary(&text);
        assert_eq!(tokenizer.count(&text), wanted.len(), "{tokenizer:?}: U+{shown:04X} in {text:?}");
        assert_eq!(tokenizer.encode(&text), wanted, "{tokenizer:?}: U+{shown:04X} in {text:?}");
    }
}
