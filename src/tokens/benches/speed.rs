//! Speed of the token counter alone, warm, on the corpora of `bench/contenders`.
//!
//! `PI_STRATA_ENCODING=o200k_base cargo bench -p pi-strata-tokens --bench speed [-- NAME]` (cl100k_base without it) prints megabytes per
//! second, the median of a few rounds. The comparison with other crates is a package of its own, `bench/contenders`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test or bench fails where its own input is not what it must be"
)]

#[path = "../../../bench/contenders/src/corpora.rs"]
mod corpora;

use std::{env, hint::black_box, path::Path, time::Instant};

use pi_strata_tokens::{Scanner, Tokenizer};

fn main() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let session =
        env::var("PI_STRATA_SESSION").map_or_else(|_| root.join("examples/session.jsonl"), Into::into);
    let only: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let encoding = env::var("PI_STRATA_ENCODING").ok();
    let tokenizer =
        encoding.map_or(Tokenizer::cl100k(), |name| Tokenizer::named(&name).expect("an encoding"));
    println!("{:16}{:>12}{:>12}{:>12}   MB/s", "", "count", "portable", "encode");
    let named = |name: &str| only.is_empty() || only.iter().any(|known| name.contains(known.as_str()));
    for corpus in corpora::all(root, &session).iter().filter(|corpus| named(corpus.name)) {
        let auto = speed(corpus, |text| tokenizer.count(text));
        let portable = speed(corpus, |text| tokenizer.count_with(Scanner::Portable, text));
        let encoded = speed(corpus, |text| tokenizer.encode(text).len());
        println!("{:16}{auto:>12.1}{portable:>12.1}{encoded:>12.1}", corpus.name);
    }
    println!("\nsingle pieces of 1 MB, ms");
    for corpus in corpora::single_pieces(1_000_000).iter().filter(|corpus| named(corpus.name)) {
        let took = corpus.bytes() as f64 / 1e3 / speed(corpus, |text| tokenizer.count(text));
        println!("{:22}{took:>8.1}", corpus.name);
    }
}

/// Megabytes per second: the median of seven rounds of at least 30 ms.
fn speed(corpus: &corpora::Corpus, count: impl Fn(&str) -> usize) -> f64 {
    let pass = || corpus.texts.iter().map(|text| count(black_box(text))).sum::<usize>();
    let mut figures: Vec<f64> = (0..7)
        .map(|_| {
            black_box(pass());
            let (start, mut passes) = (Instant::now(), 0);
            while start.elapsed().as_millis() < 30 {
                black_box(pass());
                passes += 1;
            }
            (corpus.bytes() * passes) as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
