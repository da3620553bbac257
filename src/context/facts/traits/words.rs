//! Splits a shell script into simple commands: words without their quotes, the file that output goes to, and the text of a
//! here-document.

use std::str::Chars;

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// The file that its output goes to.
    pub(super) target: Option<String>,
    /// Text of its here-document or here-string.
    pub(super) body: Option<String>,
    /// True if it reads what the command before it writes.
    pub(super) is_piped: bool,
}

impl Command {
    fn is_empty(&self) -> bool {
        *self == Self { is_piped: self.is_piped, ..Self::default() }
    }
}

/// The use of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Word,
    Output,
    /// A file descriptor or the place of errors: of no interest.
    Aside,
    /// The end of a here-document; true if tabs before it are left out.
    Delimiter(bool),
    HereString,
}

/// The first `most` commands of a script.
pub(super) fn commands(script: &str, most: usize) -> Vec<Command> {
    let mut splitter = Splitter {
        rest: script.chars(),
        done: Vec::new(),
        command: Command::default(),
        word: None,
        next: Use::Word,
        delimiters: Vec::new(),
    };
    while splitter.done.len() < most && splitter.step() {}
    splitter.end_command(false);
    splitter.done.truncate(most);
    splitter.done
}

struct Splitter<'a> {
    rest: Chars<'a>,
    done: Vec<Command>,
    command: Command,
    word: Option<String>,
    next: Use,
    /// Ends of here-documents that open after this line, each with the number of its command.
    delimiters: Vec<(usize, String, bool)>,
}

impl<'a> Splitter<'a> {
    /// Reads on; false at the end.
    fn step(&mut self) -> bool {
        let Some(character) = self.rest.next() else { return false };
        match character {
            '\\' => self.escape(),
            '\'' => self.quoted('\''),
            '"' => self.quoted('"'),
            '`' if self.skip('\n') => {}
            '`' => self.quoted('`'),
            '@' if self.word.is_none() && self.rest.as_str().starts_with(['\'', '"']) => self.here_text(),
            '$' if self.rest.as_str().starts_with('(') => self.substitution(),
            '#' if self.word.is_none() => {
                self.rest = self.rest.as_str().trim_start_matches(|of| of != '\n').chars();
            }
            ' ' | '\t' | '\r' | '(' | ')' => self.end_word(),
            '\n' => {
                self.end_command(false);
                self.here_documents();
            }
            ';' => self.end_command(false),
            '|' | '&' => {
                let is_twin = self.skip(character);
                self.end_command(character == '|' && !is_twin);
            }
            '>' => self.output(),
            '<' => self.input(),
            other => self.word.get_or_insert_default().push(other),
        }
        true
    }

    /// A backslash before a plain character is part of a Windows path.
    fn escape(&mut self) {
        let next = self.rest.clone().next();
        let word = self.word.get_or_insert_default();
        match next {
            Some(plain) if plain.is_alphanumeric() || matches!(plain, '.' | '_' | '-') => word.push('\\'),
            None => word.push('\\'),
            Some(escaped) => {
                self.rest.next();
                word.extend((escaped != '\n').then_some(escaped));
            }
        }
    }

    fn quoted(&mut self, quote: char) {
        let word = self.word.get_or_insert_default();
        if quote == '`' {
            word.push('`');
        }
        while let Some(character) = self.rest.next().filter(|character| *character != quote) {
            let escaped = self.rest.clone().next().filter(|_| quote == '"' && character == '\\');
            match escaped {
                Some('"' | '\\' | '$' | '`') => word.extend(self.rest.next()),
                Some('\n') => drop(self.rest.next()),
                _ => word.push(character),
            }
        }
    }

    /// PowerShell's `@'`, whose text ends before `'@` at the beginning of a line.
    fn here_text(&mut self) {
        let end: String = self.rest.next().into_iter().chain(['@']).collect();
        self.line();
        let mut text = String::new();
        while !self.rest.as_str().is_empty() && !self.rest.as_str().starts_with(&end) {
            text.push_str(self.line());
            text.push('\n');
        }
        self.rest = self.rest.as_str().strip_prefix(&*end).unwrap_or_default().chars();
        self.command.body = Some(text);
    }

    /// `$(…)` stays a part of its word.
    fn substitution(&mut self) {
        let word = self.word.get_or_insert_default();
        word.push('$');
        let mut depth = 0;
        for character in self.rest.by_ref() {
            word.push(character);
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn output(&mut self) {
        let descriptor = self.word.take_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        self.end_word();
        self.skip('>');
        self.skip('|');
        let is_aside = descriptor.is_some_and(|of| of != "1") || self.skip('&');
        self.next = if is_aside { Use::Aside } else { Use::Output };
    }

    fn input(&mut self) {
        self.end_word();
        if !self.skip('<') {
            return;
        }
        let is_string = self.skip('<');
        let has_tabs = !is_string && self.skip('-');
        self.next = if is_string { Use::HereString } else { Use::Delimiter(has_tabs) };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::replace(&mut self.next, Use::Word) {
            Use::Word => self.command.words.push(word),
            Use::Output => self.command.target = Some(word),
            Use::Aside => {}
            Use::Delimiter(has_tabs) => self.delimiters.push((self.done.len(), word, has_tabs)),
            Use::HereString => self.command.body = Some(word),
        }
    }

    fn end_command(&mut self, pipes: bool) {
        self.end_word();
        self.next = Use::Word;
        let has_document = self.delimiters.iter().any(|(at, ..)| *at == self.done.len());
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() || has_document {
            self.done.push(command);
            self.command.is_piped = pipes;
        }
    }

    fn here_documents(&mut self) {
        for (at, delimiter, has_tabs) in std::mem::take(&mut self.delimiters) {
            let mut body = String::new();
            while !self.rest.as_str().is_empty() {
                let line = self.line();
                let bare = if has_tabs { line.trim_start_matches('\t') } else { line };
                if bare.trim_end_matches('\r') == delimiter {
                    break;
                }
                body.push_str(bare);
                body.push('\n');
            }
            if let Some(command) = self.done.get_mut(at) {
                command.body = Some(body);
            }
        }
    }

    /// The rest of the line, without its break, which is passed by.
    fn line(&mut self) -> &'a str {
        let rest = self.rest.as_str();
        let (line, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        self.rest = rest.chars();
        line
    }

    /// Passes by the next character if it is this one.
    fn skip(&mut self, character: char) -> bool {
        let rest = self.rest.as_str().strip_prefix(character);
        self.rest = rest.map_or_else(|| self.rest.clone(), str::chars);
        rest.is_some()
    }
}
