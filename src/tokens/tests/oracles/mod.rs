//! tiktoken-rs's own encodings, by the names of ours.

#![expect(clippy::expect_used, reason = "a test fails where an encoding has nothing to be held against")]

#[path = "../../build/table.rs"]
#[expect(dead_code, reason = "what tables are made of is for the build script")]
mod table;

use std::sync::OnceLock;

use pi_strata_tokens::Tokenizer;
use tiktoken_rs::CoreBPE;

use table::ENCODINGS;

/// tiktoken-rs's own encoding of a tokenizer's name.
pub(crate) fn oracle(tokenizer: &Tokenizer) -> &'static CoreBPE {
    static ORACLES: [OnceLock<CoreBPE>; ENCODINGS.len()] = [const { OnceLock::new() }; ENCODINGS.len()];
    let found = ENCODINGS.iter().zip(&ORACLES).find(|(encoding, _)| encoding.name == tokenizer.name());
    let (encoding, oracle) = found.expect("an entry of the table");
    oracle.get_or_init(|| (encoding.oracle)().expect("tiktoken-rs carries its vocabularies"))
}

/// The tokenizers that cut or merge unlike each other.
pub(crate) fn vocabularies() -> impl Iterator<Item = &'static Tokenizer> {
    let names = ENCODINGS.iter().filter(|encoding| !encoding.is_twin).map(|encoding| encoding.name);
    names.filter_map(Tokenizer::named)
}
