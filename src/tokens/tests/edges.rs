//! Counting and encoding at their edges: ends of remembered spans, and long pieces.

#![expect(
    clippy::indexing_slicing,
    reason = "a test or bench fails where its own input is not what it must be"
)]

mod oracles;

use pi_strata_tokens::Tokenizer;

fn vocabularies() -> impl Iterator<Item = (&'static Tokenizer, &'static tiktoken_rs::CoreBPE)> {
    oracles::vocabularies().map(|tokenizer| (tokenizer, oracles::oracle(tokenizer)))
}

/// Tokens of several characters side by side, new and once more: no cut may part what merges.
#[test]
fn tokens_beyond_ascii_count_and_encode_side_by_side() {
    for (tokenizer, oracle) in vocabularies() {
        let spelled = (0..200_000).filter_map(|id| String::from_utf8(oracle.decode_bytes(&[id]).ok()?).ok());
        let wide: Vec<String> = spelled.filter(|token| token.bytes().any(|byte| byte >= 0xe0)).collect();
        for some in wide.chunks(40) {
            let text = some.concat();
            let wanted = oracle.encode_ordinary(&text);
            for sight in ["first", "remembering", "remembered"] {
                assert_eq!(tokenizer.count(&text), wanted.len(), "{tokenizer:?}, {sight}: {text:?}");
                assert_eq!(tokenizer.encode(&text), wanted, "{tokenizer:?}, {sight}: {text:?}");
            }
        }
    }
}

#[test]
fn short_strings_at_block_edges_and_runs_encode_as_tiktoken_encodes_them() {
    /// One of each kind of ASCII byte, and of the letters contractions are made of.
    const KINDS: [char; 11] = ['a', 's', 'L', 'l', ' ', '\n', '\t', '!', '\'', '1', '/'];
    for (tokenizer, oracle) in vocabularies() {
        let edges = (0..KINDS.len().pow(3)).flat_map(|number| {
            let edge: String =
                (0..3).map(|digit| KINDS[number / KINDS.len().pow(digit) % KINDS.len()]).collect();
            [0, 61, 62, 63].map(|before| format!("{}{edge}?z", &"word, ".repeat(11)[..before]))
        });
        let runs = ["-", "=", " ", "a", "\t", "中"].into_iter();
        let runs = runs.flat_map(|unit| (0..700).step_by(7).map(|len| unit.repeat(len)));
        for text in edges.chain(runs) {
            let wanted = oracle.encode_ordinary(&text);
            assert_eq!(tokenizer.encode(&text), wanted, "{tokenizer:?}: {text:?}");
            assert_eq!(tokenizer.count(&text), wanted.len(), "{tokenizer:?}: {text:?}");
        }
    }
}

/// A text is cut into remembered spans near these places, once one that begins like it was seen.
#[test]
fn every_short_string_at_the_ends_of_remembered_spans() {
    vocabularies().for_each(|(tokenizer, oracle)| short_strings_at_span_ends(tokenizer, oracle));
}

fn short_strings_at_span_ends(tokenizer: &Tokenizer, oracle: &tiktoken_rs::CoreBPE) {
    const SPAN_ENDS: [usize; 2] = [130, 512];
    const KINDS: [char; 9] = ['a', 's', ' ', '\n', '\'', '1', '/', '中', '\u{301}'];
    for number in 0..KINDS.len().pow(4) {
        let edge: String = (0..4).map(|digit| KINDS[number / KINDS.len().pow(digit) % KINDS.len()]).collect();
        for end in SPAN_ENDS {
            let before = "(1)! ".repeat(end)[..end - 3].to_owned();
            let text = format!("{before}{edge}?{}", "z! ".repeat(200));
            let wanted = oracle.encode_ordinary(&text);
            for sight in ["first", "remembering", "remembered"] {
                assert_eq!(tokenizer.count(&text), wanted.len(), "{tokenizer:?}, {sight}: {edge:?} at {end}");
                assert_eq!(tokenizer.encode(&text), wanted, "{tokenizer:?}, {sight}: {edge:?} at {end}");
            }
        }
    }
}

#[test]
fn long_pieces_count_as_tiktoken_counts_them() {
    for (tokenizer, oracle) in vocabularies() {
        let line = "-".repeat(79) + "+";
        let short =
            ["a", " ", "\n", "=", "-", "^", "_", "中", "\u{301}", "ab", "Zz", "0", " \n", "\r\n", "é"];
        let long = [
            &line,
            "**//--==",
            "👩‍👩‍👧‍👦",
            "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำ",
            "こんにちは世界日本語の文章",
            "Достопримечательности",
        ];
        for unit in short.into_iter().chain(long) {
            for len in [100, 1_000, 200_000] {
                for end in ["", "x"] {
                    let text = unit.repeat(len / unit.len()) + end;
                    let wanted = oracle.encode_ordinary(&text).len();
                    assert_eq!(
                        tokenizer.count(&text),
                        wanted,
                        "{tokenizer:?}: {unit:?} to {len} bytes and {end:?}"
                    );
                }
            }
        }
    }
}

/// More tokens of spans than are kept, so that the oldest give way.
#[test]
fn texts_that_come_again_encode_the_same_however_many_there_were() {
    let (tokenizer, oracle) = (Tokenizer::cl100k(), tiktoken_rs::cl100k_base_singleton());
    let text = |number: usize| format!("{number}: {}", format!("line {number} of it\n").repeat(4_000));
    for number in (0..40).chain(0..40) {
        let text = text(number);
        let wanted = oracle.encode_ordinary(&text);
        for sight in ["first", "remembering", "remembered"] {
            assert_eq!(tokenizer.encode(&text), wanted, "{sight}: text {number}");
        }
    }
}

#[test]
fn every_token_is_spelled_as_tiktoken_spells_it() {
    for tokenizer in Tokenizer::all() {
        let oracle = oracles::oracle(tokenizer);
        for token in (0..=202_000).chain([1 << 18, u32::MAX]) {
            let wanted = oracle.decode_bytes(&[token]).ok();
            for sight in ["first", "second"] {
                assert_eq!(tokenizer.decode(&[token]).ok(), wanted, "{tokenizer:?}, {sight}: token {token}");
            }
        }
    }
}
