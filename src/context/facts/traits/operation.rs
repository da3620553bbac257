//! The words of a program by their meaning: files, options with their words, and what selects a part of the files.

use super::forms::{Names, Operands, Program};
use super::paths::{is_path, looks_like_file};
use super::target::MAX_FILES;
use super::words::UNKNOWN;

/// The words of a program, by their meaning.
#[derive(Default)]
pub(super) struct Operation<'a> {
    pub(super) files: Vec<&'a str>,
    /// Files of a `git` command, recognised by a revision, `--` or an extension.
    pub(super) named: Vec<&'a str>,
    pub(super) text: Option<&'a str>,
    /// Words that select the part of the files it prints: a pattern, a script, line numbers.
    pub(super) selectors: Vec<&'a str>,
    /// True if it prints lines unchanged.
    pub(super) is_printed: bool,
}

impl<'a> Operation<'a> {
    /// Reads the words behind the name of `program`.
    pub(super) fn of(program: &'a Program, words: &[&'a str]) -> Self {
        let mut of = Self::default();
        let (mut skip, mut is_behind, mut prints) = (program.skip, false, program.prints_with.is_none());
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let option = word.to_lowercase();
            let is_in = |options: &Names| options.has(word) || (word.len() > 2 && options.has(&option));
            prints |= program.prints_with.as_deref().is_some_and(|needed| is_needed(word, needed));
            if word == "--" {
                is_behind = true;
            } else if is_in(&program.paths) {
                of.files.extend(words.next().into_iter().flat_map(|list| list.split(',')));
            } else if is_in(&program.instead) {
                skip = skip.saturating_sub(1);
                of.selectors.extend(words.next());
            } else if is_in(&program.texts) {
                of.text = words.next();
            } else if is_in(&program.values) {
                of.selectors.extend(words.next().filter(|word| word.starts_with(is_of_number)));
            } else if is_method(word) && !of.files.is_empty() {
                of.selectors.push(word);
                of.selectors.extend(words.by_ref());
            } else if is_option(word) && !is_behind {
                of.selectors.extend(Some(word).filter(|word| word.ends_with(is_of_number)));
            } else {
                let of_revision = word.split_once(':').map(|(_, path)| path).filter(|path| is_path(path));
                match program.files {
                    _ if is_behind => of.named.push(word),
                    Operands::Revision => of.named.extend(of_revision),
                    Operands::Named if looks_like_file(word) => of.named.push(word),
                    _ => {}
                }
                let is_line = !of.files.is_empty() && word.chars().all(is_of_number);
                if skip > 0 || is_slice(word) || is_line {
                    skip = skip.saturating_sub(1);
                    of.selectors.push(word);
                } else {
                    // PowerShell's lists.
                    let most = if program.paths.is_empty() { 1 } else { MAX_FILES };
                    of.files.extend(word.splitn(most, ',').filter(|_| is_path(word)));
                }
            }
        }
        of.files.retain(|word| is_path(word));
        if of.selectors.is_empty() {
            of.selectors.extend(program.part.as_deref());
        }
        // A search in files, not folders, prints their lines unchanged.
        let is_in_files =
            program.files == Operands::Search && of.files.iter().all(|file| looks_like_file(file));
        of.is_printed = prints || is_in_files;
        of
    }
}

/// Returns `true` for PowerShell's `[9..39]` after `(Get-Content a.rs)`. `[id].tsx` is a file.
fn is_slice(word: &str) -> bool {
    let inside = word.strip_prefix('[');
    inside.is_some_and(|inside| {
        inside.is_empty() || inside.starts_with(['-', UNKNOWN]) || inside.starts_with(is_of_number)
    })
}

/// Returns `true` for PowerShell's `.Substring` after `(Get-Content a.rs)`. What follows are its arguments.
fn is_method(word: &str) -> bool {
    word.strip_prefix('.').is_some_and(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn is_of_number(character: char) -> bool {
    character == '+' || character.is_ascii_digit()
}

pub(super) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// Returns `true` if `word` is the option, or a bundle such as `-rn` that contains it.
fn is_needed(word: &str, option: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-') && option.len() == 1);
    word.eq_ignore_ascii_case(option)
        || letters.is_some_and(|letters| letters.contains(option))
        || (option == "n" && ["--line-number", "--quiet", "--silent"].contains(&word))
}
