//! The store in memory and on real files, and against a plain list of messages as its oracle.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;

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
        summary: SummaryRow { id: summary.to_owned(), body: body(summary) },
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

fn stamp(store: &Store, key: &str) -> Stamp {
    store.reading(When::Later).stamp("", key).expect("reads").expect("a session")
}

fn ids(store: &Store, key: &str) -> Vec<String> {
    let stored = store.reading(When::Later).load("", key).expect("loads");
    stored.map(|stored| stored.messages.into_iter().map(|message| message.id).collect()).unwrap_or_default()
}

fn found(store: &Store, query: &str, key: Option<&str>) -> Vec<String> {
    let query = SearchQuery {
        namespace: String::new(),
        key: key.map(str::to_owned),
        phrases: search_phrases(query),
        limit: 10,
    };
    store.reading(When::Later).search(&query).expect("searches").into_iter().map(|hit| hit.id).collect()
}

fn keys(store: &Store, order: Order) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), None);
    loop {
        let query = ListQuery { namespace: String::new(), order, limit: 2, cursor };
        let page = store.reading(When::Later).list(&query).expect("lists");
        keys.extend(page.sessions.into_iter().map(|session| session.key));
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return keys,
        }
    }
}

fn both(test: impl Fn(&Store)) {
    test(&Store::new(IN_MEMORY));
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
        let page = |page: &Page| {
            store
                .reading(When::Later)
                .page("", "a", page)
                .expect("reads")
                .into_iter()
                .map(|m| m.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(page(&Page { after: Some(1), limit: 2, newest: false }), ["two", "three"]);
        assert_eq!(page(&Page { after: None, limit: 2, newest: true }), ["sum", "four"]);
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
        let first = one(store, append("a", &["x", "y"])).seqs;
        let again = one(store, append("a", &["y", "z"])).seqs;
        assert_eq!((first, again), (Some(vec![1, 2]), Some(vec![2, 3])));
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
        let stored = store.reading(When::Later).load("", "a").expect("loads").expect("a session");
        assert_eq!(stored.fields.into_iter().collect::<Vec<_>>(), [("plan".to_owned(), "2".to_owned())]);
        assert_eq!((stored.prompt.as_deref(), stored.stamp.version), (Some("A"), 3));
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
        let query =
            ListQuery { namespace: String::new(), order: Order::Created, limit: 1, cursor: Some("?".into()) };
        assert_eq!(
            store.reading(When::Later).list(&query).map_err(|error| error.kind()),
            Err(Kind::BadCursor)
        );
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
    store.close().expect("closes");
    let bytes = fs::read(folder.file()).expect("a file");
    for word in ["4111", "secretword"] {
        assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
    }
}

#[test]
fn another_process_is_noticed_and_ones_own_writes_are_not_lost_on_it() {
    let folder = Folder::new();
    let (here, other) = (folder.open(), folder.open());
    let before = here.foreign_writes().expect("a number");
    one(&other, append("a", &["y"]));
    assert_ne!(here.foreign_writes().expect("a number"), before);
    one(&here, append("a", &["x"]));
    assert_eq!(ids(&other, "a"), ["y", "x"]);
}

#[test]
fn a_file_of_version_1_is_taken_over() {
    let folder = Folder::new();
    {
        let old = Connection::open(folder.file()).expect("opens");
        old.execute_batch(
            r#"PRAGMA application_id = 1885959028;
            CREATE TABLE session(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, state TEXT NOT NULL);
            CREATE TABLE message(id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL,
                position INTEGER NOT NULL, live INTEGER NOT NULL, body TEXT NOT NULL);
            CREATE VIRTUAL TABLE message_text USING fts5(text, content='');
            INSERT INTO session VALUES (3, '"s"', '{"metadata":{"goal":"ship","createdAt":"2026-01-01T00:00:00.000Z"},"compressions":1,"tokensSaved":5,"digest":"{}"}');
            INSERT INTO message VALUES
                (1, 3, 1, 1, '{"message":{"role":"system","content":"Be brief."},"isSummary":false}'),
                (2, 3, 2, 0, '{"message":{"role":"user","content":"old \ud800"},"isSummary":false}'),
                (3, 3, 3, 1, '{"message":{"role":"user","content":"kept"},"isSummary":false}'),
                (4, 3, 2, 1, '{"message":{"role":"assistant","content":"sum"},"isSummary":true}');"#,
        )
        .expect("makes an old file");
    }
    let store = folder.open();
    let stored = store.reading(When::Later).load("", "\"s\"").expect("loads").expect("a session");
    assert_eq!(stored.messages.iter().map(|m| &*m.id).collect::<Vec<_>>(), ["v1-4", "v1-3"]);
    assert!(stored.prompt.is_some_and(|prompt| prompt.contains("Be brief.")));
    assert_eq!(stored.fields.get("goal").map(String::as_str), Some("\"ship\""));
    assert_eq!(
        (stored.compressions, stored.tokens_saved, stored.stamp.created_at),
        (1, 5, 1_767_225_600_000)
    );
    assert_eq!(found(&store, "old", None), ["v1-2"]);
    one(&store, append("\"s\"", &["next"]));
    assert_eq!(ids(&store, "\"s\""), ["v1-4", "v1-3", "next"]);
}

#[test]
fn a_newer_version_is_refused() {
    let folder = Folder::new();
    folder.open().close().expect("closes");
    Connection::open(folder.file())
        .expect("opens")
        .execute("UPDATE session_schema SET version = 99", [])
        .expect("writes");
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
    assert_eq!(kept.len() as u64, replaced.salvaged);
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
    assert_eq!(store.reading(When::Later).load("", "a").map_err(|error| error.kind()), Err(Kind::Closed));
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

fn new_message(id: &str) -> NewMessage {
    NewMessage { id: id.to_owned(), body: body(id) }
}

#[test]
fn what_waits_in_memory_is_seen_by_everybody() {
    let store = Store::new(IN_MEMORY);
    let append_new = |key: &str, id: &str| store.append_new("", key, new_message(id)).expect("appends");
    one(&store, append("a", &["one"]));
    let (head, seq) = append_new("a", "two");
    assert_eq!((head.version, seq), (2, 2));
    append_new("b", "one more");
    assert_eq!(one(&store, append("a", &["three"])).seqs, Some(vec![3]));
    append_new("a", "four");
    assert_eq!(stamp(&store, "a").version, 4);
    assert_eq!(ids(&store, "a"), ["one", "two", "three", "four"]);
    append_new("a", "five one");
    append_new("b", "six one");
    assert_eq!(found(&store, "one", None), ["six one", "five one", "one more", "one"], "the newest first");
    append_new("a", "seven");
    assert_eq!(one(&store, append("a", &["seven", "eight"])).seqs, Some(vec![6, 7]));
    append_new("b", "nine");
    one(&store, clear("b"));
    append_new("b", "ten");
    assert_eq!(ids(&store, "b"), ["ten"]);
    assert_eq!(keys(&store, Order::Created), ["a", "b"]);
    let file = Folder::new().open();
    assert!(
        file.append_new("", "a", new_message("one")).is_err(),
        "a file acknowledges what it has committed"
    );
}

#[test]
fn no_more_than_some_messages_wait() {
    let store = Store::new(IN_MEMORY);
    for n in 0..20_000 {
        store.append_new("", &format!("{}", n % 7), new_message(&n.to_string())).expect("appends");
    }
    let rows: i64 = {
        let writer = store.writer.lock();
        let count = "SELECT count(*) FROM messages";
        connection_of(&writer).expect("open").query_row(count, [], |row| row.get(0)).expect("counts")
    };
    assert!((1_000..20_000).contains(&rows), "{rows} are written");
    assert_eq!(ids(&store, "3").len(), 2857);
}
