//! Any text must count and encode as tiktoken-rs does, by whatever encoding, whatever code sorts its bytes, alone and
//! repeated to the length of remembered spans; and come back from its tokens. The first byte chooses the encoding.
//!
//! `fuzz/run.sh 60 count`

#![no_main]

#[path = "../../src/tokens/tests/oracles/agree.rs"]
mod agree;
#[path = "../../src/tokens/tests/oracles/mod.rs"]
mod oracles;

use libfuzzer_sys::fuzz_target;

/// Copies that make even a short text long enough to be remembered.
const COPIES: usize = 8;

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let count = oracles::vocabularies().count();
    let Some(tokenizer) = oracles::vocabularies().nth(usize::from(choice) % count) else { return };
    for copies in [1, COPIES] {
        agree::agrees(tokenizer, &text.repeat(copies), &|| format!("{tokenizer:?}, {copies} copies"));
    }
});
