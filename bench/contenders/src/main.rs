//! Measures pi-strata's counter and the other cl100k crates on the same texts, one thread, contenders interleaved.
//!
//! `cargo run --release -- [--session FILE] [--json FILE] [--only NAME] [--rounds N]` prints megabytes per second, warm
//! (median of the rounds, with their spread) and cold (the first sight in a new process), the load time, the memory, and
//! the worst single pieces. Counts are compared first; a contender that counts wrongly is marked with `!`.

mod corpora;

use std::{
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{self, Command},
    time::Instant,
};

use corpora::Corpus;

type Count = Box<dyn Fn(&str) -> usize>;

/// Contenders by name; each loads its own tables when asked.
const CONTENDERS: [(&str, fn() -> Count); 5] = [
    ("pi-strata", || Box::new(pi_strata::tokens::count)),
    ("fastokens", || {
        let ranks: Vec<(Vec<u8>, u32)> = tiktoken_ranks();
        let config = fastokens::tiktoken::TiktokenConfig::cl100k_base();
        let tokenizer = fastokens::Tokenizer::from_tiktoken_ranks(&ranks, config).expect("fastokens loads");
        Box::new(move |text| tokenizer.encode_ordinary(text).map_or(0, |tokens| tokens.len()))
    }),
    ("toktok-rs", || {
        let tokenizer = toktok::Tokenizer::builtin("cl100k_base").expect("toktok loads");
        Box::new(move |text| tokenizer.count(text.as_bytes()))
    }),
    ("bpe-openai", || Box::new(|text| bpe_openai::cl100k_base().count(text))),
    ("tiktoken-rs", || Box::new(|text| tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len())),
];

/// The vocabulary for fastokens, which reads a file; taken from tiktoken-rs so that nothing is downloaded.
fn tiktoken_ranks() -> Vec<(Vec<u8>, u32)> {
    let oracle = tiktoken_rs::cl100k_base_singleton();
    (0..100_256).filter_map(|id| Some((oracle.decode_bytes(&[id]).ok()?, id))).collect()
}

struct Arguments {
    root: PathBuf,
    session: PathBuf,
    json: Option<PathBuf>,
    only: Option<String>,
    rounds: usize,
    cold: Option<(String, String)>,
}

fn arguments() -> Arguments {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given: Vec<String> = env::args().skip(1).collect();
    let value = |name: &str| given.iter().position(|flag| flag == name).and_then(|at| given.get(at + 1)).cloned();
    let session = value("--session").or_else(|| env::var("PI_STRATA_SESSION").ok());
    Arguments {
        session: session.map_or_else(|| root.join("examples/session.jsonl"), PathBuf::from),
        root,
        json: value("--json").map(PathBuf::from),
        only: value("--only"),
        rounds: value("--rounds").and_then(|rounds| rounds.parse().ok()).unwrap_or(9),
        cold: value("--cold").zip(value("--corpus")),
    }
}

fn main() {
    let arguments = arguments();
    let corpora = corpora::all(&arguments.root, &arguments.session);
    if let Some((contender, corpus)) = &arguments.cold {
        return cold_child(contender, corpora.iter().find(|known| known.name == corpus));
    }
    let wanted = |corpus: &&Corpus| arguments.only.as_ref().is_none_or(|only| corpus.name == only);
    let loaded: Vec<(&str, Count)> = CONTENDERS.map(|(name, load)| (name, load())).into();
    let mut report = Vec::new();
    header("warm MB/s (median, least to most)");
    for corpus in corpora.iter().filter(wanted) {
        let rows = warm(&loaded, corpus, arguments.rounds);
        print_row(corpus.name, &rows);
        report.push(serde_json::json!({ "kind": "warm", "corpus": corpus.name, "bytes": corpus.bytes(), "mbps": rows_json(&rows) }));
    }
    header("cold MB/s (first sight in a new process)");
    for corpus in corpora.iter().filter(wanted) {
        let (rows, loads) = cold(corpus, arguments.rounds);
        print_row(corpus.name, &rows);
        report.push(serde_json::json!({ "kind": "cold", "corpus": corpus.name, "mbps": rows_json(&rows), "load": loads }));
        if corpora.first().is_some_and(|first| first.name == corpus.name) {
            println!("  load and memory: {loads}");
        }
    }
    if arguments.only.is_none() {
        for bytes in [50_000, 1_000_000] {
            header(&format!("single pieces of {bytes} bytes, ms (best of 3)"));
            for corpus in corpora::single_pieces(bytes) {
                let rows = single(&loaded, &corpus);
                print_row(corpus.name, &rows);
                report.push(serde_json::json!({ "kind": "single", "corpus": corpus.name, "bytes": bytes, "ms": rows_json(&rows) }));
            }
        }
    }
    if let Some(path) = arguments.json {
        let report = serde_json::to_string_pretty(&report).expect("a report is plain data");
        fs::write(path, report).expect("the report can be written");
    }
}

/// Median, least and most of some measurements, and whether the count was right.
type Row = (&'static str, [f64; 3], bool);

fn summary(mut figures: Vec<f64>) -> [f64; 3] {
    figures.sort_by(f64::total_cmp);
    [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
}

fn rows_json(rows: &[Row]) -> serde_json::Value {
    rows.iter().map(|&(name, figures, right)| (name.to_owned(), serde_json::json!({ "median": figures[0], "min": figures[1], "max": figures[2], "exact": right }))).collect::<serde_json::Map<_, _>>().into()
}

fn header(title: &str) {
    println!("\n{title}");
    print!("{:22}", "");
    for (name, _) in CONTENDERS {
        print!("{name:>26}");
    }
    println!();
}

fn print_row(corpus: &str, rows: &[Row]) {
    print!("{corpus:22}");
    for (_, [median, least, most], right) in rows {
        print!("{:>26}", format!("{median:.1} ({least:.1}-{most:.1}){}", if *right { " " } else { "!" }));
    }
    println!();
}

fn total(count: &Count, corpus: &Corpus) -> usize {
    corpus.texts.iter().map(|text| count(black_box(text))).sum()
}

fn warm(loaded: &[(&'static str, Count)], corpus: &Corpus, rounds: usize) -> Vec<Row> {
    let right = total(&loaded[loaded.len() - 1].1, corpus);
    let mut figures = vec![Vec::new(); loaded.len()];
    for _ in 0..rounds {
        for ((_, count), figures) in loaded.iter().zip(&mut figures) {
            black_box(total(count, corpus));
            let (start, mut passes) = (Instant::now(), 0);
            while start.elapsed().as_millis() < 30 {
                black_box(total(count, corpus));
                passes += 1;
            }
            figures.push((corpus.bytes() * passes) as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
    }
    loaded.iter().zip(figures).map(|((name, count), figures)| (*name, summary(figures), total(count, corpus) == right)).collect()
}

/// Measures in new processes; also returns load times and memory by name.
fn cold(corpus: &Corpus, rounds: usize) -> (Vec<Row>, serde_json::Value) {
    let mut figures = vec![Vec::new(); CONTENDERS.len()];
    let mut loads = vec![(Vec::new(), Vec::new()); CONTENDERS.len()];
    for _ in 0..rounds {
        for (index, (name, _)) in CONTENDERS.iter().enumerate() {
            let program = env::current_exe().expect("this program has a path");
            let output = Command::new(program)
                .args(env::args().skip(1))
                .args(["--cold", name, "--corpus", corpus.name])
                .output()
                .expect("this program can start itself");
            let text = String::from_utf8_lossy(&output.stdout);
            let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            if let [mbps, load_ms, memory_mb] = numbers[..] {
                figures[index].push(mbps);
                loads[index].0.push(load_ms);
                loads[index].1.push(memory_mb);
            }
        }
    }
    let loads = CONTENDERS
        .iter()
        .zip(loads)
        .map(|((name, _), (ms, mb))| ((*name).to_owned(), serde_json::json!({ "ms": summary(ms)[0], "rss_mb": summary(mb)[0] })))
        .collect::<serde_json::Map<_, _>>();
    (CONTENDERS.iter().zip(figures).map(|((name, _), figures)| (*name, summary(figures), true)).collect(), loads.into())
}

/// Prints megabytes per second of the first sight of a corpus, milliseconds from load to first count, and resident
/// megabytes the contender added by the end.
fn cold_child(contender: &str, corpus: Option<&Corpus>) {
    let (Some((_, load)), Some(corpus)) = (CONTENDERS.iter().find(|(name, _)| *name == contender), corpus) else {
        process::exit(2);
    };
    // The texts themselves and fastokens's ranks are not the contender's memory or time.
    if contender == "fastokens" {
        black_box(tiktoken_ranks());
    }
    let before = resident_mb();
    let start = Instant::now();
    let count = load();
    black_box(count("Hello, world"));
    let load_ms = start.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    black_box(total(&count, corpus));
    let seconds = start.elapsed().as_secs_f64();
    println!("{} {load_ms} {}", corpus.bytes() as f64 / seconds / 1e6, resident_mb() - before);
}

fn resident_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

fn single(loaded: &[(&'static str, Count)], corpus: &Corpus) -> Vec<Row> {
    let text = &corpus.texts[0];
    let mut right = None;
    loaded
        .iter()
        // tiktoken-rs panics on a million spaces and a letter.
        .filter(|(name, _)| *name != "tiktoken-rs" || corpus.name != "spaces and a letter")
        .map(|(name, count)| {
            let mut counted = 0;
            let figures = (0..3).map(|_| {
                let start = Instant::now();
                counted = count(black_box(text));
                start.elapsed().as_secs_f64() * 1e3
            });
            let [_, least, most] = summary(figures.collect());
            (*name, [least, least, most], *right.get_or_insert(counted) == counted)
        })
        .collect()
}
