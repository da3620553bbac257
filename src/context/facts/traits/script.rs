//! The files that a short Python, JavaScript or Ruby script opens, and the texts that it replaces in them.
//!
//! It runs nothing. It follows quoted texts and names that hold one, and skips all else.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::forms::TABLE;
use super::paths::is_path;
use super::target::{File, FileUse, MAX_FILES};

/// Words read of one script.
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
    let files = scope.files.iter().filter(|file| is_path(file.path));
    files.filter_map(|file| file.file(folder)).collect()
}

/// The tools that a script calls as `tools.name({ field: "text" })` or `tools.name("text")`, with their texts.
///
/// Codex runs such scripts in place of single calls. Fields that are no text in the script are left out.
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
        let text = |word| scope.text(word).map(Value::from);
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
    /// The texts that names hold.
    texts: HashMap<&'a str, &'a str>,
    files: Vec<FileUse<'a>>,
    current: usize,
}

impl<'a> Scope<'a> {
    /// Keeps the text that a name gets at the beginning of `words`.
    fn assign(&mut self, words: &'a [Word<'a>]) {
        if let [Word::Name(name), Word::Mark('='), Word::Text(text), ..]
        | [Word::Name(name), Word::Mark('='), Word::Name(_), Word::Mark('('), Word::Text(text), ..] = words
        {
            self.texts.insert(name, text);
        }
    }

    /// Reads the call at the beginning of `words`.
    fn read(&mut self, words: &'a [Word<'a>]) {
        let scripts = &TABLE.scripts;
        let [Word::Name(function), Word::Mark('('), rest @ ..] = words else { return };
        if scripts.opens.has(function)
            && let Some(path) = rest.first().and_then(|word| self.text(word))
        {
            self.open(path);
            let mode = match rest {
                [_, Word::Mark(','), Word::Text(mode), ..] if mode.len() <= 3 => &**mode,
                _ => "",
            };
            let writes = scripts.writes.has(function);
            let text = rest.get(2).filter(|_| writes).and_then(|word| self.text(word));
            self.write(writes || mode.starts_with(['w', 'a', 'x']), text);
            let is_added = mode.starts_with('a') || scripts.adds.has(function);
            self.files.get_mut(self.current).into_iter().for_each(|file| file.is_added |= is_added);
        } else if scripts.writes.has(function) {
            self.write(true, rest.first().and_then(|word| self.text(word)));
        } else if scripts.replaces.has(function)
            && let [old, Word::Mark(','), new, ..] = rest
            && let (Some(old), Some(new)) = (self.text(old), self.text(new))
            && let Some(file) = self.files.get_mut(self.current)
        {
            file.is_changed = true;
            file.old.push(old);
            file.new.push(new);
        }
    }

    /// A text, or the text that a name holds.
    fn text(&self, word: &'a Word<'a>) -> Option<&'a str> {
        match word {
            Word::Text(text) => Some(text),
            Word::Name(name) => self.texts.get(name).copied(),
            Word::Mark(_) => None,
        }
    }

    fn open(&mut self, path: &'a str) {
        let known = self.files.iter().position(|file| file.path == path);
        self.current = known.unwrap_or(self.files.len());
        if known.is_none() && self.files.len() < MAX_FILES {
            self.files.push(FileUse { path, ..FileUse::default() });
        }
    }

    fn write(&mut self, is_changed: bool, text: Option<&'a str>) {
        if let Some(file) = self.files.get_mut(self.current) {
            file.is_changed |= is_changed;
            file.new.extend(text);
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
            // The `r` and `f` before a text are no name.
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

/// The text in quotes that `rest` begins with, and the bytes that it takes.
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
            // A line break ends what was no text but an apostrophe.
            ('\n', 1) if quote != '`' => return (text, end.len() + at),
            _ => text.push(character),
        }
    }
    (text, rest.len())
}
