//! Splits a shell script into simple commands: words without their quotes, the file that output goes to, and the text of a
//! here-document. Variables and substitutions stay in their words as they are written.

/// Substitutions inside substitutions that are read.
const MAX_DEPTH: usize = 8;

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// The file that its output goes to.
    pub(super) target: Option<String>,
    /// Text of its here-document.
    pub(super) body: Option<String>,
    /// True if it reads what the command before it writes.
    pub(super) is_piped: bool,
}

impl Command {
    fn is_empty(&self) -> bool {
        *self == Self { is_piped: self.is_piped, ..Self::default() }
    }
}

/// The first `most` commands of a script.
pub(super) fn commands(script: &str, most: usize) -> Vec<Command> {
    let mut splitter = Splitter { rest: script, ..Splitter::default() };
    while splitter.done.len() < most && splitter.step() {}
    splitter.end_command(false);
    splitter.done.truncate(most);
    splitter.done
}

#[derive(Default)]
struct Splitter<'a> {
    rest: &'a str,
    done: Vec<Command>,
    command: Command,
    /// The here-documents that open after this line: the number of each one's command, and the line that ends it.
    documents: Vec<(usize, String)>,
    /// Substitutions around this script.
    depth: usize,
}

/// Characters between words. Parentheses are as good as spaces: what they hold is read like the rest.
const BLANKS: [char; 5] = [' ', '\t', '\r', '(', ')'];

impl<'a> Splitter<'a> {
    /// Reads on; false at the end.
    fn step(&mut self) -> bool {
        let starts = |start: &str| self.rest.starts_with(start);
        match self.rest.chars().next() {
            None => return false,
            Some('\\') if starts("\\\n") => _ = self.line(),
            Some('@') if starts("@'") || starts("@\"") => self.here_text(),
            Some('#') => self.rest = self.rest.trim_start_matches(|of| of != '\n'),
            Some('\n') => {
                self.line();
                self.end_command(false);
                self.here_documents();
            }
            Some(end @ (';' | '|' | '&')) => {
                self.skip(end);
                let is_twin = end != ';' && self.skip(end);
                self.end_command(end == '|' && !is_twin);
            }
            Some('>') => self.output(false),
            Some('<') => self.input(),
            Some(blank) if BLANKS.contains(&blank) => _ = self.skip(blank),
            Some(_) => {
                let word = self.word();
                let is_descriptor =
                    self.rest.starts_with('>') && word.bytes().all(|byte| byte.is_ascii_digit());
                if is_descriptor { self.output(word != "1") } else { self.command.words.push(word) }
            }
        }
        true
    }

    /// The next word on this line, without its quotes; empty if there is none.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(character) = self.rest.chars().next() {
            match character {
                '\n' | ';' | '|' | '&' | '>' | '<' => break,
                blank if BLANKS.contains(&blank) => break,
                '\'' | '"' | '`' => self.quoted(character, &mut word),
                _ => self.character(character, &mut word),
            }
        }
        word
    }

    /// What a word has outside quotes, and inside of double ones. A backslash before a plain character is part of a Windows path.
    fn character(&mut self, character: char, word: &mut String) {
        if self.rest.starts_with("$(") {
            return self.substitution(word);
        }
        self.skip(character);
        match self.rest.chars().next().filter(|_| character == '\\') {
            Some(escaped) if !(escaped.is_alphanumeric() || matches!(escaped, '.' | '_' | '-')) => {
                self.skip(escaped);
                word.extend((escaped != '\n').then_some(escaped));
            }
            _ => word.push(character),
        }
    }

    /// The quotes of a substitution stay.
    fn quoted(&mut self, quote: char, word: &mut String) {
        self.skip(quote);
        word.extend((quote == '`').then_some(quote));
        while let Some(character) = self.rest.chars().next() {
            if self.skip(quote) {
                return;
            }
            if quote == '"' {
                self.character(character, word);
            } else {
                self.skip(character);
                word.push(character);
            }
        }
    }

    /// PowerShell's `@'`, whose text ends before `'@` at the beginning of a line.
    fn here_text(&mut self) {
        let end: String = self.rest.chars().skip(1).take(1).chain(['@']).collect();
        self.line();
        let mut text = String::new();
        while !self.rest.is_empty() && !self.rest.starts_with(&end) {
            text.push_str(self.line());
            text.push('\n');
        }
        self.rest = self.rest.strip_prefix(&*end).unwrap_or_default();
        self.command.body = Some(text);
    }

    /// `$(…)` is a part of its word.
    fn substitution(&mut self, word: &mut String) {
        let whole = self.rest;
        self.skip('$');
        let mut inside = Self { rest: self.rest, depth: self.depth + 1, ..Self::default() };
        let mut depth = 0;
        while inside.depth <= MAX_DEPTH {
            depth += i32::from(inside.rest.starts_with('(')) - i32::from(inside.rest.starts_with(')'));
            if !inside.step() || depth == 0 {
                break;
            }
        }
        self.rest = if depth == 0 { inside.rest } else { "" };
        word.extend(whole.strip_suffix(self.rest));
    }

    /// `>`: the file that output goes to, unless it is a descriptor or the place of errors.
    fn output(&mut self, is_aside: bool) {
        let behind = self.rest.trim_start_matches('>');
        self.rest = behind.strip_prefix('|').unwrap_or(behind);
        let is_aside = self.skip('&') || is_aside;
        self.rest = self.rest.trim_start_matches(BLANKS);
        let target = self.word();
        if !is_aside && !target.is_empty() {
            self.command.target = Some(target);
        }
    }

    /// `<<`: a here-document.
    fn input(&mut self) {
        self.skip('<');
        if self.skip('<') {
            self.skip('-');
            self.rest = self.rest.trim_start_matches(BLANKS);
            let end = self.word();
            self.documents.extend(Some((self.done.len(), end)).filter(|(_, end)| !end.is_empty()));
        }
    }

    fn end_command(&mut self, pipes: bool) {
        let has_document = self.documents.iter().any(|(command, _)| *command == self.done.len());
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() || has_document {
            self.done.push(command);
            self.command.is_piped = pipes;
        }
    }

    fn here_documents(&mut self) {
        for (command, end) in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line = self.line();
                if line.trim() == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if let Some(command) = self.done.get_mut(command) {
                command.body = Some(body);
            }
        }
    }

    /// The rest of the line, without its break, which is passed by.
    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// Passes by the next character if it is this one.
    fn skip(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
