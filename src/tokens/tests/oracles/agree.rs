//! That one text is counted, encoded and decoded as tiktoken-rs does it, in every way there is to ask.

use pi_strata_tokens::Tokenizer;

use crate::oracles::oracle;

/// Holds counts, tokens and what they decode to against the oracle, which is asked once; how many tokens there are.
/// `place` says what was asked, should an answer differ.
pub(crate) fn agrees(tokenizer: &Tokenizer, text: &str, place: &dyn Fn() -> String) -> usize {
    let wanted = oracle(tokenizer).encode_ordinary(text);
    let count = wanted.len();
    for sight in ["first", "remembering", "remembered"] {
        assert_eq!(tokenizer.count(text), count, "count, {sight} sight, {}", place());
        assert_eq!(tokenizer.encode(text), wanted, "encode, {sight} sight, {}", place());
    }
    assert_eq!(tokenizer.decode(&wanted).as_deref(), Ok(text.as_bytes()), "decode, {}", place());
    let units: Vec<u16> = text.encode_utf16().collect();
    assert_eq!(tokenizer.count_utf16(&units), count, "UTF-16, {}", place());
    let mut tokens = vec![7];
    tokenizer.encode_utf16(&units, false, &mut tokens);
    assert_eq!(tokens[1..], wanted, "encode UTF-16, {}", place());
    count
}
