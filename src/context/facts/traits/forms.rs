//! The table of tool forms: how agents, shells and programs name the files that a call reads or changes.
//!
//! `forms.json` is data: a new agent, shell or program is a line in it. A form lists the argument names that it needs
//! (`file`, `old`, `new`, `command` and so on; several names are alternatives) and the tools known to use it. The form
//! with the most matching names wins; on a tie, one that lists the tool. `any` reads all other tools.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The parsed table.
pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("forms.json")).unwrap_or_default());

/// Names, written in the table as one string separated by spaces.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub(super) struct Names(Vec<String>);

impl From<String> for Names {
    fn from(text: String) -> Self {
        Self(text.split_whitespace().map(str::to_owned).collect())
    }
}

impl Deref for Names {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl Names {
    /// Returns `true` if `name` is one of them.
    pub(super) fn has(&self, name: &str) -> bool {
        self.iter().any(|of| of == name)
    }
}

/// A form of the table, and the shell program that named the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub(super) tool: &'static str,
    pub(super) program: Option<&'static str>,
}

/// The whole table.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Table {
    tools: Vec<ToolForm>,
    /// The form of tools that are not listed.
    pub(super) any: ToolForm,
    /// Arguments of any tool that name the folder of its relative paths.
    pub(super) folder: Names,
    /// Arguments of any tool that turn a write into an append, by the value true or "append".
    pub(super) adding: Names,
    /// Tools that list names: their path is a folder.
    listing: Names,
    programs: Vec<Program>,
    pub(super) scripts: Scripts,
    pub(super) keep: KeepNames,
}

/// Names of the states that an agent works by.
#[derive(Debug, Default, Deserialize)]
pub(super) struct KeepNames {
    /// Files: instructions and plans.
    pub(super) files: Names,
    /// Tools that set a plan or a todo list.
    pub(super) plans: Names,
    /// Tools that return a memory or a skill.
    pub(super) memories: Names,
}

/// The argument names of one tool, by their meaning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolForm {
    pub(super) form: String,
    tools: Names,
    /// Arguments that the form requires but does not read.
    needs: Names,
    pub(super) file: Names,
    pub(super) pattern: Names,
    pub(super) old: Names,
    pub(super) new: Names,
    /// Search and replace blocks, or a unified diff.
    pub(super) diff: Names,
    pub(super) moved: Names,
    pub(super) command: Names,
    /// A script that calls other tools.
    pub(super) code: Names,
    /// True if `new` is added to the file's content.
    pub(super) adds: bool,
}

/// A program that reads or changes files, or runs a command that does.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Program {
    /// Its names, the canonical one first.
    pub(super) programs: Names,
    /// Which words are files.
    pub(super) files: Operands,
    /// The option it needs to print lines that an edit could quote: a letter or a whole option.
    pub(super) prints_with: Option<String>,
    /// Number of words before the files, or before the command.
    pub(super) skip: usize,
    /// Subcommands before the host; without any, the host comes first.
    pub(super) behind: Names,
    /// Options that take a value.
    pub(super) values: Names,
    /// Options whose value replaces a skipped word.
    pub(super) instead: Names,
    /// Options whose value is a file.
    pub(super) paths: Names,
    /// Options whose value is the text to write or the script to run.
    pub(super) texts: Names,
    /// The part of a file it prints by default; `None` for the whole file.
    pub(super) part: Option<String>,
    /// True if it prints nothing of its piped input.
    pub(super) hides: bool,
    /// Names and options that make it append to a file.
    pub(super) adds: Names,
}

/// The operands of a program that are files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Operands {
    /// All words but options.
    #[default]
    Words,
    /// The same, for a program that searches them.
    Search,
    /// None: it filters its piped input.
    None,
    /// The part of `revision:path` after the colon, or words after `--`.
    Revision,
    /// Words after `--`, or words that look like files.
    Named,
    /// Two paths: source and destination.
    Move,
    /// The files it writes.
    Write,
    /// Files that a patch names.
    Patch,
    /// Files that a script opens.
    Script,
    /// Files of the command after it.
    Command,
    /// Files of the command after a host or container.
    Remote,
    /// Files of the commands in its text.
    Shell,
    /// None: it changes the folder.
    Folder,
    /// None: it prints its words.
    Echo,
}

/// The functions of scripting languages that open and change files.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Scripts {
    pub(super) opens: Names,
    pub(super) reads: Names,
    pub(super) writes: Names,
    pub(super) replaces: Names,
    /// Functions of `writes` that append to a file.
    pub(super) adds: Names,
}

impl Form {
    /// Its name: the tool's form, and the program where a command named the file.
    pub fn name(self) -> String {
        let program = self.program.map(|program| format!(": {}", program.replace('-', " ")));
        self.tool.to_owned() + &program.unwrap_or_default()
    }
}

impl Table {
    /// The form that matches most arguments in `objects`; `None` for tools that list names.
    pub(super) fn form_of<'a>(
        &self,
        tool: &str,
        objects: impl Iterator<Item = &'a Map<String, Value>>,
    ) -> Option<&ToolForm> {
        let tool = tool.rsplit("__").next().unwrap_or_default();
        if self.listing.has(tool) {
            return None;
        }
        let given: Vec<_> = objects.flatten().filter(|(_, value)| has_content(value)).collect();
        let mut old = given.iter().filter(|(name, _)| self.any.old.has(name)).peekable();
        // A model that must write every argument leaves unused ones empty; an empty old text shows that.
        let is_filled_in = old.peek().is_some() && old.all(|(_, value)| is_empty(value));
        let given = given.into_iter().filter(|(_, value)| !(is_filled_in && is_empty(value)));
        let keys: HashSet<&str> = given.map(|(name, _)| name.as_str()).collect();
        let matches =
            self.tools.iter().filter_map(|form| Some(((form.rank(&keys)?, form.tools.has(tool)), form)));
        let best = matches.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let any = self.any.roles().iter().filter(|names| has_any(&keys, names)).count();
        let listed = best.filter(|(rank, _)| rank.0 >= any || rank.1);
        Some(listed.map_or(&self.any, |(_, form)| form))
    }

    /// The program of this name.
    pub(super) fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.programs.has(name))
    }
}

impl ToolForm {
    /// The roles that tell one form from another.
    fn roles(&self) -> [&Names; 9] {
        let Self { needs, file, pattern, old, new, diff, moved, command, code, .. } = self;
        [needs, file, pattern, old, new, diff, moved, command, code]
    }

    /// Number of roles, if `keys` has a name for each; else `None`.
    fn rank(&self, keys: &HashSet<&str>) -> Option<usize> {
        let needed = self.roles().into_iter().filter(|names| !names.is_empty());
        needed.clone().all(|names| has_any(keys, names)).then(|| needed.count())
    }
}

fn has_any(keys: &HashSet<&str>, names: &Names) -> bool {
    names.iter().any(|name| keys.contains(&**name))
}

/// Returns `false` for a placeholder: null or an empty list.
fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        _ => true,
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str() == Some("")
}
