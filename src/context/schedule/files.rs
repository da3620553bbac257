//! The files that calls name, however they write them, and how much of each was shown.

use std::collections::HashMap;

use crate::context::traits::paths::Path;

/// The files named so far. A relative path is the absolute one that ends with it, if there is only one.
#[derive(Clone, Debug, Default)]
pub struct Files {
    numbers: HashMap<u64, u32>,
    /// Files by the endings of their paths; `None` where several end so.
    endings: HashMap<u64, Option<u32>>,
    rows: Vec<FileRow>,
}

/// One file.
#[derive(Clone, Copy, Debug)]
pub struct FileRow {
    /// Lines known to stand in it.
    pub lines: u32,
    /// The call that read or changed it last.
    pub last_touch: u32,
}

impl Files {
    /// The file of this number.
    pub fn row(&self, number: u32) -> Option<&FileRow> {
        self.rows.get(number as usize)
    }

    /// The number of the file at `path`; a new one is entered.
    pub fn number(&mut self, path: &Path) -> u32 {
        if let Some(&number) = self.numbers.get(&path.whole()) {
            return number;
        }
        let known = if path.is_absolute() {
            // The longest relative path known that this one ends with.
            path.endings().iter().rev().find_map(|ending| self.numbers.get(ending)).copied()
        } else {
            self.endings.get(&path.whole()).copied().flatten()
        };
        let number = known.unwrap_or_else(|| {
            let row = FileRow { lines: 0, last_touch: 0 };
            self.rows.push(row);
            self.rows.len() as u32 - 1
        });
        self.enter(path, number);
        number
    }

    /// From now on `path` names the file of this number.
    pub fn enter(&mut self, path: &Path, number: u32) {
        self.numbers.insert(path.whole(), number);
        if path.is_absolute() {
            for &ending in path.endings() {
                let of_ending = self.endings.entry(ending).or_insert(Some(number));
                *of_ending = of_ending.filter(|of| *of == number);
            }
        }
    }

    /// The call that read or changed a file last.
    pub fn touch(&mut self, number: u32, call: u32) {
        if let Some(row) = self.rows.get_mut(number as usize) {
            row.last_touch = call;
        }
    }

    /// A line that stood in one file stands in another.
    pub fn move_line(&mut self, from: Option<u32>, to: Option<u32>) {
        if let Some(row) = from.and_then(|from| self.rows.get_mut(from as usize)) {
            row.lines = row.lines.saturating_sub(1);
        }
        if let Some(row) = to.and_then(|to| self.rows.get_mut(to as usize)) {
            row.lines += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_however_it_is_written_and_after_a_move() {
        let number =
            |files: &mut Files, path: &str| files.number(&Path::of(path, None).expect("names a file"));
        let mut files = Files::default();
        let first = number(&mut files, "src/a.rs");
        assert_eq!(number(&mut files, "./src/a.rs"), first);
        assert_eq!(number(&mut files, "/home/me/src/a.rs"), first);
        files.enter(&Path::of("src/b.rs", None).expect("names a file"), first);
        assert_eq!(number(&mut files, "src/b.rs"), first);
        let (one, two) = (number(&mut files, "/x/mod.rs"), number(&mut files, "/y/mod.rs"));
        assert!(
            one != two && ![one, two].contains(&number(&mut files, "mod.rs")),
            "which of both is not known"
        );
    }
}
