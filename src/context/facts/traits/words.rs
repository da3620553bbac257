//! Splits a shell script into simple commands: words without their quotes, the file that output goes to, and the text of a
//! here-document.

/// Marks a variable or a substitution in a word, which the shell would expand.
pub(super) const UNKNOWN: char = '\0';

/// Deepest nesting of substitutions.
const MAX_DEPTH: usize = 8;

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// The file that its output goes to.
    pub(super) target: Option<String>,
    /// True if the output is appended to the file.
    pub(super) is_added: bool,
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
    /// Here-documents whose text begins after this line.
    delimiters: Vec<Delimiter>,
    /// Number of substitutions around this script.
    depth: usize,
}

/// The end of a here-document.
struct Delimiter {
    /// Index of its command.
    command: usize,
    word: String,
    /// True if leading tabs are stripped.
    has_tabs: bool,
    /// True if the shell expands variables and substitutions in the text.
    is_expanded: bool,
}

/// Characters between words. Parentheses count as blanks: their content is read like the rest.
const BLANKS: [char; 5] = [' ', '\t', '\r', '(', ')'];

impl<'a> Splitter<'a> {
    /// Reads one token. Returns false at the end.
    fn step(&mut self) -> bool {
        // A backslash or a backtick before a line break continues the line.
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
            Some(brace @ ('{' | '}')) if self.is_alone(brace) => {
                self.skip(brace);
                // A block behind a pipe is an argument, as of PowerShell's `Where-Object`.
                if !self.command.is_empty() && !self.command.is_piped {
                    self.end_command(false);
                }
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

    /// Returns `true` if the next brace opens or ends a block of commands.
    fn is_alone(&self, brace: char) -> bool {
        let behind = self.rest.strip_prefix(brace).and_then(|rest| rest.chars().next());
        behind.is_none_or(|next| next == ';' || next == '\n' || BLANKS.contains(&next))
    }

    /// Reads the next word on this line, without its quotes; empty if there is none.
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
            if quote == '"' && self.rest.starts_with("$(") {
                self.substitution(word);
                continue;
            }
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

    /// Reads PowerShell's here-string: from `@'` to `'@` at the beginning of a line.
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

    /// Reads `$(…)` as a part of its word, and `$(cat <<EOF …)` as the text of its here-document.
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
        inside.end_command(false);
        match &inside.done[..] {
            [Command { words, body: Some(text), target: None, .. }] if words[..] == ["cat"] => {
                word.push_str(text.trim_end_matches('\n'));
            }
            _ => {
                word.push(UNKNOWN);
                word.extend(whole.strip_suffix(self.rest));
            }
        }
    }

    /// Reads `>` and its file, unless it redirects errors or to a descriptor.
    fn output(&mut self, is_aside: bool) {
        let is_added = self.rest.starts_with(">>");
        let behind = self.rest.trim_start_matches('>');
        self.rest = behind.strip_prefix('|').unwrap_or(behind);
        let is_aside = self.skip('&') || is_aside;
        self.rest = self.rest.trim_start_matches(BLANKS);
        let target = self.word();
        if !is_aside && !target.is_empty() {
            (self.command.target, self.command.is_added) = (Some(target), is_added);
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
        let written = self.rest;
        match self.word() {
            word if word.is_empty() => {}
            word if is_string => self.command.body = Some(word),
            word => {
                // `word` has no quotes, so it differs from a quoted delimiter.
                let is_expanded = written.strip_suffix(self.rest) == Some(&word);
                self.delimiters.push(Delimiter { command: self.done.len(), word, has_tabs, is_expanded });
            }
        }
    }

    fn end_command(&mut self, pipes: bool) {
        let has_document = self.delimiters.iter().any(|end| end.command == self.done.len());
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() || has_document {
            self.done.push(command);
            self.command.is_piped = pipes;
        }
    }

    fn here_documents(&mut self) {
        for end in std::mem::take(&mut self.delimiters) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line = self.line();
                let bare = if end.has_tabs { line.trim_start_matches('\t') } else { line };
                if bare.trim_end_matches('\r') == end.word {
                    break;
                }
                body.push_str(bare);
                body.push('\n');
            }
            if end.is_expanded {
                body = body.replace('$', "\0$").replace('`', "\0`");
            }
            if let Some(command) = self.done.get_mut(end.command) {
                command.body = Some(body);
            }
        }
    }

    /// Reads the rest of the line and skips its break.
    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// Skips the next character if it is `character`.
    fn skip(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
