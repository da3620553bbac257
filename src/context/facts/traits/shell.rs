//! The files that a shell command reads or writes, by the table's programs.
//!
//! It runs nothing. It undoes quotes, splits commands at pipes and `&&`, follows `cd`, and gives a here-document to its
//! command. Substitutions and globs name no file. One reader serves bash, zsh, PowerShell and cmd, so a backslash
//! before a plain character is part of a path.

use serde_json::Value;

use super::forms::{Kind, Names, Program, TABLE};
use super::paths::{is_path, joined, looks_like_file};
use super::script;
use super::target::File;
use super::words::{Command, commands};

/// Commands looked at in one call, words of one, files in all of them, and scripts inside scripts.
const MAX_COMMANDS: usize = 64;
const MAX_WORDS: usize = 4096;
const MAX_FILES: usize = 64;
const MAX_DEPTH: usize = 4;

/// The files that a command names, in order, and the program that named the first of them. The command is a script, or a
/// program and its arguments, and starts in `folder`.
pub(super) fn files(command: &Value, folder: Option<&str>) -> (Vec<File>, Option<&'static str>) {
    let mut reader = Reader { folder: folder.map(str::to_owned), left: MAX_COMMANDS, ..Reader::default() };
    match command {
        Value::String(script) => reader.text(script, 0),
        words => {
            let words = words_of(words).into_iter().map(str::to_owned).collect();
            reader.command(Command { words, ..Command::default() }, 0);
        }
    }
    reader.files.truncate(MAX_FILES);
    (reader.files, reader.program)
}

/// The texts of a list.
pub(super) fn words_of(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().take(MAX_WORDS).filter_map(Value::as_str).collect()
}

#[derive(Default)]
struct Reader {
    folder: Option<String>,
    files: Vec<File>,
    /// The program that named the first file.
    program: Option<&'static str>,
    /// Number of files before the pipeline: a pipe may pass on a part of those behind.
    before_pipe: usize,
    /// Text that the last command passes on.
    text: Option<String>,
    left: usize,
}

impl Reader {
    fn text(&mut self, text: &str, depth: usize) {
        for command in commands(text, self.left) {
            if self.left == 0 || self.files.len() >= MAX_FILES {
                return;
            }
            self.left -= 1;
            self.command(command, depth);
        }
    }

    fn command(&mut self, command: Command, depth: usize) {
        if !command.is_piped {
            (self.before_pipe, self.text) = (self.files.len(), None);
        }
        let text = command.body.or_else(|| self.text.take());
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let (name, words) = program_in(&words);
        let program = TABLE.program(&name);
        match program.map(|program| program.files) {
            Some(Kind::Folder) => {
                if let Some(to) = words.iter().find(|word| !is_option(word) && **word != "/d") {
                    self.folder = Some(joined(self.folder.as_deref(), to));
                }
            }
            Some(Kind::Shell) if depth < MAX_DEPTH => {
                let mut words =
                    words.iter().skip_while(|word| !program.is_some_and(|of| of.takes_text(word)));
                if words.next().is_some() {
                    self.text(&words.copied().collect::<Vec<_>>().join(" "), depth + 1);
                }
            }
            _ => {
                let read = program.map(|program| Operation::of(program, words)).unwrap_or_default();
                self.run(program, &read, command.target.as_deref(), text.as_deref());
                self.text = text;
            }
        }
    }

    /// Adds the files of a command that gets `text` and whose output goes to `target`.
    fn run(
        &mut self,
        program: Option<&'static Program>,
        read: &Operation<'_>,
        target: Option<&str>,
        text: Option<&str>,
    ) {
        let folder = self.folder.as_deref();
        let kind = program.map(|program| program.files);
        let named = read.files.iter().filter_map(|path| File::of(path, folder));
        let files: Vec<File> = match kind {
            Some(Kind::Script) => script::files(text.or(read.text).unwrap_or_default(), folder),
            Some(Kind::Write) => named.map(|file| file.written(read.text.or(text))).collect(),
            Some(_) if read.files.iter().any(|path| is_path(path)) => named
                .map(|mut file| {
                    file.narrow(&read.asked);
                    file.is_searched = kind == Some(Kind::Search);
                    file
                })
                .collect(),
            // `cat > a.rs <<EOF` writes; `cat a.rs > b.rs` reads.
            _ => {
                let target = target.filter(|_| text.is_some()).and_then(|path| File::of(path, folder));
                target.map(|file| file.written(text)).into_iter().collect()
            }
        };
        if files.is_empty() {
            // A filter behind a pipe passes on a part of what was read.
            for file in self.files.iter_mut().skip(self.before_pipe) {
                file.narrow(&read.asked);
                file.is_searched |= kind == Some(Kind::Search);
            }
        } else {
            self.program.get_or_insert(program.map_or("cat", Program::name));
            self.files.extend(files);
        }
    }
}

/// The words of a program, by what they mean to it.
#[derive(Default)]
struct Operation<'a> {
    files: Vec<&'a str>,
    /// The text to write, or the script to run.
    text: Option<&'a str>,
    /// Words that say which part of the files it prints: a pattern, a script, numbers of lines.
    asked: Vec<&'a str>,
}

impl<'a> Operation<'a> {
    fn of(program: &Program, program_words: &[&'a str]) -> Self {
        let mut of = Self::default();
        let (mut skip, mut is_behind) = (program.skip, false);
        let mut words = program_words.iter().copied();
        while let Some(word) = words.next() {
            let option = word.to_lowercase();
            let is_in = |options: &Names| options.has(word) || options.has(&option);
            if program.silent.iter().any(|option| word.starts_with(option)) {
                return Self::default();
            } else if word == "--" {
                is_behind = true;
            } else if is_in(&program.paths) {
                of.files.extend(words.next().into_iter().flat_map(|list| list.split(',')));
            } else if is_in(&program.instead) {
                skip = skip.saturating_sub(1);
                of.asked.extend(words.next());
            } else if is_in(&program.texts) {
                of.text = words.next();
            } else if is_in(&program.values) {
                of.asked.extend(words.next());
            } else if is_option(word) && !is_behind {
                of.asked.extend(Some(word).filter(|word| word.ends_with(|end: char| end.is_ascii_digit())));
            } else if skip > 0 {
                skip -= 1;
                of.asked.push(word);
            } else if program.files == Kind::Versions {
                let path = word.split_once(':').map_or(word, |(_, path)| path);
                of.files
                    .extend(Some(path).filter(|path| is_behind || path != &word || looks_like_file(path)));
            } else {
                of.files.push(word);
            }
        }
        // A search in a folder shows lines that an edit could quote if it numbers them.
        let numbers = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains('n');
        if program.files == Kind::Search && !program_words.iter().any(numbers) {
            of.files.retain(|word| looks_like_file(word));
        }
        of
    }
}

/// The program and its words, behind `sudo`, `timeout 10`, `A=b`, `$x =` and their like: `Cat.exe` as `cat`, `git show` as
/// `git-show`.
fn program_in<'a, 'b>(mut words: &'b [&'a str]) -> (String, &'b [&'a str]) {
    while let Some((&first, rest)) = words.split_first() {
        let name = name_of(first);
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
        if is_assignment {
            words = rest;
        } else if first.starts_with('$') && rest.first() == Some(&"=") {
            words = rest.get(1..).unwrap_or_default();
        } else if let Some(prefix) = TABLE.program(&name).filter(|of| of.files == Kind::Command) {
            let mut at = 0;
            while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
                at += 1 + usize::from(prefix.values.has(word));
            }
            words = rest.get(at + prefix.skip..).unwrap_or_default();
        } else if let ("git", Some(at)) = (&*name, rest.iter().position(|word| !is_option(word))) {
            let sub = rest.get(at).copied().unwrap_or_default();
            return (format!("git-{sub}"), rest.get(at + 1..).unwrap_or_default());
        } else {
            return (name, rest);
        }
    }
    (String::new(), words)
}

/// `/usr/bin/Cat.exe` as `cat`.
fn name_of(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    name.strip_suffix(".exe").map_or_else(|| name.clone(), str::to_owned)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|of| of.is_ascii_alphanumeric() || of == '_')
}
