//! Normalises the paths in calls, so that a file has one path however a call writes it.
//! A call alone does not show whether `a/b.rs` and `/home/me/project/a/b.rs` are one file: `keep` compares the ends of
//! paths, and the coverage index only the last part.

use xxhash_rust::xxh3::xxh3_64;

use super::words::UNKNOWN;

/// Most parts of a path, and most characters of a part. Earlier parts are dropped.
const MAX_PARTS: usize = 24;
const PART_CHARS: usize = 80;

/// Longest extension of a word that looks like a file's name.
const MAX_EXTENSION: usize = 10;

/// A normalised path: its parts, joined by slashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(Box<str>);

impl Path {
    /// Normalises a path; a relative one is in `folder`. `None` if no part is left.
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
        let clipped = |part: &&str| part.chars().take(PART_CHARS).collect::<String>();
        let last = parts.iter().skip(parts.len().saturating_sub(MAX_PARTS));
        (!parts.is_empty()).then(|| Self(last.map(clipped).collect::<Vec<_>>().join("/").into()))
    }

    /// The path on a host, whose name comes first.
    #[must_use]
    pub fn on(&self, host: &str) -> Self {
        Self::of(&format!("{host}/{}", self.0), None).unwrap_or_else(|| self.clone())
    }

    /// Hash of the whole path.
    pub fn hash(&self) -> u64 {
        xxh3_64(self.0.as_bytes())
    }

    /// Hash of its last part.
    pub fn name_hash(&self) -> u64 {
        xxh3_64(self.name().as_bytes())
    }

    /// Its last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns `true` if its last parts are those of `end`.
    pub fn ends_with(&self, end: &Self) -> bool {
        let before = self.0.strip_suffix(&*end.0);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }
}

fn is_absolute(path: &str) -> bool {
    let path = path.trim_start();
    let drive = path.as_bytes().get(1) == Some(&b':');
    drive || path.starts_with(['/', '\\', '~'])
}

/// Returns `true` if a word can be the path of one file: no variable, no pattern, not `.` or `/dev/null`.
pub(super) fn is_path(word: &str) -> bool {
    !word.is_empty() && !word.contains([UNKNOWN, '*', '?', '{', '\n']) && word != "." && word != "/dev/null"
}

/// Returns `true` if a word has the extension of a file.
pub(super) fn looks_like_file(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    is_path(word)
        && !word.contains("..")
        && !name.contains('(')
        && extension.len() <= MAX_EXTENSION
        && extension.starts_with(|first: char| first.is_ascii_alphabetic())
        && extension.chars().all(char::is_alphanumeric)
}

/// `to` as a path in `folder`, unless it is absolute.
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
        assert!(absolute.ends_with(&plain) && !plain.ends_with(&absolute));
        assert!(!Path::of("other-src/app.rs", None).expect("names a file").ends_with(&plain));
        assert_eq!(Path::of("./..", None), None);
    }

    #[test]
    fn endless_paths_are_bounded() {
        let path = Path::of(&"a/".repeat(100_000), None).expect("names a file");
        assert_eq!(path.0.split('/').count(), MAX_PARTS);
        let long = Path::of(&"é".repeat(100_000), None).expect("names a file");
        assert_eq!(long.name().chars().count(), PART_CHARS);
    }
}
