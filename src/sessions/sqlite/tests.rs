//! Opening under every condition a host may meet, on real files.

use std::fs;

use super::*;

const SCHEMA: Schema = Schema {
    tables: &[("note", &["id", "text"])],
    create: "CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    set_up: |_| Ok(()),
    version: Some(1),
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pi-strata-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn file(&self) -> String {
        self.0.join("a.db").to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn kind(location: &str, schema: &Schema) -> Option<Kind> {
    open(location, schema).err().map(|error| error.kind())
}

fn add(connection: &Connection, text: &str) -> Result<(), Error> {
    connection.execute("INSERT INTO note(text) VALUES (?1)", [text])?;
    Ok(())
}

fn notes(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM note", [], |row| row.get(0)).expect("a count")
}

#[test]
fn what_was_written_is_there_when_opened_again() {
    let folder = Folder::new("again");
    add(&open(&folder.file(), &SCHEMA).expect("opens").connection, "a").expect("writes");
    let opened = open(&folder.file(), &SCHEMA).expect("opens again");
    assert_eq!((notes(&opened.connection), opened.set_aside), (1, None));
    assert_eq!(notes(&open(IN_MEMORY, &SCHEMA).expect("opens").connection), 0);
}

#[cfg(unix)]
#[test]
fn the_file_and_its_log_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let opened = open(&folder.file(), &SCHEMA).expect("opens");
    add(&opened.connection, "a").expect("writes");
    let modes: Vec<_> = fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").metadata().expect("metadata").permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o600; 3], "file, log and index");
}

#[test]
fn damaged_files_are_set_aside_and_what_can_be_read_goes_on() {
    let folder = Folder::new("damaged");
    {
        let opened = open(&folder.file(), &SCHEMA).expect("opens");
        (0..2000).for_each(|_| add(&opened.connection, &"x".repeat(100)).expect("writes"));
    }
    let mut sound = fs::read(folder.file()).expect("a file");
    let middle = sound.len() / 2;
    sound[middle..middle + 9000].fill(0xAA);
    for (number, content) in [vec![0xFF; 5000], sound].into_iter().enumerate() {
        fs::write(folder.file(), &content).expect("writes");
        let opened = open(&folder.file(), &SCHEMA).expect("opens");
        let aside = opened.set_aside.expect("was set aside");
        assert!(aside.to_str().is_some_and(|name| name.ends_with(&format!(".corrupt-{}", number + 1))));
        assert_eq!(fs::read(aside).expect("still there"), content);
        let kept = notes(&opened.connection);
        assert!(if number == 0 { kept == 0 } else { (1500..2000).contains(&kept) }, "{kept} rows");
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new("foreign");
    let other = Connection::open(folder.file()).expect("opens");
    other.execute_batch("CREATE TABLE bill(id)").expect("creates");
    let before = fs::read(folder.file()).expect("a file");
    assert_eq!(kind(&folder.file(), &SCHEMA), Some(Kind::Foreign));
    assert_eq!(fs::read(folder.file()).expect("a file"), before);
    assert_eq!(kind(&folder.file(), &Schema { version: None, ..SCHEMA }), None);
    other.execute_batch("DROP TABLE note; CREATE TABLE note(id, author)").expect("creates");
    assert_eq!(kind(&folder.file(), &Schema { version: None, ..SCHEMA }), Some(Kind::Foreign));
    other.query_row("SELECT count(*) FROM bill", [], |_| Ok(())).expect("still there");
}

#[test]
fn a_text_is_no_damaged_database() {
    let folder = Folder::new("text");
    let notes = "# Notes\n\nnot a database, 也不是\n".repeat(300);
    fs::write(folder.file(), &notes).expect("writes");
    assert_eq!(kind(&folder.file(), &SCHEMA), Some(Kind::Foreign));
    assert_eq!(fs::read_to_string(folder.file()).expect("still there"), notes);
}

#[test]
fn a_locked_file_says_so_and_is_unharmed() {
    let folder = Folder::new("locked");
    let opened = open(&folder.file(), &SCHEMA).expect("opens");
    opened.connection.busy_timeout(Duration::from_millis(50)).expect("sets it");
    let other = Connection::open(folder.file()).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("locks");
    assert_eq!(add(&opened.connection, "a").map_err(|error| error.kind()), Err(Kind::Locked));
    assert_eq!(kind(&folder.file(), &SCHEMA), None, "reading goes on");
    other.execute_batch("COMMIT").expect("unlocks");
    assert!(add(&opened.connection, "a").is_ok());
}

#[test]
fn a_full_disk_loses_nothing() {
    let opened = open(IN_MEMORY, &SCHEMA).expect("opens");
    add(&opened.connection, "a").expect("writes");
    opened.connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())).expect("limits");
    let outcome = add(&opened.connection, &"x".repeat(1 << 20));
    assert_eq!(outcome.map_err(|error| error.kind()), Err(Kind::Full));
    assert_eq!(notes(&opened.connection), 1);
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let folder = Folder::new("read-only");
    let opened = open(&folder.file(), &SCHEMA).expect("opens");
    add(&opened.connection, "a").expect("writes");
    let reader = Connection::open_with_flags(folder.file(), OpenFlags::SQLITE_OPEN_READ_ONLY).expect("opens");
    prepare(&reader, &SCHEMA).expect("has the tables");
    assert_eq!(notes(&reader), 1);
    assert_eq!(add(&reader, "b").map_err(|error| error.kind()), Err(Kind::ReadOnly));
}

#[test]
fn impossible_paths_are_refused() {
    let folder = Folder::new("paths");
    assert_eq!(kind("", &SCHEMA), Some(Kind::BadPath));
    assert_eq!(kind("a\0b", &SCHEMA), Some(Kind::BadPath));
    assert_eq!(kind(folder.0.to_str().expect("UTF-8"), &SCHEMA), Some(Kind::CannotOpen));
    assert_eq!(kind(&format!("{}/none/a.db", folder.0.display()), &SCHEMA), Some(Kind::CannotOpen));
}

#[test]
fn many_openers_of_one_new_file_all_succeed() {
    let folder = Folder::new("many");
    let file = folder.file();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                add(&open(&file, &SCHEMA).expect("opens").connection, "a").expect("writes");
            });
        }
    });
    assert_eq!(notes(&open(&file, &SCHEMA).expect("opens").connection), 8);
}
