//! The files that a shell command reads or moves: those that `cat`, `sed -n`, `nl`, `head`, `tail`, `bat` and `rg -n` print.
//!
//! It is no shell: quotes are undone, pipes and `&&` separate commands, `cd` is followed; variables, substitutions and
//! globs name no file.

use super::paths::Path;
use super::target::{Change, File};

/// Commands looked at in one text, and files in all of them.
const MAX_COMMANDS: usize = 64;
const MAX_FILES: usize = 16;

/// The files that `command` prints or moves, in order; it begins in `folder`.
pub(super) fn files(command: &str, folder: Option<&str>) -> Vec<File> {
    let mut led_to = None;
    let mut files = Vec::new();
    for words in commands(command).into_iter().take(MAX_COMMANDS) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let folder = led_to.as_deref().or(folder);
        match words.as_slice() {
            ["cd", to, ..] => led_to = Some(joined(led_to.as_deref(), to)),
            ["mv", rest @ ..] | ["git", "mv", rest @ ..] => {
                files.extend(moved(rest).map(|(from, to)| file(from, Some(&to), folder)));
            }
            [program, rest @ ..] => {
                files.extend(printed(program, rest).into_iter().map(|path| file(path, None, folder)));
            }
            [] => {}
        }
    }
    files.truncate(MAX_FILES);
    files.into_iter().flatten().collect()
}

/// `None` if nothing is left of its path.
fn file(path: &str, moved_to: Option<&str>, folder: Option<&str>) -> Option<File> {
    let change = moved_to.map(|to| Change { moved_to: Path::of(to, folder), ..Change::default() });
    Some(File { path: Path::of(path, folder)?, change })
}

fn joined(folder: Option<&str>, to: &str) -> String {
    match folder {
        Some(folder) if !to.starts_with(['/', '~']) => format!("{folder}/{to}"),
        _ => to.to_owned(),
    }
}

/// The place that a file leaves, and the one it moves to.
fn moved<'a>(words: &[&'a str]) -> Option<(&'a str, String)> {
    let mut paths = words.iter().filter(|word| !word.starts_with('-'));
    let (from, to) = (*paths.next()?, *paths.next()?);
    let to_path = to.strip_suffix('/').map_or_else(
        || to.to_owned(),
        |into| format!("{into}/{}", from.rsplit('/').next().unwrap_or_default()),
    );
    (paths.next().is_none() && is_path(from) && is_path(to)).then_some((from, to_path))
}

/// The files that a program prints.
fn printed<'a>(program: &str, words: &[&'a str]) -> Vec<&'a str> {
    let program = program.rsplit('/').next().unwrap_or_default();
    // The words after the options that are no files, and the options that take a word.
    let (skipped, valued): (usize, &[&str]) = match program {
        "cat" | "bat" | "batcat" => (0, &["-r", "--line-range"]),
        "nl" => (0, &["-b", "-w", "-s", "-v"]),
        "head" | "tail" => (0, &["-n", "-c"]),
        "sed" if words.contains(&"-n") => (1, &["-e"]),
        "rg" | "grep" if words.iter().any(|word| is_numbered(word)) => {
            (1, &["-e", "-A", "-B", "-C", "-g", "-m", "-t", "--glob"])
        }
        _ => return Vec::new(),
    };
    let mut paths = Vec::new();
    let mut is_value = false;
    let mut left = skipped;
    for &word in words {
        if is_value {
            is_value = false;
            left = left.saturating_sub(usize::from(program == "sed"));
        } else if word.starts_with('-') && word.len() > 1 {
            is_value = valued.contains(&word);
        } else if left > 0 {
            left -= 1;
        } else if is_path(word) {
            paths.push(word);
        }
    }
    paths
}

fn is_numbered(word: &str) -> bool {
    word == "--line-number" || (word.starts_with('-') && !word.starts_with("--") && word.contains('n'))
}

/// Returns `true` if a word can be one file's path: no variable, no pattern, and a name or a folder with something in it.
fn is_path(word: &str) -> bool {
    !word.is_empty() && !word.contains(['$', '*', '?', '`', '(', '{']) && word != "." && word != "/dev/null"
}

/// The commands of a text, each as its words.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    let mut is_target = false;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(characters.next().filter(|next| *next != '\n'));
            }
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>') => {
                if let Some(word) = word.take()
                    && !std::mem::take(&mut is_target)
                    && !is_descriptor(&word, character)
                    && let Some(command) = commands.last_mut()
                {
                    command.push(word);
                }
                match character {
                    '>' | '<' => is_target = true,
                    '\n' | ';' | '|' | '&' if commands.len() <= MAX_COMMANDS => {
                        is_target = false;
                        commands.push(Vec::new());
                    }
                    _ => {}
                }
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let (Some(word), Some(command), false) = (word, commands.last_mut(), is_target) {
        command.push(word);
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// The `2` of `2>file`.
fn is_descriptor(word: &str, next: char) -> bool {
    next == '>' && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Vec<Path> {
        files(command, None).into_iter().map(|file| file.path).collect()
    }

    fn path(path: &str) -> Path {
        Path::of(path, None).expect("is a path")
    }

    #[test]
    fn commands_that_print_a_file_are_reads_of_it() {
        for (command, named) in [
            ("cat src/a.rs", "src/a.rs"),
            ("cd app && cat 'my file.ts'", "app/my file.ts"),
            ("sed -n '10,40p' src/a.rs", "src/a.rs"),
            ("sed -n -e 10p src/a.rs", "src/a.rs"),
            ("nl -ba src/a.rs | sed -n '1,20p'", "src/a.rs"),
            ("head -n 50 a.rs 2>/dev/null", "a.rs"),
            ("tail -20 a.rs", "a.rs"),
            ("rg -n \"fn main\" src/a.rs", "src/a.rs"),
            ("/bin/cat ./a.rs > copy.rs", "./a.rs"),
        ] {
            assert_eq!(read(command), [path(named)], "{command}");
        }
        assert_eq!(read("cat a.rs b.rs; head c.rs").len(), 3);
    }

    #[test]
    fn other_commands_read_nothing() {
        for command in [
            "cargo test",
            "cat $FILE",
            "cat *.rs",
            "rg main src",
            "sed -i s/a/b/ a.rs",
            "echo cat a",
            "",
            "'",
        ] {
            assert!(read(command).is_empty(), "{command}");
        }
        assert!(read(&"cat a;".repeat(1000)).len() <= MAX_FILES);
    }

    #[test]
    fn a_move_names_both_places() {
        for command in ["mv a.rs b.rs", "git mv a.rs b.rs", "mv -f a.rs b.rs"] {
            assert_eq!(files(command, None).pop(), file("a.rs", Some("b.rs"), None), "{command}");
        }
        assert_eq!(files("mv a.rs lib/", None).pop(), file("a.rs", Some("lib/a.rs"), None));
        assert_eq!(files("git add a.rs", None), []);
    }
}
