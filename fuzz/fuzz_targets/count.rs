//! Any text must count and encode as tiktoken-rs does, whatever code sorts its bytes, alone and repeated to the length
//! of remembered spans.
//!
//! `RUSTC_BOOTSTRAP=1 cargo fuzz run count`

#![no_main]

use libfuzzer_sys::fuzz_target;
use pi_strata::tokens::{self, Scanner};

/// Copies that make even a short text long enough to be remembered.
const COPIES: usize = 8;

fuzz_target!(|text: &str| {
    check(text);
    check(&text.repeat(COPIES));
});

fn check(text: &str) {
    let wanted = tiktoken_rs::cl100k_base_singleton().encode_ordinary(text);
    for sight in ["first", "remembering", "remembered"] {
        assert_eq!(tokens::count(text), wanted.len(), "{sight}");
    }
    assert_eq!(tokens::count_with(Scanner::Portable, text), wanted.len());
    assert_eq!(tokens::encode(text), wanted);
    let units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(tokens::count_utf16(&units), wanted.len());
}
