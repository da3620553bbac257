//! What counting must survive: block edges, long pieces, broken UTF-16, limits and unknown tokens.

use pi_strata::tokens::{self, Scanner};
use proptest::{collection::vec, prelude::*};

/// One of each kind of ASCII byte, and of the letters contractions are made of.
const ALPHABET: [char; 9] = ['a', 's', 'l', ' ', '\n', '\t', '!', '\'', '1'];

#[test]
fn every_short_string_at_every_block_edge() {
    let oracle = tiktoken_rs::cl100k_base_singleton();
    for number in 0..ALPHABET.len().pow(4) {
        let edge: String =
            (0..4).map(|digit| ALPHABET[number / ALPHABET.len().pow(digit) % ALPHABET.len()]).collect();
        for before in 60..=64 {
            let text = format!("{}{edge}?z", "word, ".repeat(11)[..before].to_owned());
            let wanted = oracle.encode_ordinary(&text).len();
            assert_eq!(tokens::count(&text), wanted, "{text:?}");
            assert_eq!(tokens::count_with(Scanner::Portable, &text), wanted, "{text:?}");
        }
        let wanted = oracle.encode_ordinary(&edge).len();
        assert_eq!(tokens::count(&edge), wanted, "{edge:?}");
    }
}

/// A text is cut into remembered spans near these places, once one that begins like it was seen.
#[test]
fn every_short_string_at_the_ends_of_remembered_spans() {
    const SPAN_ENDS: [usize; 2] = [130, 512];
    const KINDS: [char; 8] = ['a', 's', ' ', '\n', '\'', '1', '，', '中'];
    let oracle = tiktoken_rs::cl100k_base_singleton();
    for number in 0..KINDS.len().pow(5) {
        let edge: String = (0..5).map(|digit| KINDS[number / KINDS.len().pow(digit) % KINDS.len()]).collect();
        for end in SPAN_ENDS {
            let before = "(1)! ".repeat(end)[..end - 3].to_owned();
            let text = format!("{before}{edge}?{}", "z! ".repeat(200));
            let wanted = oracle.encode_ordinary(&text).len();
            for sight in ["first", "remembering", "remembered"] {
                assert_eq!(tokens::count(&text), wanted, "{sight}: {edge:?} at {end}");
            }
        }
    }
}

/// tiktoken-rs panics on the last of these at full length; bpe-openai is linear as well.
#[test]
fn long_pieces_count_as_bpe_openai_counts_them() {
    let oracle = bpe_openai::cl100k_base();
    for unit in
        ["a", " ", "\n", "=", "-", "^", "_", "中", "\u{301}", "👩‍👩‍👧‍👦", "ab", "Zz", "0", " \n", "\r\n", "é"]
    {
        for len in [100, 1_000, 200_000] {
            let text = unit.repeat(len / unit.len());
            assert_eq!(tokens::count(&text), oracle.count(text.as_str()), "{unit:?} to {len} bytes");
            let text = text + "x";
            assert_eq!(
                tokens::count(&text),
                oracle.count(text.as_str()),
                "{unit:?} to {len} bytes and a letter"
            );
        }
    }
}

#[test]
fn runs_of_every_length_merge_as_tiktoken_merges_them() {
    let oracle = tiktoken_rs::cl100k_base_singleton();
    for unit in ["-", "=", "*", " ", "a", "#", "\t", "_", "中"] {
        for len in 0..700 {
            let text = unit.repeat(len);
            assert_eq!(tokens::encode(&text), oracle.encode_ordinary(&text), "{len} times {unit:?}");
        }
    }
}

#[test]
fn a_limit_far_below_is_answered_without_counting() {
    let text = "word ".repeat(10_000);
    assert_eq!(tokens::count_till_limit(&text, 10_001), Some(10_001));
    assert_eq!(tokens::count_till_limit(&text, 10_000), None);
    assert_eq!(tokens::count_till_limit(&text, 0), None);
    assert_eq!(tokens::count_till_limit("", 0), Some(0));
}

#[test]
fn an_unknown_token_is_named_with_its_place() {
    let error = tokens::decode(&[9906, 100_256]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "token 100256 at position 1 is not in cl100k_base, whose ids are 0 to 100255"
    );
    assert_eq!(tokens::decode(&[9906, 1917]).as_deref(), Ok("Hello world".as_bytes()));
}

#[test]
fn every_token_is_spelled_as_tiktoken_spells_it() {
    let oracle = tiktoken_rs::cl100k_base_singleton();
    for token in 0..=100_255 {
        assert_eq!(tokens::decode(&[token]).ok(), oracle.decode_bytes(&[token]).ok(), "token {token}");
    }
}

proptest! {
    #[test]
    fn utf16_counts_as_its_lossy_text(units in vec(prop_oneof![
        6 => 0x20u16..0x7f, 1 => 0x80u16..0x800, 2 => any::<u16>(), 2 => 0xd800u16..0xe000
    ], 0..300)) {
        prop_assert_eq!(tokens::count_utf16(&units), tokens::count(&String::from_utf16_lossy(&units)));
    }

    #[test]
    fn the_same_text_counts_the_same_again(text in any::<String>()) {
        let first = tokens::count(&text);
        prop_assert_eq!(tokens::count(&text), first);
        prop_assert_eq!(tokens::encode(&text).len(), first);
    }
}
