//! Finds the names of files in prose.

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

    proptest! {
        #[test]
        fn every_file_found_stands_in_the_text(text in "[a-c./ :\\-“”中]{0,60}(rs|json)?") {
            for file in files_in(&text) {
                prop_assert!(text.contains(file) && !file.ends_with('.'));
            }
        }
    }
}
