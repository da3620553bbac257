//! The store in memory and on real files, and against a plain list of messages as its oracle.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::sessions::search::search_phrases;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pi-strata-sessions-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn file(&self) -> String {
        self.0.join("s.db").to_str().expect("UTF-8").to_owned()
    }

    fn open(&self) -> Store {
        let store = Store::new(&self.file());
        store.open().expect("opens");
        store
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn body(text: &str) -> String {
    serde_json::json!({ "role": "user", "content": text }).to_string()
}

fn append(key: &str, texts: &[&str]) -> Operation {
    let messages = texts.iter().map(|text| NewMessage { id: (*text).to_owned(), body: body(text) });
    (String::new(), key.to_owned(), Change::Append { messages: messages.collect() })
}

fn compress(key: &str, head: Stamp, let_go: &[&str], summary: &str) -> Operation {
    let change = Change::Compress {
        session: head.session,
        revision: head.revision,
        let_go: let_go.iter().map(|id| (*id).to_owned()).collect(),
        forget: false,
        summary: NewMessage { id: summary.to_owned(), body: body(summary) },
        digest: "{}".to_owned(),
        tokens_saved: 7,
    };
    (String::new(), key.to_owned(), change)
}

fn clear(key: &str) -> Operation {
    (String::new(), key.to_owned(), Change::Clear {})
}

fn one(store: &Store, operation: Operation) -> Outcome {
    store.apply(&[operation]).expect("writes").remove(0)
}

fn ask(store: &Store, question: &Question) -> Vec<Json> {
    let rows = store.ask(question).expect("answers");
    rows.iter().map(|AnswerRow(row)| serde_json::from_str(row.get()).expect("JSON")).collect()
}

fn texts(rows: &[Json], name: &str) -> Vec<String> {
    rows.iter().map(|row| row[name].as_str().expect("a text").to_owned()).collect()
}

fn stamp(store: &Store, key: &str) -> Stamp {
    let rows = ask(store, &Question::Stamp(String::new(), key.to_owned()));
    serde_json::from_value(rows[0]["stamp"].clone()).expect("a stamp")
}

fn load(store: &Store, key: &str) -> Vec<Json> {
    ask(store, &Question::Load(String::new(), key.to_owned()))
}

fn ids(store: &Store, key: &str) -> Vec<String> {
    texts(load(store, key).get(1..).unwrap_or_default(), "id")
}

fn found(store: &Store, query: &str, key: Option<&str>) -> Vec<String> {
    let query = Question::Search {
        namespace: String::new(),
        key: key.map(str::to_owned),
        phrases: search_phrases(query),
        limit: 10,
    };
    texts(&ask(store, &query), "id")
}

fn keys(store: &Store, order: Order) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let query = Question::List { namespace: String::new(), order, limit: 2, cursor };
        let page = ask(store, &query);
        keys.extend(texts(&page, "key"));
        let Some(last) = page.get(1) else { return keys };
        cursor = Some(format!("{}.{}", last["updatedAt"], last["number"]));
    }
}

fn in_memory() -> Store {
    let store = Store::new(IN_MEMORY);
    store.open().expect("opens");
    store
}

fn both(test: impl Fn(&Store)) {
    test(&in_memory());
    test(&Folder::new().open());
}

#[test]
fn words_parts_of_chinese_sentences_and_odd_queries_are_found() {
    both(|store| {
        let texts = ["请修复数据库连接超时的错误", "The connection timed out in src/main.rs", "Café déjà-vu"];
        one(store, append("a", &texts));
        one(store, append("b", &["数据 connection"]));
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
            assert_eq!(found(store, query, *key), *expected, "{query:?}");
        }
        one(store, append("a", &["timed again"]));
        assert_eq!(found(store, "timed", None), ["timed again", texts[1]]);
    });
}

#[test]
fn what_was_let_go_is_found_but_not_loaded() {
    both(|store| {
        one(store, append("a", &["one", "two", "three"]));
        let before = stamp(store, "a");
        let made = one(store, compress("a", before, &["one", "two"], "sum"));
        assert!(made.applied && made.stamp.expect("a stamp").revision == before.revision + 1);
        one(store, append("a", &["four"]));
        assert_eq!(ids(store, "a"), ["sum", "three", "four"]);
        assert_eq!(found(store, "two", None), ["two"]);
        let late = one(store, compress("a", before, &["one", "two"], "again"));
        assert!(!late.applied, "a second process comes too late");
        assert_eq!(ids(store, "a"), ["sum", "three", "four"]);
        let page = |page| texts(&ask(store, &Question::Read(String::new(), "a".to_owned(), page)), "id");
        assert_eq!(page(Page { after: Some(1), limit: 2 }), ["two", "three"]);
        one(store, clear("a"));
        assert!(found(store, "two", None).is_empty() && keys(store, Order::Created).is_empty());
        one(store, append("a", &["new"]));
        let early = one(store, compress("a", before, &["one"], "old"));
        assert!(!early.applied, "it was worked out for the session before");
        assert_eq!(ids(store, "a"), ["new"]);
    });
}

#[test]
fn a_message_of_the_same_id_is_stored_once() {
    both(|store| {
        one(store, append("a", &["x", "y"]));
        one(store, append("a", &["y", "z"]));
        assert_eq!(ids(store, "a"), ["x", "y", "z"]);
    });
}

#[test]
fn fields_change_one_by_one_and_only_one_prompt_is_set() {
    both(|store| {
        let set = |fields: &[(&str, Option<&str>)], prompt: Option<&str>| {
            let fields =
                fields.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
            let prompt = prompt.map(str::to_owned);
            let change = Change::Fields { fields, prompt, prompt_if_absent: true };
            one(store, (String::new(), "a".to_owned(), change)).prompt
        };
        assert_eq!(set(&[("goal", Some("1"))], Some("A")).as_deref(), Some("A"));
        assert_eq!(set(&[("plan", Some("2"))], Some("B")).as_deref(), Some("A"));
        set(&[("goal", None)], None);
        let stored = load(store, "a").remove(0);
        assert_eq!(stored["fields"], serde_json::json!({ "plan": "2" }));
        assert_eq!((stored["prompt"].as_str(), stamp(store, "a").version), (Some("A"), 3));
    });
}

#[test]
fn lists_come_in_pages_and_old_sessions_are_pruned() {
    both(|store| {
        for key in ["a", "b", "c", "d", "e"] {
            one(store, append(key, &["x"]));
            std::thread::sleep(Duration::from_millis(2));
        }
        one(store, append("b", &["y"]));
        assert_eq!(keys(store, Order::Created), ["a", "b", "c", "d", "e"]);
        assert_eq!(keys(store, Order::Updated), ["b", "e", "d", "c", "a"]);
        let before = stamp(store, "b").updated_at;
        one(store, compress("b", stamp(store, "b"), &["x"], "sum"));
        let pruned = store.prune("", before).expect("prunes");
        assert_eq!(pruned, Pruned { sessions: 4, messages: 5 });
        assert_eq!(
            (ids(store, "b"), found(store, "x", None)),
            (vec!["sum".to_owned(), "y".to_owned()], vec![])
        );
        let query = Question::List {
            namespace: String::new(),
            order: Order::Created,
            limit: 1,
            cursor: Some("?".into()),
        };
        let refused = store.ask(&query).map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(Kind::BadCursor));
    });
}

#[test]
fn what_was_cleared_leaves_no_word_in_the_file() {
    let folder = Folder::new();
    let store = folder.open();
    one(&store, append("a", &["card 4111 secretword"]));
    one(&store, append("b", &["stays"]));
    assert!(
        one(&store, clear("a")).applied
            && ids(&store, "a").is_empty()
            && found(&store, "4111", None).is_empty()
    );
    store.erase().expect("erases");
    assert!(!holds(&folder, "4111") && !holds(&folder, "secretword"), "while the store is open");
    store.close().expect("closes");
    assert!(!holds(&folder, "4111") && !holds(&folder, "secretword"));
}

/// Returns `true` if the file or its log holds these bytes.
fn holds(folder: &Folder, word: &str) -> bool {
    let mut files = ["", "-wal"].iter().map(|suffix| fs::read(format!("{}{suffix}", folder.file())));
    files.any(|bytes| {
        bytes.is_ok_and(|bytes| bytes.windows(word.len()).any(|window| window == word.as_bytes()))
    })
}

fn long_append(key: &str, count: usize, word: &str) -> Operation {
    let messages = (0..count).map(|n| NewMessage {
        id: format!("{key} {n}"),
        body: body(&format!("message {n} about {word} and file src/module_{}.rs, tests pass", n % 97)),
    });
    (String::new(), key.to_owned(), Change::Append { messages: messages.collect() })
}

#[test]
fn what_is_cleared_is_erased_whether_it_is_much_or_little_of_all() {
    for (its, others) in [(20_000, 10), (1_000, 10_000)] {
        let folder = Folder::new();
        let store = folder.open();
        one(&store, long_append("others", others, "otherword"));
        one(&store, long_append("its", its, "secretword"));
        let started = Instant::now();
        assert!(one(&store, clear("its")).applied);
        let cleared = started.elapsed();
        assert!(ids(&store, "its").is_empty() && found(&store, "secretword", None).is_empty());
        assert_eq!(store.erase().expect("erases"), i64::try_from(its).expect("small"));
        println!("{its} of {}: cleared in {cleared:?}, erased in {:?}", its + others, started.elapsed());
        assert_eq!(found(&store, "otherword", None).len(), 10);
        assert!(!holds(&folder, "secretword"));
        assert_eq!(store.erase().expect("nothing is left"), 0);
    }
}

#[test]
fn what_a_killed_process_left_of_a_cleared_session_is_erased_when_the_file_is_opened() {
    let folder = Folder::new();
    let store = folder.open();
    one(&store, append("a", &["secretword"]));
    one(&store, clear("a"));
    assert!(holds(&folder, "secretword"), "the test would show nothing");
    drop(store);
    folder.open();
    assert!(!holds(&folder, "secretword"));
}

#[test]
fn others_write_while_a_long_session_is_erased() {
    // On a busy machine an erasure may be over before others get a turn: one of several shows that they need not wait for its end.
    let shows_it = (0..8).any(|_| writes_during_an_erasure() > 2);
    assert!(shows_it, "another process waits for the end");
}

fn writes_during_an_erasure() -> u32 {
    let folder = Folder::new();
    let (store, other) = (folder.open(), folder.open());
    one(&store, long_append("kept", 4_000, "x"));
    one(&store, long_append("long", 3_000, "y"));
    one(&store, clear("long"));
    std::thread::scope(|scope| {
        let erasing = scope.spawn(|| store.erase().expect("erases"));
        let mut written = 0;
        while !erasing.is_finished() {
            one(&other, append("b", &[&format!("b {written}")]));
            written += 1;
        }
        assert_eq!(erasing.join().expect("ends"), 3_000);
        written
    })
}

#[test]
fn a_newer_version_is_refused() {
    let folder = Folder::new();
    folder.open().close().expect("closes");
    Connection::open(folder.file()).expect("opens").pragma_update(None, "user_version", 99).expect("writes");
    assert_eq!(Store::new(&folder.file()).open().map_err(|error| error.kind()), Err(Kind::Version));
}

#[test]
fn what_can_be_read_of_a_damaged_file_is_there_again() {
    let folder = Folder::new();
    let texts: Vec<_> = (0..2000).map(|n| format!("message {n} {}", "x".repeat(200))).collect();
    {
        let store = folder.open();
        for text in &texts {
            one(&store, append("a", &[text]));
        }
        store.close().expect("closes");
    }
    let mut bytes = fs::read(folder.file()).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 9000].fill(0xAA);
    fs::write(folder.file(), &bytes).expect("writes");
    let store = Store::new(&folder.file());
    let replaced = store.open().expect("opens");
    assert!(replaced.moved_to.is_some() && replaced.salvaged > 1000, "{replaced:?}");
    let kept = ids(&store, "a");
    assert_eq!(i64::try_from(kept.len()), Ok(replaced.salvaged));
    assert!(kept.is_sorted_by_key(|id| texts.iter().position(|text| text == id)));
    assert_eq!(found(&store, "1999", None), [texts[1999].clone()]);
    one(&store, append("a", &["next"]));
    assert_eq!(ids(&store, "a").last().map(String::as_str), Some("next"));
}

#[test]
fn closed_is_an_error_and_closing_twice_is_none() {
    let store = Folder::new().open();
    store.close().expect("closes");
    store.close().expect("closes");
    let asked = store.ask(&Question::Stamp(String::new(), "a".to_owned()));
    assert_eq!(asked.map_err(|error| error.kind()).err(), Some(Kind::Closed));
    assert_eq!(store.apply(&[]).map_err(|error| error.kind()), Err(Kind::Closed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sessions_are_lists_of_messages(steps in prop::collection::vec((0u8..10, "[ab\0'\"./]{0,3}"), 0..40)) {
        let folder = Folder::new();
        let mut store = folder.open();
        let mut oracle: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (step, (kind, key)) in steps.into_iter().enumerate() {
            let id = format!("m{step}");
            match kind {
                0 => {
                    one(&store, clear(&key));
                    oracle.remove(&key);
                }
                1 => {
                    let there = ids(&store, &key);
                    if there.len() < 2 { continue; }
                    let gone: Vec<_> = there[..there.len() - 1].iter().map(String::as_str).collect();
                    one(&store, compress(&key, stamp(&store, &key), &gone, &id));
                    if let Some(messages) = oracle.get_mut(&key) {
                        messages.splice(..messages.len() - 1, [id]);
                    }
                }
                2 => store = folder.open(),
                _ => {
                    one(&store, append(&key, &[&id]));
                    oracle.entry(key).or_default().push(id);
                }
            }
        }
        for (key, messages) in &oracle {
            prop_assert_eq!(&ids(&store, key), messages);
        }
        let mut listed = keys(&store, Order::Created);
        listed.sort();
        prop_assert_eq!(listed, oracle.into_keys().collect::<Vec<_>>());
    }
}

#[test]
fn whichever_page_is_damaged_the_file_can_be_opened_and_what_can_be_read_is_there() {
    let folder = Folder::new();
    {
        let store = folder.open();
        for n in 0..300 {
            one(&store, append("a", &[&format!("message {n} {}", "x".repeat(200))]));
        }
        store.close().expect("closes");
    }
    let sound = fs::read(folder.file()).expect("a file");
    let page = 4096;
    let mut salvaged = Vec::new();
    for at in (page..sound.len()).step_by(page) {
        let mut bytes = sound.clone();
        bytes[at..at + page].fill(0xAA);
        fs::write(folder.file(), &bytes).expect("writes");
        let store = Store::new(&folder.file());
        let replaced = store.open().expect("opens");
        assert!(replaced.moved_to.is_some(), "page {}", at / page + 1);
        salvaged.push(replaced.salvaged);
        assert!(one(&store, append("b", &["next"])).applied);
        let all = Question::List { namespace: String::new(), order: Order::Created, limit: 9, cursor: None };
        let sessions = ask(&store, &all);
        let listed: i64 = sessions.iter().map(|session| session["messages"].as_i64().expect("a count")).sum();
        assert_eq!(listed, replaced.salvaged + 1, "each message has a session");
        store.close().expect("closes");
        let _ = fs::remove_file(format!("{}-wal", folder.file()));
    }
    // Only the page that leads to all others of the messages takes more with it than stands in it.
    let little = salvaged.iter().filter(|&&count| count < 290).count();
    assert!(little <= 1, "{salvaged:?}");
}
