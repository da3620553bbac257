//! tiktoken-rs's own encodings, by the names of ours.

#![expect(clippy::expect_used, reason = "a test fails where an encoding has nothing to be held against")]

#[path = "../../build/table.rs"]
mod table;

use std::sync::OnceLock;

use pi_strata_tokens::Tokenizer;
use tiktoken_rs::CoreBPE;

use table::ENCODINGS;

/// tiktoken-rs's own encoding of a tokenizer's name.
pub(crate) fn oracle(tokenizer: &Tokenizer) -> &'static CoreBPE {
    static ORACLES: [OnceLock<CoreBPE>; ENCODINGS.len()] = [const { OnceLock::new() }; ENCODINGS.len()];
    let found = ENCODINGS.iter().zip(&ORACLES).find(|(encoding, _)| encoding.0 == tokenizer.name());
    let ((.., tiktoken), oracle) = found.expect("an entry of the table");
    oracle.get_or_init(|| tiktoken().expect("tiktoken-rs carries its vocabularies"))
}

/// Encodings that differ from another in their special tokens alone.
const TWINS: [&str; 2] = ["o200k_harmony", "p50k_edit"];

/// The tokenizers that cut or merge unlike each other.
pub(crate) fn vocabularies() -> impl Iterator<Item = &'static Tokenizer> {
    let names = ENCODINGS.iter().map(|encoding| encoding.0).filter(|name| !TWINS.contains(name));
    names.filter_map(Tokenizer::named)
}
