//! Counts and tokens against tiktoken-rs and bpe-openai on generated strings.
//!
//! 100 000 strings by default; `PI_STRATA_FUZZ_STRINGS` asks for more, `PI_STRATA_FUZZ_SEED` for others.

mod tokens_strings;

use std::{env, thread};

use pi_strata::tokens::{self, Scanner};

const DEFAULT_STRINGS: u64 = 100_000;
/// The oracles are the slow part, and every machine that tests has two cores.
const THREADS: u64 = 2;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.replace('_', "").parse().ok()
}

#[test]
fn agrees_with_both_oracles() {
    let strings = number("PI_STRATA_FUZZ_STRINGS").unwrap_or(DEFAULT_STRINGS);
    let first = number("PI_STRATA_FUZZ_SEED").unwrap_or(0);
    thread::scope(|scope| {
        for offset in 0..THREADS {
            scope.spawn(move || (first + offset..first + strings).step_by(THREADS as usize).for_each(check));
        }
    });
}

fn check(seed: u64) {
    let text = tokens_strings::string(seed);
    let oracle = tiktoken_rs::cl100k_base_singleton();
    let wanted = oracle.encode_ordinary(&text);
    let count = wanted.len();
    assert_eq!(tokens::count(&text), count, "count, seed {seed}: {text:?}");
    assert_eq!(tokens::count_with(Scanner::Portable, &text), count, "portable, seed {seed}: {text:?}");
    assert_eq!(tokens::encode(&text), wanted, "encode, seed {seed}: {text:?}");
    assert_eq!(
        bpe_openai::cl100k_base().count(text.as_str()),
        count,
        "the oracles differ, seed {seed}: {text:?}"
    );
    let units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(tokens::count_utf16(&units), count, "UTF-16, seed {seed}: {text:?}");
    assert_eq!(tokens::decode(&wanted).as_deref(), Ok(text.as_bytes()), "decode, seed {seed}: {text:?}");
    assert_eq!(tokens::count_till_limit(&text, count), Some(count), "limit met, seed {seed}: {text:?}");
    assert_eq!(
        tokens::count_till_limit(&text, count.wrapping_sub(1)),
        (count == 0).then_some(0),
        "limit passed, seed {seed}: {text:?}"
    );
    assert!(count <= text.len(), "more tokens than bytes, seed {seed}: {text:?}");
    let middle = text.floor_char_boundary(text.len() / 2);
    let (start, end) = text.split_at(middle);
    let apart = tokens::count(start) + tokens::count(end);
    assert!(count <= apart + 2, "{count} together, {apart} apart, seed {seed}: {text:?}");
}
