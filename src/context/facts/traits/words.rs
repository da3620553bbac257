//! Splits a shell script into simple commands: words without their quotes, the file that output goes to, and the text of a
//! here-document.

/// Stands in a word before a variable or a substitution, for which the shell puts its value.
pub(super) const UNKNOWN: char = '\0';

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

/// The first `most` commands of a script.
pub(super) fn commands(script: &str, most: usize) -> Vec<Command> {
    let (command, done, delimiters) = (Command::default(), Vec::new(), Vec::new());
    let mut splitter = Splitter { rest: script, done, command, delimiters };
    while splitter.done.len() < most && splitter.step() {}
    splitter.end_command(false);
    splitter.done.truncate(most);
    splitter.done
}

struct Splitter<'a> {
    rest: &'a str,
    done: Vec<Command>,
    command: Command,
    /// Ends of here-documents that open after this line, each with the number of its command, and true if tabs before lines are
    /// left out.
    delimiters: Vec<(usize, String, bool)>,
}

/// Characters between words. Parentheses are as good as spaces: what they hold is read like the rest.
const BLANKS: [char; 5] = [' ', '\t', '\r', '(', ')'];

impl<'a> Splitter<'a> {
    /// Reads on; false at the end.
    fn step(&mut self) -> bool {
        // A break behind a backslash or a backtick ends no line.
        let is_continued = ["\\\n", "`\n"].iter().any(|joint| self.rest.starts_with(joint));
        let is_here_text = ["@'", "@\""].iter().any(|start| self.rest.starts_with(start));
        match self.rest.chars().next() {
            None => return false,
            _ if is_continued => _ = self.line(),
            Some('@') if is_here_text => self.here_text(),
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
                '\\' => self.escape(&mut word),
                '`' if self.rest.starts_with("`\n") => _ = self.line(),
                '\'' | '"' | '`' => self.quoted(character, &mut word),
                '$' if self.rest.starts_with("$(") => self.substitution(&mut word),
                other => {
                    self.skip(other);
                    word.extend((other == '$').then_some(UNKNOWN));
                    word.push(other);
                }
            }
        }
        word
    }

    /// A backslash before a plain character is part of a Windows path.
    fn escape(&mut self, word: &mut String) {
        self.skip('\\');
        match self.rest.chars().next() {
            Some(plain) if plain.is_alphanumeric() || matches!(plain, '.' | '_' | '-') => word.push('\\'),
            None => word.push('\\'),
            Some(escaped) => {
                self.skip(escaped);
                word.extend((escaped != '\n').then_some(escaped));
            }
        }
    }

    fn quoted(&mut self, quote: char, word: &mut String) {
        self.skip(quote);
        word.extend((quote == '`').then_some(UNKNOWN));
        while let Some(character) = self.rest.chars().next() {
            self.skip(character);
            let escaped = self.rest.chars().next().filter(|_| quote == '"' && character == '\\');
            match escaped {
                _ if character == quote => return,
                Some(known @ ('"' | '\\' | '$' | '`')) => {
                    self.skip(known);
                    word.push(known);
                }
                Some('\n') => _ = self.line(),
                _ => {
                    let is_open = quote == '"' && matches!(character, '$' | '`');
                    word.extend(is_open.then_some(UNKNOWN));
                    word.push(character);
                }
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

    /// `$(…)` stays a part of its word.
    fn substitution(&mut self, word: &mut String) {
        let mut depth = 0;
        let end = self.rest.char_indices().skip(1).find(|(_, character)| {
            depth += i32::from(*character == '(') - i32::from(*character == ')');
            depth == 0
        });
        let (part, rest) = self.rest.split_at(end.map_or(self.rest.len(), |(at, _)| at + 1));
        word.push(UNKNOWN);
        word.push_str(part);
        self.rest = rest;
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

    fn input(&mut self) {
        self.skip('<');
        if !self.skip('<') {
            return;
        }
        let is_string = self.skip('<');
        let has_tabs = !is_string && self.skip('-');
        self.rest = self.rest.trim_start_matches(BLANKS);
        match self.word() {
            word if word.is_empty() => {}
            word if is_string => self.command.body = Some(word),
            word => self.delimiters.push((self.done.len(), word, has_tabs)),
        }
    }

    fn end_command(&mut self, pipes: bool) {
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
            while !self.rest.is_empty() {
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
