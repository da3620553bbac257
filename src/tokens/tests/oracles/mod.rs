//! tiktoken-rs's own encodings, by the names of ours.

#![expect(clippy::panic, reason = "a test fails where an encoding has nothing to be held against")]

use pi_strata_tokens::Tokenizer;
use tiktoken_rs::CoreBPE;

/// tiktoken-rs's own encoding of a tokenizer's name.
pub(crate) fn oracle(tokenizer: &Tokenizer) -> &'static CoreBPE {
    match tokenizer.name() {
        "cl100k_base" => tiktoken_rs::cl100k_base_singleton(),
        "o200k_base" => tiktoken_rs::o200k_base_singleton(),
        "o200k_harmony" => tiktoken_rs::o200k_harmony_singleton(),
        "p50k_base" => tiktoken_rs::p50k_base_singleton(),
        "p50k_edit" => tiktoken_rs::p50k_edit_singleton(),
        "r50k_base" => tiktoken_rs::r50k_base_singleton(),
        name => panic!("{name} has no oracle yet"),
    }
}
