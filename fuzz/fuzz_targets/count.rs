//! Any text must count and encode as tiktoken-rs does, by whatever encoding, whatever code sorts its bytes, alone and
//! repeated to the length of remembered spans; and come back from its tokens. The first byte chooses the encoding.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run count`

#![no_main]

#[path = "../../tests/tokens_oracles/mod.rs"]
mod tokens_oracles;

use libfuzzer_sys::fuzz_target;
use pi_strata::tokens::{Scanner, Tokenizer};
use tokens_oracles::oracle;

/// Copies that make even a short text long enough to be remembered.
const COPIES: usize = 8;

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let all = Tokenizer::all();
    let tokenizer = &all[usize::from(choice) % all.len()];
    check(tokenizer, text);
    check(tokenizer, &text.repeat(COPIES));
});

fn check(tokenizer: &Tokenizer, text: &str) {
    let wanted = oracle(tokenizer).encode_ordinary(text);
    for sight in ["first", "remembering", "remembered"] {
        assert_eq!(tokenizer.count(text), wanted.len(), "{tokenizer:?}, {sight}");
        assert_eq!(tokenizer.encode(text), wanted, "{tokenizer:?}, {sight}");
    }
    assert_eq!(tokenizer.count_with(Scanner::Portable, text), wanted.len(), "{tokenizer:?}");
    assert_eq!(tokenizer.decode(&wanted).as_deref(), Ok(text.as_bytes()), "{tokenizer:?}");
    let units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(tokenizer.count_utf16(&units), wanted.len(), "{tokenizer:?}");
}
