//! Every Unicode scalar value in seven surroundings, against tiktoken-rs.

use std::thread;

use pi_strata::tokens::{self, Scanner};

/// Alone, among letters, after a space and after two, before a line break, after a quote, among digits.
const SURROUNDINGS: [(&str, &str); 7] =
    [("", ""), ("a", "b"), (" ", ""), ("  ", "x"), ("", "\n"), ("'", "s"), ("1", "2")];

#[test]
fn every_scalar_value_counts_as_tiktoken_counts_it() {
    let scalars = ('\0'..=char::MAX).count();
    assert_eq!(scalars, 1_112_064);
    thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || ('\0'..=char::MAX).skip(half).step_by(2).for_each(check));
        }
    });
}

fn check(scalar: char) {
    let oracle = tiktoken_rs::cl100k_base_singleton();
    for (before, after) in SURROUNDINGS {
        let text = format!("{before}{scalar}{after}");
        let wanted = oracle.encode_ordinary(&text);
        assert_eq!(tokens::count(&text), wanted.len(), "U+{:04X} in {text:?}", u32::from(scalar));
        assert_eq!(tokens::encode(&text), wanted, "U+{:04X} in {text:?}", u32::from(scalar));
    }
    // Past a block's start, so that both byte sorters meet it in the midst of one.
    let text = format!("{:40}a{scalar}b{:40}", "far", ".");
    let count = tokens::count(&text);
    assert_eq!(
        tokens::count_with(Scanner::Portable, &text),
        count,
        "U+{:04X} in {text:?}",
        u32::from(scalar)
    );
}
