//! The files that a shell command reads, writes or moves, by the table's programs.
//!
//! It runs nothing. It undoes quotes, splits commands at pipes and `&&`, follows `cd`, and gives a here-document to its
//! command. A variable has the value that the script set; other variables, substitutions and globs name no file. One reader
//! serves bash, zsh, PowerShell and cmd, so a backslash before a plain character is part of a path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::slice;

use serde_json::Value;

use super::forms::{Operands, Program, TABLE};
use super::operation::{Operation, is_option};
use super::paths::{is_path, joined, looks_like_file};
use super::target::{File, FileUse, MAX_FILES, part_of};
use super::words::{Command, UNKNOWN, commands};
use super::{patch, script};

/// Most commands read of one call, most words of a command, and deepest nesting of scripts.
const MAX_COMMANDS: usize = 64;
const MAX_WORDS: usize = 4096;
const MAX_DEPTH: usize = 4;

/// Longest word in which a variable is expanded, and longest value kept, in bytes.
const MAX_VALUE: usize = 1024;

/// Marks a variable in a word.
const VARIABLE: &str = "\0$";

/// The files that a command names, in order, and the program that named the first of them. The command is a script, or a
/// program and its arguments, and starts in `folder`.
pub(super) fn files(command: &Value, folder: Option<&str>) -> (Vec<File>, Option<&'static str>) {
    let mut reader = Reader { folder: folder.map(str::to_owned), quota: MAX_COMMANDS, ..Reader::default() };
    match command {
        Value::String(script) => reader.text(script, 0),
        // A list of scripts, or the words of one command.
        words => match &words_of(words)[..] {
            scripts @ [first, ..] if first.contains(' ') => reader.text(&scripts.join("\n"), 0),
            words => {
                let words = words.iter().map(|&word| word.to_owned()).collect();
                reader.command(&Command { words, ..Command::default() }, 0);
            }
        },
    }
    reader.files.truncate(MAX_FILES);
    (reader.files, reader.program)
}

/// The strings in a JSON list.
pub(super) fn words_of(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().take(MAX_WORDS).filter_map(Value::as_str).collect()
}

#[derive(Default)]
struct Reader {
    folder: Option<String>,
    files: Vec<File>,
    /// The program that named the first file.
    program: Option<&'static str>,
    /// Number of files that the last command printed; a pipe may pass on a part of them.
    piped: usize,
    /// Text that the last command prints.
    text: Option<String>,
    /// The values of variables that the script set.
    values: HashMap<String, Vec<String>>,
    quota: usize,
}

impl Reader {
    fn text(&mut self, text: &str, depth: usize) {
        for command in commands(text, self.quota) {
            if self.quota == 0 || self.files.len() >= MAX_FILES {
                return;
            }
            self.quota -= 1;
            self.command(&command, depth);
        }
    }

    fn command(&mut self, command: &Command, depth: usize) {
        if !command.is_piped {
            (self.piped, self.text) = (0, None);
        }
        let words = self.with_values(&command.words);
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        if self.assign(&words) {
            return;
        }
        let words = without_prefixes(&words);
        let Some((&first, rest)) = words.split_first() else { return self.write_text(command, None) };
        let (before, outside) = (self.files.len(), self.folder.clone());
        let (name, rest) = with_subcommand(name_of(first), rest, &mut self.folder);
        match TABLE.program(&name) {
            Some(folder) if folder.files == Operands::Folder => {
                if let Some(to) = rest.iter().find(|word| !is_option(word) && **word != "/d") {
                    self.folder = Some(joined(self.folder.as_deref(), to));
                }
                return;
            }
            Some(shell) if shell.files == Operands::Shell && depth < MAX_DEPTH => {
                let flag = rest.iter().position(|word| shell.texts.has(&word.to_lowercase()));
                let script = flag.map(|at| rest.get(at + 1..).unwrap_or_default());
                // `-Command -` reads the script from the pipe.
                let script = script.filter(|words| !matches!(words, [] | ["-"]));
                let piped = command.body.clone().or_else(|| self.text.take());
                return match (script, piped) {
                    // A POSIX shell takes one word; what follows are arguments of the script. The others join them.
                    (Some([script, ..]), _) if shell.texts.has("-lc") => self.text(script, depth + 1),
                    (Some(words), _) => self.text(&words.join(" "), depth + 1),
                    (None, Some(text)) => self.text(&text, depth + 1),
                    (None, None) => {}
                };
            }
            Some(remote) if remote.files == Operands::Remote && depth < MAX_DEPTH => {
                if let Some((host, rest)) = remote_command(remote, rest) {
                    self.folder = None;
                    self.remote(rest, command, depth + 1);
                    for file in self.files.iter_mut().skip(before) {
                        file.path = file.path.on(host);
                    }
                }
            }
            Some(echo) if echo.files == Operands::Echo => {
                self.write_text(command, Some(rest.join(" ").replace("\\n", "\n")));
            }
            Some(program) => self.run(program, &name, rest, command),
            None => {
                self.filter(words, false);
                // PowerShell passes on a text in quotes.
                let text = Some(first).filter(|first| rest.is_empty() && first.contains(' '));
                self.write_text(command, text.map(str::to_owned));
            }
        }
        self.folder = outside;
        self.piped = self.piped.max(self.files.len().saturating_sub(before));
    }

    /// Reads the words or the script that a command gives to a host.
    fn remote(&mut self, words: &[&str], command: &Command, depth: usize) {
        match (words, &command.body) {
            ([script], None) => self.text(script, depth),
            ([], Some(script)) => self.text(script, depth),
            _ => {
                let words = words.iter().map(|&word| word.to_owned()).collect();
                self.command(&Command { words, ..command.clone() }, depth);
            }
        }
    }

    /// Stores the values that `x=a`, `$x = a` or `for x in a b` sets. Returns false for other commands.
    fn assign(&mut self, words: &[&str]) -> bool {
        let (name, values) = match words {
            ["for" | "foreach", name, "in", values @ ..] => (*name, values.to_vec()),
            // The quotes are gone, so a text that is no file name may be a command.
            [name, "=", value] if looks_like_file(value) => (*name, vec![*value]),
            [word] => match word.split_once('=') {
                Some((name, value)) => (name, vec![value]),
                None => return false,
            },
            _ => return false,
        };
        let name = name.strip_prefix(VARIABLE).unwrap_or(name);
        if is_name(name) {
            let short = values.into_iter().filter(|value| value.len() <= MAX_VALUE);
            self.values.insert(name.to_owned(), short.map(str::to_owned).collect());
        }
        is_name(name)
    }

    /// Expands variables. A variable with several values turns its word into several.
    fn with_values<'a>(&self, words: &'a [String]) -> Vec<Cow<'a, str>> {
        let values = |word: &String| {
            let (before, rest) = word.split_once(VARIABLE).filter(|_| word.len() <= MAX_VALUE)?;
            let inside = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let end = rest.find(|of: char| !is_of_name(of)).unwrap_or(rest.len());
            let (name, after) = inside.or_else(|| rest.split_at_checked(end))?;
            let values = self.values.get(name)?.iter();
            Some(values.map(|value| format!("{before}{value}{after}").into()).collect())
        };
        let each = words.iter().flat_map(|word| values(word).unwrap_or_else(|| vec![Cow::Borrowed(&**word)]));
        each.take(MAX_WORDS).collect()
    }

    fn run(&mut self, program: &'static Program, name: &str, words: &[&str], command: &Command) {
        let read = Operation::of(program, words);
        let (folder, part) = (self.folder.as_deref(), part_of(0, &read.selectors));
        let is_searched = matches!(program.files, Operands::Search | Operands::Named)
            || (program.files == Operands::Revision && words.contains(&"--"));
        let reads = |path: &&str| FileUse { path, part, is_searched, ..FileUse::default() }.file(folder);
        let files: Vec<File> = match program.files {
            // `cat > a.rs <<EOF` writes; `cat a.rs > b.rs` reads.
            Operands::Words | Operands::Search if read.files.is_empty() && command.target.is_some() => {
                return self.write_text(command, None);
            }
            Operands::Words | Operands::Search | Operands::Revision | Operands::Named
                if let Some(target) = &command.target =>
            {
                written(target, folder, &[], command.is_added).into_iter().collect()
            }
            Operands::Words | Operands::Search if read.is_printed => {
                read.files.iter().filter_map(reads).collect()
            }
            Operands::Revision | Operands::Named => read.named.iter().filter_map(reads).collect(),
            Operands::Move => match read.files[..] {
                [from, _] => written(from, folder, &[], false).into_iter().collect(),
                _ => Vec::new(),
            },
            Operands::Write => {
                // `Set-Content a.rs text` names one file; `tee a.rs b.rs` names two.
                let (paths, text) = match read.files[..] {
                    [ref path, text] if program.hides => (slice::from_ref(path), Some(text)),
                    _ => (&read.files[..], read.text),
                };
                let given = text.or(command.body.as_deref());
                let texts = given.or(self.text.as_deref()).into_iter().collect::<Vec<_>>();
                let is_added =
                    program.adds.has(name) || words.iter().any(|word| program.adds.has(&word.to_lowercase()));
                paths.iter().filter_map(|path| written(path, folder, &texts, is_added)).collect()
            }
            Operands::Patch => {
                let texts =
                    command.body.iter().chain(&self.text).map(String::as_str).chain(words.iter().copied());
                // Codex reads a patch literally, even where a shell would expand variables.
                texts.flat_map(|text| patch::changed(&text.replace(UNKNOWN, ""), folder)).collect()
            }
            Operands::Script => {
                let inline = words.iter().position(|word| program.texts.has(word));
                let inline = inline.and_then(|at| words.get(at + 1)).copied();
                let script = command.body.as_deref().or(inline).or(self.text.as_deref());
                script::files(script.unwrap_or_default(), folder)
            }
            _ => Vec::new(),
        };
        match program.files {
            Operands::Words | Operands::Search | Operands::None if files.is_empty() => {
                self.filter(&read.selectors, is_searched);
            }
            Operands::Script => self.filter(words, false),
            _ if program.hides => {
                self.files.truncate(self.first_piped());
                self.piped = 0;
            }
            _ => {}
        }
        if let (Operands::Words, Some(body), true) = (program.files, &command.body, read.files.is_empty()) {
            self.text = Some(body.clone());
        }
        self.extend(program.programs.first().map_or("", String::as_str), files);
    }

    /// Narrows the piped files to the part that a filter selects.
    fn filter(&mut self, selectors: &[&str], is_searched: bool) {
        let first = self.first_piped();
        for file in self.files.iter_mut().skip(first) {
            file.part = part_of(file.part, selectors);
            file.is_searched |= is_searched;
        }
    }

    /// Index of the first file printed into the pipe; the number of files if there is none.
    fn first_piped(&self) -> usize {
        self.files.len().saturating_sub(self.piped)
    }

    /// Reads a command that writes its here-document, or `own`, to a file.
    fn write_text(&mut self, command: &Command, own: Option<String>) {
        let body = command.body.clone().or(own);
        if let (Some(path), Some(body)) = (&command.target, &body) {
            self.extend("cat", written(path, self.folder.as_deref(), &[body], command.is_added));
        }
        self.text = body;
    }

    fn extend(&mut self, program: &'static str, files: impl IntoIterator<Item = File>) {
        let before = self.files.len();
        self.files.extend(files);
        if self.files.len() > before {
            self.program.get_or_insert(program);
        }
    }
}

/// Strips `sudo`, `timeout 10`, `A=b`, `$x =` and the like from a command.
fn without_prefixes<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    loop {
        let Some((&first, rest)) = words.split_first() else { return words };
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
        if is_assignment {
            words = rest;
        } else if first.starts_with(UNKNOWN) && rest.first() == Some(&"=") {
            words = rest.get(1..).unwrap_or_default();
        } else {
            let program = TABLE.program(&name_of(first));
            let Some(prefix) = program.filter(|of| of.files == Operands::Command) else { return words };
            words = without_options(prefix, rest).get(prefix.skip..).unwrap_or_default();
        }
    }
}

/// Strips options and their values.
fn without_options<'a, 'b>(program: &Program, words: &'b [&'a str]) -> &'b [&'a str] {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(program.values.has(word));
    }
    words.get(at..).unwrap_or_default()
}

/// Splits `ssh -p 22 box cat a.rs` or `docker exec -it box cat a.rs` into the host and the command.
fn remote_command<'a, 'b>(program: &Program, words: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    let start = match &*program.behind {
        [] => 0,
        _ => words.iter().position(|word| program.behind.has(word))? + 1,
    };
    let (host, rest) = without_options(program, words.get(start..)?).split_first()?;
    Some((host, without_options(program, rest)))
}

/// Turns `git -C app show` into `git-show` in `app`. Leaves other programs unchanged.
fn with_subcommand<'a, 'b>(
    name: String,
    words: &'b [&'a str],
    folder: &mut Option<String>,
) -> (String, &'b [&'a str]) {
    if name != "git" {
        return (name, words);
    }
    let mut at = 0;
    while let Some(&word) = words.get(at).filter(|word| word.starts_with('-')) {
        if word == "-C" {
            *folder = words.get(at + 1).map(|to| joined(folder.as_deref(), to));
        }
        at += 1 + usize::from(["-C", "-c", "--git-dir", "--work-tree"].contains(&word));
    }
    let sub = words.get(at).copied().unwrap_or_default();
    (format!("git-{sub}"), words.get(at + 1..).unwrap_or_default())
}

/// Turns `/usr/bin/Cat.exe` into `cat`.
fn name_of(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    name.strip_suffix(".exe").map_or_else(|| name.clone(), str::to_owned)
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(is_of_name)
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn written(path: &str, folder: Option<&str>, texts: &[&str], is_added: bool) -> Option<File> {
    let file = FileUse { path, is_changed: true, is_added, new: texts.to_vec(), ..FileUse::default() };
    file.file(folder).filter(|_| is_path(path))
}
