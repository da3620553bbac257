//! Finds the names of files in prose, and the file or command a tool call is about.

use serde_json::Value;

/// Endings of names that are taken for files when they stand in prose. Without them `console.log` or `e.g.` would be.
const EXTENSIONS: &[&str] = &[
    "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "db", "doc", "docx", "env", "gif",
    "go", "gz", "h", "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsonl", "jsx", "kt",
    "less", "lock", "lua", "md", "mjs", "mts", "pdf", "php", "png", "proto", "ps1", "py", "rb", "rs", "scss",
    "sh", "sql", "sqlite", "svg", "swift", "tar", "toml", "ts", "tsv", "tsx", "txt", "vue", "wasm", "xls",
    "xlsx", "xml", "yaml", "yml", "zip",
];
/// Longest name of a file worth keeping, in characters.
const FILE_CHARS: usize = 200;
/// Arguments that name a file, in the tools agents commonly have.
const FILE_KEYS: &[&str] = &["path", "file_path", "filePath", "file", "filename", "notebook_path"];
/// Arguments that are a command.
const COMMAND_KEYS: &[&str] = &["command", "cmd", "script"];

/// What a tool call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    File(String),
    Command(String),
    Unknown,
}

impl Target {
    /// Reads the arguments of a call, given as JSON.
    pub(super) fn of(arguments: &str) -> Self {
        let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else { return Self::Unknown };
        let first = |keys: &[&str]| {
            let mut values = keys.iter().filter_map(|key| fields.get(*key).and_then(Value::as_str));
            values.find(|value| !value.trim().is_empty()).map(|value| value.trim().to_owned())
        };
        match first(COMMAND_KEYS) {
            Some(command) => Self::Command(command),
            None => first(FILE_KEYS).map_or(Self::Unknown, Self::File),
        }
    }

    /// The file or command as text; empty where there is none.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::File(name) | Self::Command(name) => name,
            Self::Unknown => "",
        }
    }
}

/// Names of files in prose, in order. What follows a colon, such as a line number, is left out.
pub(super) fn files_in(text: &str) -> impl Iterator<Item = &str> {
    let is_border = |c: char| {
        !(c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | '@' | '+'))
            || is_cjk_mark(c)
    };
    text.split(is_border).map(|word| word.trim_end_matches(['.', '-'])).filter(|word| is_file(word))
}

fn is_cjk_mark(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}')
}

fn is_file(word: &str) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else { return false };
    let extension = extension.to_ascii_lowercase();
    !stem.is_empty()
        && !stem.starts_with("//")
        && stem.chars().count() <= FILE_CHARS
        && EXTENSIONS.binary_search(&extension.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extensions_are_sorted_for_the_binary_search() {
        assert!(EXTENSIONS.is_sorted());
    }

    #[test]
    fn finds_files_in_prose() {
        let cases: &[(&str, &[&str])] = &[
            (
                "see src/main.rs:12 and `lib/a.js`, then ./x/y.test.mjs.",
                &["src/main.rs", "lib/a.js", "./x/y.test.mjs"],
            ),
            ("请修改“配置/config.toml”。", &["配置/config.toml"]),
            ("console.log(e.g. 1.2.3) https://example.com v0.1", &[]),
            ("(package.json) [README.md](docs/README.md)", &["package.json", "README.md", "docs/README.md"]),
            (".rs .. . /", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(files_in(text).collect::<Vec<_>>(), *expected, "{text}");
        }
    }

    #[test]
    fn reads_what_a_call_is_about() {
        let cases = [
            (r#"{"path":"a.rs","limit":3}"#, Target::File("a.rs".into())),
            (r#"{"command":" ls ","path":"x"}"#, Target::Command("ls".into())),
            (r#"{"path":7}"#, Target::Unknown),
            (r#"["path"]"#, Target::Unknown),
            ("", Target::Unknown),
        ];
        for (arguments, expected) in cases {
            assert_eq!(Target::of(arguments), expected, "{arguments}");
        }
        assert_eq!(Target::of(&"[".repeat(100_000)), Target::Unknown);
    }

    proptest! {
        #[test]
        fn every_file_found_stands_in_the_text(text in "[a-c./ :\\-“”中]{0,60}(rs|json)?") {
            for file in files_in(&text) {
                prop_assert!(text.contains(file) && !file.ends_with('.'));
            }
        }
    }
}
