//! Counts and tokens of every encoding against tiktoken-rs on generated strings.
//!
//! 100 000 strings by default, each by one vocabulary in turn; `PI_STRATA_FUZZ_STRINGS` asks for more,
//! `PI_STRATA_FUZZ_SEED` for others, `PI_STRATA_FUZZ_ENCODING` for one encoding alone.

#![expect(
    clippy::indexing_slicing,
    reason = "a test or bench fails where its own input is not what it must be"
)]

#[path = "oracles/agree.rs"]
mod agree;
mod oracles;
mod strings;

use std::{env, thread};

use pi_strata_tokens::Tokenizer;

const DEFAULT_STRINGS: u64 = 100_000;
/// The oracles are the slow part, and every machine that tests has two cores.
const THREADS: u64 = 2;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.replace('_', "").parse().ok()
}

#[test]
fn agrees_with_tiktoken() {
    let strings = number("PI_STRATA_FUZZ_STRINGS").unwrap_or(DEFAULT_STRINGS);
    let first = number("PI_STRATA_FUZZ_SEED").unwrap_or(0);
    let only = env::var("PI_STRATA_FUZZ_ENCODING").ok();
    let vocabularies: &Vec<_> = &oracles::vocabularies().collect();
    thread::scope(|scope| {
        for offset in 0..THREADS {
            let only = only.as_deref();
            scope.spawn(move || {
                for seed in (first + offset..first + strings).step_by(THREADS as usize) {
                    let turn = vocabularies[(seed / THREADS) as usize % vocabularies.len()];
                    check(only.map_or(turn, |name| Tokenizer::named(name).expect("an encoding")), seed);
                }
            });
        }
    });
}

/// Encodings that share a vocabulary differ in their special tokens alone.
#[test]
fn every_encoding_agrees_with_its_own_oracle() {
    for tokenizer in Tokenizer::all() {
        (0..2000).for_each(|seed| check(tokenizer, seed));
        let oracle = oracles::oracle(tokenizer);
        let special = tokenizer.special_tokens();
        assert_eq!(special.len(), oracle.special_tokens().len(), "{tokenizer:?}");
        for &(id, text) in special {
            assert_eq!(oracle.encode_with_special_tokens(text), [id], "{tokenizer:?}");
            assert_eq!(tokenizer.decode(&[id]).as_deref(), Ok(text.as_bytes()), "{tokenizer:?}");
            assert_eq!(tokenizer.encode(text), oracle.encode_ordinary(text), "{tokenizer:?}");
        }
    }
}

fn check(tokenizer: &Tokenizer, seed: u64) {
    let text = strings::string(seed);
    let place = || format!("{tokenizer:?}, seed {seed}: {text:?}");
    let count = agree::agrees(tokenizer, &text, &place);
    let units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(tokenizer.count_utf16_till_limit(&units, count), Some(count), "limit met, {}", place());
    assert_eq!(
        tokenizer.count_utf16_till_limit(&units, count.wrapping_sub(1)),
        (count == 0).then_some(0),
        "limit passed, {}",
        place()
    );
    assert!(count <= text.len(), "more tokens than bytes, {}", place());
}
