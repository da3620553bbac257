//! The texts the contenders are measured on.
//!
//! The session and the repository's own sources are read; everything else is generated from a fixed seed, so every
//! process sees the same bytes. Out comes a name and a list of texts per corpus.

use std::{fs, path::Path};

/// Bytes a generated corpus grows to.
const SIZE: usize = 400_000;

/// A named list of texts, each counted by itself.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
}

impl Corpus {
    pub(crate) fn bytes(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }
}

/// Marsaglia's xorshift: good enough to shuffle words.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// All corpora; the session is left out if there is no file.
pub(crate) fn all(root: &Path, session: &Path) -> Vec<Corpus> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let text = |name: &str| fs::read_to_string(root.join("bench/texts").join(name)).unwrap_or_default();
    let mut corpora = Vec::new();
    let mut add = |name, texts| corpora.push(Corpus { name, texts });
    if let Ok(lines) = fs::read_to_string(session) {
        add("session", session_texts(&lines));
    }
    add("code", sources(root));
    add("json", vec![grow(|out| json_line(&mut random, out))]);
    let sentences = text("english.txt");
    let sentences: Vec<&str> = sentences.lines().collect();
    add("english", vec![grow(|out| prose(&mut random, &sentences, out))]);
    for (name, file) in [("chinese", "chinese.txt"), ("japanese", "japanese.txt")] {
        let words = text(file);
        let words: Vec<&str> = words.split(['|', '\n']).filter(|word| !word.is_empty()).collect();
        add(name, vec![grow(|out| out.push_str(random.pick(&words)))]);
    }
    add("emoji", vec![grow(|out| emoji(&mut random, out))]);
    let all: String = sentences.join(" ");
    add("short", (0..SIZE / 34).map(|_| short(&mut random, &all)).collect());
    add("new words", vec![grow(|out| new_word(&mut random, out))]);
    add("base64 lines", vec![grow(|out| base64(&mut random, out, 76, "\n"))]);
    corpora
}

/// Single pieces no pattern divides, by name, at a size.
pub(crate) fn single_pieces(bytes: usize) -> Vec<Corpus> {
    let mut random = Random(0x5851_f42d_4c95_7f2d);
    let mut pieces = Vec::new();
    let mut add = |name, text: String| pieces.push(Corpus { name, texts: vec![text] });
    for (name, unit) in [
        ("one letter", "a"),
        ("spaces", " "),
        ("newlines", "\n"),
        ("= signs", "="),
        ("- signs", "-"),
        ("^ signs", "^"),
        ("one CJK character", "中"),
        ("combining marks", "\u{301}"),
        ("emoji families", "👩‍👩‍👧‍👦"),
        ("ab", "ab"),
    ] {
        add(name, unit.repeat(bytes / unit.len()));
    }
    add("spaces and a letter", " ".repeat(bytes - 1) + "a");
    let mut grow_to = |fill: &mut dyn FnMut(&mut Random, &mut String)| {
        let mut out = String::new();
        while out.len() < bytes {
            fill(&mut random, &mut out);
        }
        out
    };
    add("letters", grow_to(&mut |random, out| out.push((b'a' + random.below(26) as u8) as char)));
    add("base64", grow_to(&mut |random, out| base64(random, out, 1000, "")));
    add("hex", grow_to(&mut |random, out| out.push(b"0123456789abcdef"[random.below(16)] as char)));
    add(
        "random CJK",
        grow_to(&mut |random, out| out.extend(char::from_u32(0x4e00 + random.below(20_000) as u32))),
    );
    add(
        "symbols",
        grow_to(&mut |random, out| out.push(b"!#$%&()*+,-./:;<=>?@[]^_{|}~"[random.below(28)] as char)),
    );
    pieces
}

fn grow(mut add: impl FnMut(&mut String)) -> String {
    let mut out = String::new();
    while out.len() < SIZE {
        add(&mut out);
    }
    out
}

/// Every text, thinking and tool argument of a session file.
fn session_texts(lines: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for line in lines.lines() {
        let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let content = &entry["message"]["content"];
        texts.extend(content.as_str().map(str::to_owned));
        for block in content.as_array().into_iter().flatten() {
            for field in ["text", "thinking"] {
                texts.extend(block[field].as_str().map(str::to_owned));
            }
            if let Some(name) = block["name"].as_str() {
                texts.push(format!("{name}{}", block["arguments"]));
            }
        }
    }
    texts
}

/// The repository's own Rust and JavaScript.
fn sources(root: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = ["src", "tests", "bench", "__test__", "cli"].map(|name| root.join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|end| ["rs", "mjs", "js", "ts"].iter().any(|known| end == *known))
            {
                texts.extend(fs::read_to_string(path).ok());
            }
        }
    }
    texts
}

fn json_line(random: &mut Random, out: &mut String) {
    let level = random.pick(&["info", "warn", "error", "debug"]);
    let path = random.pick(&["/api/v1/users", "/health", "/assets/app.js", "/api/v1/orders/items", "/login"]);
    let line = format!(
        "{{\"ts\":\"2025-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z\",\"level\":\"{level}\",\"pid\":{},\"req\":{{\"id\":\"{:08x}-{:04x}\",\
         \"method\":\"GET\",\"path\":\"{path}\"}},\"status\":{},\"ms\":{}.{:02},\"bytes\":{},\"cached\":{}}}\n",
        random.below(12) + 1,
        random.below(28) + 1,
        random.below(24),
        random.below(60),
        random.below(60),
        random.below(1000),
        random.below(60_000),
        random.below(1 << 32),
        random.below(1 << 16),
        random.pick(&["200", "304", "404", "500"]),
        random.below(900),
        random.below(100),
        random.below(200_000),
        random.pick(&["true", "false"]),
    );
    out.push_str(&line);
}

/// A sentence with two words exchanged, so that lines differ.
fn prose(random: &mut Random, sentences: &[&str], out: &mut String) {
    let mut words: Vec<&str> = random.pick(sentences).split(' ').collect();
    let (one, two) = (random.below(words.len()), random.below(words.len()));
    words.swap(one, two);
    out.push_str(&words.join(" "));
    out.push_str(if random.below(6) == 0 { "\n\n" } else { " " });
}

fn emoji(random: &mut Random, out: &mut String) {
    const EMOJI: [&str; 16] =
        ["😀", "🎉", "👍🏽", "❤️", "👩‍💻", "🏳️‍🌈", "🇯🇵", "🔥", "✅", "🚀", "🤷‍♂️", "👨‍👩‍👧", "⚠️", "🧪", "💡", "📦"];
    out.push_str(random.pick(&EMOJI));
    out.push_str(random.pick(&["", "", " ", " ok ", "\n"]));
}

fn short(random: &mut Random, from: &str) -> String {
    let start = random.below(from.len() - 40);
    from.get(start..start + 34).unwrap_or("a short text of thirty-four bytes!").to_owned()
}

fn new_word(random: &mut Random, out: &mut String) {
    const PARTS: [&str; 24] = [
        "ka", "lo", "mer", "ti", "sun", "dor", "vex", "pla", "qui", "nor", "ash", "bel", "cir", "dun", "eth",
        "fro", "gal", "hin", "ix", "jor", "zu", "wy", "ou", "str",
    ];
    for _ in 0..random.below(4) + 2 {
        out.push_str(random.pick(&PARTS));
    }
    out.push(' ');
}

fn base64(random: &mut Random, out: &mut String, len: usize, end: &str) {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.extend((0..len).map(|_| DIGITS[random.below(64)] as char));
    out.push_str(end);
}
