//! The target of a tool call: the files it reads or changes, or the command it runs.
//!
//! Tools are known by the shape of their arguments, not by name, so that any host's tools are understood alike. A shell
//! command that prints a file is a read of it, a patch is an edit.

use serde_json::{Map, Value};

use super::lines::{self, Line};
use super::paths::Path;
use super::{patch, shell};
use crate::text::utf16;

/// The target of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The files it names.
    pub files: Box<[File]>,
}

/// A file named by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its place.
    pub path: Path,
    /// The change that the call makes to it; `None` if it only reads.
    pub change: Option<Change>,
}

/// The change that a call makes to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The new place of the file.
    pub moved_to: Option<Path>,
    /// Lines it replaces, quoted word for word: ascending, each once.
    pub old: Box<[Line]>,
    /// Lines it writes: ascending, each once.
    pub new: Box<[Line]>,
}

impl Change {
    /// True if no line is known that it replaces or writes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

const PATHS: [&str; 8] =
    ["path", "file_path", "filePath", "file", "filename", "notebook_path", "TargetFile", "AbsolutePath"];
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
const FOLDERS: [&str; 3] = ["workdir", "cwd", "working_directory"];
const SEVERAL: [&str; 2] = ["edits", "replacements"];
const OLD: [&str; 6] = ["oldText", "old_text", "oldString", "old_string", "old_str", "TargetContent"];
const NEW: [&str; 10] = [
    "content",
    "newText",
    "new_text",
    "newString",
    "new_string",
    "new_str",
    "new_source",
    "file_text",
    "CodeContent",
    "ReplacementContent",
];
const BLOCKS: &str = "diff";

/// The file or command that a call's arguments name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A file.
    File(&'a str),
    /// A command, and no file.
    Command(&'a str),
    /// Neither.
    Nothing,
}

impl<'a> Named<'a> {
    /// A path comes before a command: a tool that takes both says with the command what to do with the file.
    pub fn by(fields: &'a Map<String, Value>) -> Self {
        let first = |names: &[&str]| {
            let mut texts = names.iter().filter_map(|name| fields.get(*name)?.as_str());
            texts.find(|text| !text.trim().is_empty())
        };
        match (first(&PATHS), first(&COMMANDS)) {
            (Some(path), _) => Self::File(path),
            (None, Some(command)) => Self::Command(command),
            (None, None) => Self::Nothing,
        }
    }
}

impl Target {
    /// Reads a call's arguments as JSON, and gathers the lines that all its texts show. Arguments that cannot be read name
    /// nothing.
    pub fn of(arguments: &[u16], shown: &mut Vec<Line>) -> Self {
        let json = String::from_utf16_lossy(arguments);
        let value = serde_json::from_str(&json).unwrap_or_default();
        let Value::Object(fields) = value else {
            return Self::default();
        };
        let texts = texts_in(&fields);
        for text in &texts {
            lines::add(&utf16(text), shown);
        }
        let named = Named::by(&fields);
        let folder = FOLDERS.iter().find_map(|name| fields.get(*name)?.as_str());
        let mut files: Vec<File> = texts.iter().flat_map(|text| patched(text, folder)).collect();
        if files.is_empty() {
            files = match named {
                Named::File(path) => file_at(path, &fields).into_iter().collect(),
                Named::Command(command) => shell::files(command, folder),
                Named::Nothing => Vec::new(),
            };
        }
        Self { files: files.into() }
    }

    /// Bytes it takes beyond itself.
    pub fn heap_bytes(&self) -> usize {
        let of_change = |change: &Change| {
            size_of_val(&*change.old)
                + size_of_val(&*change.new)
                + change.moved_to.as_ref().map_or(0, Path::heap_bytes)
        };
        let of_file = |file: &File| {
            size_of::<File>() + file.path.heap_bytes() + file.change.as_ref().map_or(0, of_change)
        };
        self.files.iter().map(of_file).sum()
    }
}

/// The file of a call with a path; a search in it names none.
fn file_at(path: &str, fields: &Map<String, Value>) -> Option<File> {
    if fields.contains_key("pattern") {
        return None;
    }
    let edits = || {
        let several = SEVERAL.iter().filter_map(|name| fields.get(*name)?.as_array()).flatten();
        several.filter_map(Value::as_object).chain([fields])
    };
    let (old, new) = patch::blocks(fields.get(BLOCKS).and_then(Value::as_str).unwrap_or_default());
    let named = |names: &'static [&str]| {
        edits().flat_map(|edit| names.iter().filter_map(|name| edit.get(*name)?.as_str()))
    };
    let is_changed = !(old.is_empty() && new.is_empty())
        || SEVERAL.iter().any(|name| fields.contains_key(*name))
        || edits().any(|edit| NEW.iter().any(|name| edit.contains_key(*name)));
    Some(File {
        path: Path::of(path, None)?,
        change: is_changed.then(|| Change {
            moved_to: None,
            old: lines::of_texts(named(&OLD).chain(old).map(utf16)),
            new: lines::of_texts(named(&NEW).chain(new).map(utf16)),
        }),
    })
}

fn patched(text: &str, folder: Option<&str>) -> Vec<File> {
    let files = patch::files(text).into_iter();
    let changed = files.filter_map(|file| {
        let change = Change {
            moved_to: file.moved_to.and_then(|to| Path::of(to, folder)),
            old: lines::of_texts(file.old.into_iter().map(utf16)),
            new: lines::of_texts(file.new.into_iter().map(utf16)),
        };
        Some(File { path: Path::of(file.path, folder)?, change: Some(change) })
    });
    changed.collect()
}

/// Every text in the arguments, however deep.
fn texts_in(fields: &Map<String, Value>) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut open: Vec<&Value> = fields.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(&**text),
            Value::Array(values) => open.extend(values),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_file(arguments: &str) -> Option<File> {
        let units: Vec<u16> = arguments.encode_utf16().collect();
        let mut files = Target::of(&units, &mut Vec::new()).files.into_vec();
        assert!(files.len() <= 1, "{arguments}");
        files.pop()
    }

    #[test]
    fn knows_files_by_the_shape_of_the_arguments() {
        let read = only_file(r#"{"path":"a.rs"}"#).expect("names a file");
        let edit =
            only_file(r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#).expect("names a file");
        assert!(read.change.is_none());
        assert!(edit.path == read.path && edit.change.is_some());
        assert_eq!(only_file(r#"{"path":"a.rs","pattern":"x"}"#), None);
        assert_eq!(only_file(r#"{"command":"cd lib && cat ../a.rs"}"#), Some(read.clone()));
        assert_eq!(
            only_file(r#"{"cmd":"nl -ba b/a.rs","workdir":"/x"}"#).map(|file| file.path.is_absolute()),
            Some(true)
        );
    }

    #[test]
    fn a_path_comes_before_a_command() {
        let view = only_file(r#"{"command":"view","path":"a.rs"}"#);
        assert_eq!(view, only_file(r#"{"path":"a.rs"}"#));
        assert_eq!(only_file(r#"{"command":"cat a.rs","path":" "}"#), view);
    }

    #[test]
    fn an_edit_says_which_lines_go_and_which_come() {
        let line = |text: &str| Line::of(&text.encode_utf16().collect::<Vec<_>>()).expect("is long enough");
        let (gone, come) = (line("let answer = 41;"), line("let answer = 42;"));
        for arguments in [
            r#"{"path":"a.rs","oldText":"let answer = 41;\n}","newText":"let answer = 42;\n}"}"#,
            r#"{"path":"a.rs","edits":[{"old_string":"let answer = 41;","new_string":"let answer = 42;"}]}"#,
            r#"{"input":"*** Begin Patch\n*** Update File: a.rs\n-let answer = 41;\n+let answer = 42;\n*** End Patch"}"#,
            r#"{"command":"apply_patch <<E\n*** Begin Patch\n*** Update File: a.rs\n-let answer = 41;\n+let answer = 42;\n*** End Patch\nE"}"#,
        ] {
            let change = only_file(arguments).and_then(|file| file.change).expect("is an edit");
            assert_eq!((&*change.old, &*change.new), ([gone].as_slice(), [come].as_slice()), "{arguments}");
        }
        let written =
            only_file(r#"{"path":"a.rs","content":"let answer = 42;"}"#).and_then(|file| file.change);
        assert_eq!(written, Some(Change { new: [come].into(), ..Change::default() }));
    }

    #[test]
    fn edits_in_blocks_and_under_capital_names_are_edits() {
        let diff = "<<<<<<< SEARCH\\nlet first = 1;\\n=======\\nlet second = 2;\\n>>>>>>> REPLACE";
        let blocks = format!(r#"{{ "path": "a.rs", "diff": "{diff}" }}"#);
        let named = r#"{ "TargetFile": "a.rs", "TargetContent": "let first = 1;", "ReplacementContent": "let second = 2;" }"#;
        let plain = r#"{ "path": "a.rs", "old_string": "let first = 1;", "new_string": "let second = 2;" }"#;
        assert_eq!(only_file(&blocks), only_file(plain));
        assert_eq!(only_file(named), only_file(plain));
        assert_eq!(
            only_file(r#"{ "path": "a.rs", "diff": "no blocks in it" }"#).and_then(|file| file.change),
            None
        );
    }

    #[test]
    fn unreadable_arguments_name_nothing() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for arguments in ["", "null", "[1]", r#"{"path":7}"#, &deep] {
            assert_eq!(only_file(arguments), None, "{arguments:.20}");
        }
    }
}
