//! The store on real files, and against a plain list of messages as its oracle.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pi-strata-sessions-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn open(&self) -> Store {
        Store::open(self.0.join("s.db").to_str().expect("UTF-8")).expect("opens").0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn append(key: &str, text: &str) -> Operation {
    Operation::Append { key: key.into(), body: text.into(), text: text.into() }
}

fn bodies(store: &Store, key: &str) -> Vec<String> {
    let stored = store.load(key).expect("loads");
    stored.map(|stored| stored.messages.into_iter().map(|(_, body)| body).collect()).unwrap_or_default()
}

fn found(store: &Store, query: &str, key: Option<&str>) -> Vec<String> {
    store.search(query, key, 10).expect("searches").into_iter().map(|hit| hit.body).collect()
}

#[test]
fn words_parts_of_chinese_sentences_and_odd_queries_are_found() {
    let folder = Folder::new();
    let store = folder.open();
    let texts = ["请修复数据库连接超时的错误", "The connection timed out in src/main.rs", "Café déjà-vu"];
    store.apply(&texts.map(|text| append("a", text))).expect("writes");
    store.apply(&[append("b", "数据 connection")]).expect("writes");
    let cases: &[(&str, Option<&str>, &[&str])] = &[
        ("数据库", None, &[texts[0]]),
        ("据", None, &["数据 connection", texts[0]]),
        ("超时 连接", None, &[texts[0]]),
        ("connect", Some("a"), &[texts[1]]),
        ("CAFE deja", None, &[texts[2]]),
        ("main.rs", None, &[texts[1]]),
        ("nection", None, &[]),
        ("库数", None, &[]),
        ("\"", None, &[]),
        ("a\0b NEAR(", None, &[]),
    ];
    for (query, key, expected) in cases {
        assert_eq!(found(&store, query, *key), *expected, "{query:?}");
    }
}

#[test]
fn what_was_let_go_is_found_but_not_loaded() {
    let folder = Folder::new();
    let store = folder.open();
    let made = store.apply(&["one", "two", "three"].map(|text| append("a", text))).expect("writes");
    let ids: Vec<_> = made.into_iter().take(2).flatten().collect();
    let replace = Operation::Replace { key: "a".into(), ids, body: "sum".into(), state: "{1}".into() };
    assert!(store.apply(std::slice::from_ref(&replace)).expect("writes")[0].is_some());
    store.apply(&[append("a", "four")]).expect("writes");
    assert_eq!(bodies(&store, "a"), ["sum", "three", "four"]);
    assert_eq!(found(&store, "two", None), ["two"]);
    assert_eq!(store.apply(&[replace]).expect("writes"), [None], "a second process comes too late");
    assert_eq!(bodies(&store, "a"), ["sum", "three", "four"]);
    store.apply(&[Operation::Clear { key: "a".into() }]).expect("writes");
    assert!(found(&store, "two", None).is_empty() && store.keys().expect("keys").is_empty());
}

#[test]
fn another_process_is_noticed_and_ones_own_writes_are_not() {
    let folder = Folder::new();
    let (one, other) = (folder.open(), folder.open());
    let before = one.foreign_writes().expect("a number");
    one.apply(&[append("a", "x")]).expect("writes");
    assert_eq!(one.foreign_writes().expect("a number"), before);
    other.apply(&[append("a", "y")]).expect("writes");
    assert_ne!(one.foreign_writes().expect("a number"), before);
    assert_eq!(bodies(&one, "a"), ["x", "y"]);
}

#[test]
fn closed_is_an_error_and_closing_twice_is_none() {
    let store = Folder::new().open();
    store.close().expect("closes");
    store.close().expect("closes");
    assert_eq!(store.keys().map_err(|error| error.kind()), Err(Kind::Closed));
    assert_eq!(store.apply(&[]).map_err(|error| error.kind()), Err(Kind::Closed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sessions_are_lists_of_messages(steps in prop::collection::vec((0u8..10, "[ab\0'\"./]{0,3}", "\\PC{0,20}"), 0..30)) {
        let folder = Folder::new();
        let mut store = folder.open();
        let mut oracle: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (kind, key, body) in steps {
            match kind {
                0 => {
                    store.apply(&[Operation::Clear { key: key.clone() }]).expect("writes");
                    oracle.remove(&key);
                }
                1 => {
                    let stored = store.load(&key).expect("loads").map(|stored| stored.messages).unwrap_or_default();
                    if stored.len() < 2 { continue; }
                    let ids = stored.iter().take(stored.len() - 1).map(|(id, _)| *id).collect();
                    let replace = Operation::Replace { key: key.clone(), ids, body: body.clone(), state: "{}".into() };
                    store.apply(&[replace]).expect("writes");
                    if let Some(messages) = oracle.get_mut(&key) {
                        messages.splice(..messages.len() - 1, [body]);
                    }
                }
                2 => store = folder.open(),
                _ => {
                    store.apply(&[append(&key, &body)]).expect("writes");
                    oracle.entry(key).or_default().push(body);
                }
            }
        }
        for (key, messages) in &oracle {
            prop_assert_eq!(&bodies(&store, key), messages);
        }
        let mut keys = store.keys().expect("keys");
        keys.sort();
        prop_assert_eq!(keys, oracle.into_keys().collect::<Vec<_>>());
    }
}
