//! Reduces the paths in calls to hashes, so that a file has one hash however a call writes its path.
//!
//! One call does not tell whether `a/b.rs` and `/home/me/project/a/b.rs` are one file. A path keeps the hashes of its
//! endings: `keep` compares those, and the index of what was shown goes by the last part.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Most parts of a path. Earlier parts are left out.
const MAX_PARTS: usize = 24;

/// Characters of a name that are remembered.
const NAME_CHARS: usize = 80;

/// Longest extension of a word that looks like a file's name.
const MAX_EXTENSION: usize = 10;

/// A normalised path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Hashes of its last part, its last two parts, and so on; the last one is of the whole.
    endings: Box<[u64]>,
    /// Its last part, clipped.
    name: Box<str>,
}

impl Path {
    /// Reads a path, in `folder` if it is relative; `None` if nothing of it is left.
    ///
    /// ```
    /// use pi_strata::context::facts::traits::paths::Path;
    /// assert_eq!(Path::of("./a//b.rs", None), Path::of("b.rs", Some("a")));
    /// assert_eq!(Path::of("a/x/../b.rs", None), Path::of("a\\b.rs", None));
    /// ```
    pub fn of(path: &str, folder: Option<&str>) -> Option<Self> {
        let folder = folder.filter(|_| !is_absolute(path)).unwrap_or_default();
        let mut parts: Vec<&str> = Vec::new();
        for part in folder.split(['/', '\\']).chain(path.trim().split(['/', '\\'])) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let name = parts.last()?.chars().take(NAME_CHARS).collect();
        let mut hash = 0;
        let endings = parts.iter().rev().take(MAX_PARTS).map(|part| {
            hash = xxh3_64_with_seed(part.as_bytes(), hash);
            hash
        });
        Some(Self { endings: endings.collect(), name })
    }

    /// Hash of the whole path.
    pub fn whole(&self) -> u64 {
        self.endings.last().copied().unwrap_or_default()
    }

    /// Hashes of its endings, the shortest first; the last is the whole.
    pub fn endings(&self) -> &[u64] {
        &self.endings
    }

    /// Hash of its last part.
    pub fn name_hash(&self) -> u64 {
        self.endings.first().copied().unwrap_or_default()
    }

    /// Its last part.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn is_absolute(path: &str) -> bool {
    let path = path.trim_start();
    let drive = path.as_bytes().get(1) == Some(&b':');
    drive || path.starts_with(['/', '\\', '~'])
}

/// Returns `true` if a word can be one file's path: no variable, no pattern, and a name or a folder with something in it.
pub(super) fn is_path(word: &str) -> bool {
    !word.is_empty()
        && !word.contains(['$', '*', '?', '`', '(', '{', '\n'])
        && word != "."
        && word != "/dev/null"
}

/// Returns `true` if a word has the extension of a file.
pub(super) fn looks_like_file(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    is_path(word)
        && !word.contains("..")
        && extension.len() <= MAX_EXTENSION
        && extension.starts_with(|first: char| first.is_ascii_alphabetic())
        && extension.chars().all(char::is_alphanumeric)
}

/// A place in a folder, unless it begins at a root.
pub(super) fn joined(folder: Option<&str>, to: &str) -> String {
    let folder = folder.filter(|_| !is_absolute(to));
    folder.map_or_else(|| to.to_owned(), |folder| format!("{folder}/{to}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_has_one_hash_however_it_is_written() {
        let plain = Path::of("src/app.rs", None).expect("names a file");
        for written in ["./src/app.rs", " src//app.rs", "src/x/../app.rs", "src\\app.rs"] {
            assert_eq!(Path::of(written, None).as_ref(), Some(&plain), "{written}");
        }
        assert_eq!(Path::of("app.rs", Some("src")).as_ref(), Some(&plain));
        let absolute = Path::of("/home/me/src/app.rs", Some("ignored")).expect("names a file");
        assert!(absolute.endings().contains(&plain.whole()));
        assert_ne!(absolute.whole(), plain.whole());
        assert_eq!(Path::of("./..", None), None);
    }

    #[test]
    fn endless_paths_are_bounded() {
        let path = Path::of(&"a/".repeat(100_000), None).expect("names a file");
        assert_eq!(path.endings().len(), MAX_PARTS);
    }
}
