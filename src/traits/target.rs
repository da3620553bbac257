//! What a tool call acts on: which file, and whether it changes it; or which command it runs.
//!
//! A tool's name and its arguments flow in, hashes flow out. Tools are known by the shape of their arguments, not by
//! name, so that any host's tools are understood alike.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// What one call acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Equal for calls that ask the same of the same tool.
    pub call: u64,
    /// The file it names, if it names one.
    pub file: Option<File>,
}

/// A file named by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Hash of its path.
    pub path: u64,
    /// False where only a part of it was asked for.
    pub is_whole: bool,
    /// Whether the call brings new content for it.
    pub is_changed: bool,
}

/// The arguments by which tools of coding agents are recognised.
#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "notebook_path")]
    path: Option<Value>,
    #[serde(alias = "cmd")]
    command: Option<Value>,
    offset: Option<IgnoredAny>,
    limit: Option<IgnoredAny>,
    pattern: Option<IgnoredAny>,
    #[serde(
        alias = "new_string",
        alias = "newText",
        alias = "new_str",
        alias = "edits",
        alias = "new_source"
    )]
    content: Option<IgnoredAny>,
}

impl Target {
    /// Reads a call's name and its arguments as JSON. Arguments that cannot be read name nothing.
    #[must_use]
    pub fn of(name: &[u16], arguments: &[u16]) -> Self {
        let tool = xxh3_64(bytemuck::cast_slice(name));
        let json = String::from_utf16_lossy(arguments);
        let fields: Arguments = serde_json::from_str(&json).unwrap_or_default();
        let path = fields.path.as_ref().and_then(Value::as_str);
        let command = fields.command.as_ref().and_then(Value::as_str).filter(|_| path.is_none());
        let asked = command.unwrap_or(&json);
        let file = path.filter(|_| fields.pattern.is_none());
        Self {
            call: xxh3_64_with_seed(asked.as_bytes(), tool),
            file: file.map(|path| File {
                path: xxh3_64(path.as_bytes()),
                is_whole: fields.offset.is_none() && fields.limit.is_none(),
                is_changed: fields.content.is_some(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, arguments: &str) -> Target {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        Target::of(&units(name), &units(arguments))
    }

    #[test]
    fn knows_files_by_the_shape_of_the_arguments() {
        let read = target("read", r#"{"path":"a.rs"}"#);
        let part = target("Read", r#"{"file_path":"a.rs","offset":10,"limit":5}"#);
        let edit = target("Edit", r#"{"file_path":"a.rs","old_string":"x","new_string":"y"}"#);
        let search = target("grep", r#"{"path":"a.rs","pattern":"x"}"#);
        let path = read.file.map(|file| file.path);
        assert_eq!(read.file.map(|file| (file.is_whole, file.is_changed)), Some((true, false)));
        assert_eq!(part.file, path.map(|path| File { path, is_whole: false, is_changed: false }));
        assert_eq!(edit.file, path.map(|path| File { path, is_whole: true, is_changed: true }));
        assert_eq!(search.file, None);
    }

    #[test]
    fn equal_commands_are_equal_calls_whatever_else_is_said() {
        let first = target("bash", r#"{"command":"cargo test","description":"Run"}"#);
        assert_eq!(first.call, target("bash", r#"{"description":"Again","command":"cargo test"}"#).call);
        assert_ne!(first.call, target("bash", r#"{"command":"cargo build"}"#).call);
        assert_ne!(first.call, target("shell", r#"{"command":"cargo test"}"#).call);
    }

    #[test]
    fn unreadable_arguments_name_nothing() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for arguments in ["", "null", "[1]", r#"{"path":7}"#, &deep, r#"{"path":"a","path":"b"}"#] {
            assert_eq!(target("x", arguments).file, None, "{arguments:.20}");
        }
    }
}
