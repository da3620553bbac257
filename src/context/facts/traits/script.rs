//! Finds the files that a short Python, JavaScript or Ruby script opens, and the texts that it replaces in them.
//!
//! It runs nothing. It follows string literals, variables that hold one, and loops over a list of them; it skips the rest.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::forms::TABLE;
use super::paths::is_path;
use super::target::{File, FileUse, MAX_FILES, part_of};

/// Most words read of one script.
const MAX_WORDS: usize = 20_000;

#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    Name(&'a str),
    Text(String),
    Mark(char),
}

/// The files that a script reads or writes, in order; paths are relative to `folder`.
pub(super) fn files(script: &str, folder: Option<&str>) -> Vec<File> {
    let words = words_of(script);
    let mut scope = Scope::default();
    for at in 0..words.len() {
        let rest = words.get(at..).unwrap_or_default();
        scope.assign(rest);
        scope.read(rest);
    }
    let part = if words.windows(2).any(is_subscript) { part_of(0, [script]) } else { 0 };
    // A script that also reads may write back more than its literals.
    let reads = words.iter().any(|word| matches!(word, Word::Name(name) if TABLE.scripts.reads.has(name)));
    let files = scope.files.into_iter().filter(|file| is_path(file.path));
    let of = |file: FileUse<'_>| FileUse { part, is_added: file.is_added || reads, ..file }.file(folder);
    files.filter_map(of).collect()
}

/// Returns `true` for the beginning of `text[:2000]` or `lines[at]`: the script may print only a part.
fn is_subscript(words: &[Word<'_>]) -> bool {
    match words {
        [Word::Name(name), Word::Mark('[')] => !["in", "of", "return"].contains(name),
        [Word::Mark(before), Word::Mark('[')] => matches!(before, ')' | ']'),
        _ => false,
    }
}

/// The tools that a script calls as `tools.name({ field: "text" })` or `tools.name("text")`, with their texts.
///
/// Codex runs such scripts in place of single calls. Fields without a literal text are left out.
pub(super) fn tool_calls(script: &str) -> Vec<(String, Map<String, Value>)> {
    let words = if script.contains("tools.") { words_of(script) } else { Vec::new() };
    let mut scope = Scope::default();
    let mut calls = Vec::new();
    for at in 0..words.len() {
        let rest = words.get(at..).unwrap_or_default();
        scope.assign(rest);
        let [Word::Name("tools"), Word::Mark('.'), Word::Name(tool), Word::Mark('('), given @ ..] = rest
        else {
            continue;
        };
        let text = |word| scope.texts(word).first().map(|text| Value::from(*text));
        let input = given.first().and_then(text).map(|text| ("input".to_owned(), text));
        let end = given.iter().position(|word| *word == Word::Mark('}')).unwrap_or(0);
        let fields = given.get(..end).filter(|words| words.first() == Some(&Word::Mark('{')));
        let fields = fields.unwrap_or_default().windows(3).filter_map(|words| match words {
            [Word::Name(key), Word::Mark(':'), value] => Some(((*key).to_owned(), text(value)?)),
            [Word::Text(key), Word::Mark(':'), value] => Some((key.clone(), text(value)?)),
            _ => None,
        });
        calls.push(((*tool).to_owned(), fields.chain(input).collect()));
        if calls.len() == MAX_FILES {
            break;
        }
    }
    calls
}

#[derive(Default)]
struct Scope<'a> {
    /// The texts of each variable. A loop variable has the texts of its list.
    texts: HashMap<&'a str, Vec<&'a str>>,
    files: Vec<FileUse<'a>>,
    /// The files that were opened last.
    current: Vec<usize>,
}

impl<'a> Scope<'a> {
    /// Stores the texts that `words` assign to a variable.
    fn assign(&mut self, words: &'a [Word<'a>]) {
        match words {
            [Word::Name(name), Word::Mark('='), Word::Text(text), ..]
            | [Word::Name(name), Word::Mark('='), Word::Name(_), Word::Mark('('), Word::Text(text), ..] => {
                self.texts.insert(name, vec![text]);
            }
            [Word::Name("for"), Word::Name(name), Word::Name("in"), Word::Mark('[' | '('), list @ ..] => {
                let list = list.iter().take_while(|word| !matches!(word, Word::Mark(']' | ')')));
                self.texts.insert(name, list.filter_map(Word::text).take(MAX_FILES).collect());
            }
            _ => {}
        }
    }

    /// Reads the call at the beginning of `words`.
    fn read(&mut self, words: &'a [Word<'a>]) {
        let scripts = &TABLE.scripts;
        let [Word::Name(function), Word::Mark('('), rest @ ..] = words else { return };
        let text = |word| self.texts(word).first().copied();
        if scripts.opens.has(function)
            && let Some(paths) = rest.first().map(|word| self.texts(word)).filter(|paths| !paths.is_empty())
        {
            let writes = scripts.writes.has(function);
            let text = rest.get(2).filter(|_| writes).and_then(text);
            let mode = match rest {
                [_, Word::Mark(','), Word::Text(mode), ..] if mode.len() <= 3 => &**mode,
                _ => "",
            };
            self.current = paths.into_iter().map(|path| self.open(path)).collect();
            let is_added = mode.starts_with('a') || scripts.adds.has(function);
            self.change(|file| {
                file.is_changed |= writes || mode.starts_with(['w', 'a', 'x']);
                file.is_added |= is_added;
                file.new.extend(text);
            });
        } else if scripts.writes.has(function) {
            let text = rest.first().and_then(text);
            self.change(|file| {
                file.is_changed = true;
                file.new.extend(text);
            });
        } else if scripts.replaces.has(function)
            && let [old, Word::Mark(','), new, ..] = rest
            && let (Some(old), Some(new)) = (text(old), text(new))
        {
            self.change(|file| {
                file.is_changed = true;
                file.old.push(old);
                file.new.push(new);
            });
        }
    }

    /// The text of a literal, or the texts of a variable.
    fn texts(&self, word: &'a Word<'a>) -> Vec<&'a str> {
        match word {
            Word::Name(name) => self.texts.get(name).cloned().unwrap_or_default(),
            word => word.text().into_iter().collect(),
        }
    }

    /// Index of the file at `path`; past the end if there are too many.
    fn open(&mut self, path: &'a str) -> usize {
        let at = self.files.iter().position(|file| file.path == path).unwrap_or(self.files.len());
        if at == self.files.len() && at < MAX_FILES {
            self.files.push(FileUse { path, ..FileUse::default() });
        }
        at
    }

    /// Changes the files that were opened last.
    fn change(&mut self, change: impl Fn(&mut FileUse<'a>)) {
        for &at in &self.current {
            self.files.get_mut(at).into_iter().for_each(&change);
        }
    }
}

impl Word<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Names, texts and marks of a script, in order.
fn words_of(script: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = script;
    while let Some(first) = rest.chars().next()
        && words.len() < MAX_WORDS
    {
        let len = if first.is_alphabetic() || first == '_' {
            let len = rest.find(|of: char| !of.is_alphanumeric() && of != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(len);
            // A prefix such as `r` or `f` before a text is no name.
            if !(name.len() <= 2 && after.starts_with(['"', '\''])) {
                words.push(Word::Name(name));
            }
            len
        } else if matches!(first, '"' | '\'' | '`') {
            let (text, len) = quoted(rest, first);
            words.push(Word::Text(text));
            len
        } else if first == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            if !first.is_whitespace() {
                words.push(Word::Mark(first));
            }
            first.len_utf8()
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    words
}

/// The quoted text at the beginning of `rest`, and its length in bytes with the quotes.
fn quoted(rest: &str, quote: char) -> (String, usize) {
    let three: String = std::iter::repeat_n(quote, 3).collect();
    let end = if rest.starts_with(&three) { &*three } else { &three[..1] };
    let inside = rest.get(end.len()..).unwrap_or_default();
    let mut text = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        if inside.get(at..).is_some_and(|left| left.starts_with(end)) {
            return (text, at + 2 * end.len());
        }
        match (character, end.len()) {
            ('\\', _) => match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, '\n')) | None => {}
                Some((_, quoted @ ('"' | '\'' | '`' | '\\'))) => text.push(quoted),
                Some((_, other)) => text.extend(['\\', other]),
            },
            // A quote that does not close on its line is an apostrophe.
            ('\n', 1) if quote != '`' => return (text, end.len() + at),
            _ => text.push(character),
        }
    }
    (text, rest.len())
}
