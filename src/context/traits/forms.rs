//! The table of tool forms: how agents, shells and programs name the files that a call reads or changes.
//!
//! `forms.json` is data: a new agent, shell or program is a line in it. A form lists the argument names that it needs
//! (`file`, `old`, `new`, `command` and so on; several names are alternatives) and the tools known to use it. The form
//! with the most matching names wins, a known tool's before others. `any` reads what no listed form does.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The parsed table.
pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("forms.json")).unwrap_or_default());

/// Argument values looked at in one call, over all levels.
const MAX_VALUES: usize = 4096;

/// A form of the table, and the shell program that named the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    tool: u16,
    program: Option<u16>,
}

/// The whole table.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Table {
    tools: Vec<ToolForm>,
    any: ToolForm,
    /// Tools that list names: their path is a folder.
    #[serde(deserialize_with = "words")]
    listing: Vec<String>,
    prefixes: Vec<Prefix>,
    shells: Vec<Shell>,
    programs: Vec<Program>,
    pub(super) scripts: Scripts,
    pub(super) keep: KeepNames,
}

/// Names of what an agent lives by.
#[derive(Debug, Default, Deserialize)]
pub(super) struct KeepNames {
    /// Files: instructions and plans.
    #[serde(deserialize_with = "words")]
    pub(super) files: Vec<String>,
    /// Tools that set a plan or a todo list.
    #[serde(deserialize_with = "words")]
    pub(super) plans: Vec<String>,
    /// Tools that bring back what was remembered, or a skill.
    #[serde(deserialize_with = "words")]
    pub(super) memories: Vec<String>,
}

/// The argument names of one tool, by their meaning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolForm {
    form: String,
    #[serde(deserialize_with = "words")]
    tools: Vec<String>,
    /// An argument that must be there and says nothing of the file.
    #[serde(deserialize_with = "words")]
    verb: Vec<String>,
    /// The argument that holds several edits or files.
    #[serde(deserialize_with = "words")]
    list: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) file: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) pattern: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) old: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) new: Vec<String>,
    /// Search and replace blocks, or a unified diff.
    #[serde(deserialize_with = "words")]
    pub(super) diff: Vec<String>,
    #[serde(deserialize_with = "words")]
    patch: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) moved: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) command: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) folder: Vec<String>,
    /// First line, counted from 1.
    #[serde(deserialize_with = "words")]
    pub(super) from: Vec<String>,
    /// First line, counted from 0.
    #[serde(deserialize_with = "words")]
    pub(super) from0: Vec<String>,
    /// Number of lines.
    #[serde(deserialize_with = "words")]
    pub(super) count: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) first: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) last: Vec<String>,
    /// `[first, last]`, `"first-last"` or a list of these.
    #[serde(deserialize_with = "words")]
    pub(super) range: Vec<String>,
    /// Number of first lines.
    #[serde(deserialize_with = "words")]
    pub(super) head: Vec<String>,
    #[serde(deserialize_with = "words")]
    tail: Vec<String>,
}

/// Programs that run the command behind them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Prefix {
    #[serde(deserialize_with = "words")]
    programs: Vec<String>,
    /// Words to skip after the options.
    pub(super) skip: usize,
    /// Options that take a word.
    #[serde(deserialize_with = "words")]
    pub(super) values: Vec<String>,
}

/// Programs that run a script.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shell {
    #[serde(deserialize_with = "words")]
    programs: Vec<String>,
    /// Options whose word is the script.
    #[serde(deserialize_with = "words")]
    pub(super) flags: Vec<String>,
}

/// A program that reads or changes files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Program {
    #[serde(deserialize_with = "words")]
    programs: Vec<String>,
    /// Which words are files.
    pub(super) files: Operands,
    /// An option without which it prints no lines that an edit could quote: a letter or a whole option.
    pub(super) needs: Option<String>,
    /// Words before the files.
    pub(super) skip: usize,
    /// Options that take a word.
    #[serde(deserialize_with = "words")]
    pub(super) values: Vec<String>,
    /// Options whose word stands for a skipped one.
    #[serde(deserialize_with = "words")]
    pub(super) instead: Vec<String>,
    /// Options whose word is a file.
    #[serde(deserialize_with = "words")]
    pub(super) paths: Vec<String>,
    /// Options whose word is the text to write or the script to run.
    #[serde(deserialize_with = "words")]
    pub(super) texts: Vec<String>,
    /// Options that say how many first lines, or from which one on as `+10`.
    #[serde(deserialize_with = "words")]
    pub(super) first: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) last: Vec<String>,
    /// Options that say how many lines are skipped.
    #[serde(deserialize_with = "words")]
    pub(super) skipped: Vec<String>,
    /// Options that take a number which tells no known line.
    #[serde(deserialize_with = "words")]
    pub(super) other: Vec<String>,
    /// True if `-40` says how many first lines.
    pub(super) numbered: bool,
    /// True if the skipped word is a `sed` script that may name lines.
    pub(super) lines: Option<String>,
}

/// The operands of a program that are files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Operands {
    /// Its words that are no options.
    #[default]
    Words,
    /// None: it passes on what is piped into it.
    None,
    /// The part of `revision:path` after the colon, or words after `--`.
    Revision,
    /// Words after `--`, or words that look like files.
    Named,
    /// Two places: from and to.
    Move,
    /// A file that is written.
    Write,
    /// Those that a patch names.
    Patch,
    /// Those that a script opens.
    Script,
}

/// The functions of scripting languages that open and change files.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Scripts {
    #[serde(deserialize_with = "words")]
    pub(super) opens: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) writes: Vec<String>,
    #[serde(deserialize_with = "words")]
    pub(super) replaces: Vec<String>,
}

/// `"a b"` as `["a", "b"]`.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

impl Form {
    /// Its name: the tool's form, and the program where a command named the file.
    pub fn name(self) -> String {
        let tool = TABLE.at(self.tool).map_or("any", |form| &*form.form);
        let program = self.program.and_then(|program| TABLE.programs.get(usize::from(program)));
        match program.and_then(|program| program.programs.first()) {
            Some(program) => format!("{tool}: {}", program.replace('-', " ")),
            None => tool.to_owned(),
        }
    }

    /// The same form, whose command ran this program.
    #[must_use]
    pub(super) fn by(self, program: Option<u16>) -> Self {
        Self { program, ..self }
    }
}

impl Table {
    fn at(&self, tool: u16) -> Option<&ToolForm> {
        self.tools.get(usize::from(tool))
    }

    /// The form of tools that are not listed.
    pub(super) fn any(&self) -> &ToolForm {
        &self.any
    }

    /// The form that reads most of these arguments; `None` for tools that list names.
    pub(super) fn form_of(&self, tool: &str, arguments: &Map<String, Value>) -> Option<(Form, &ToolForm)> {
        let tool = tool.rsplit("__").next().unwrap_or_default();
        if self.listing.iter().any(|name| name == tool) {
            return None;
        }
        let keys = keys_in(arguments);
        let matches = self.tools.iter().enumerate().filter_map(|(i, form)| {
            let rank = (form.needs(&keys)?, form.tools.iter().any(|name| name == tool));
            Some((rank, i as u16, form))
        });
        let best = matches.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let any = self.any.roles().iter().filter(|names| has_any(&keys, names)).count();
        let listed = best.filter(|(rank, ..)| rank.0 >= any || rank.1);
        match listed {
            Some((_, tool, form)) => Some((Form { tool, program: None }, form)),
            None => Some((Form { tool: u16::MAX, program: None }, &self.any)),
        }
    }

    /// The program of this name, in any case and with or without `.exe`.
    pub(super) fn program(&self, name: &str) -> Option<(u16, &Program)> {
        let at = self.programs.iter().position(|program| program.programs.iter().any(|of| of == name))?;
        Some((at as u16, self.programs.get(at)?))
    }

    pub(super) fn prefix(&self, name: &str) -> Option<&Prefix> {
        self.prefixes.iter().find(|prefix| prefix.programs.iter().any(|of| of == name))
    }

    pub(super) fn shell(&self, name: &str) -> Option<&Shell> {
        self.shells.iter().find(|shell| shell.programs.iter().any(|of| of == name))
    }
}

impl ToolForm {
    /// Names by the meanings that tell one form from another.
    fn roles(&self) -> [&[String]; 10] {
        [
            &self.verb,
            &self.list,
            &self.file,
            &self.pattern,
            &self.old,
            &self.new,
            &self.diff,
            &self.patch,
            &self.moved,
            &self.command,
        ]
    }

    /// Number of meanings that `keys` have a name for; `None` if one is missing.
    fn needs(&self, keys: &HashMap<&str, &Value>) -> Option<usize> {
        let roles = self.roles();
        let needed = roles.iter().filter(|names| !names.is_empty());
        let count = needed.clone().count();
        needed.clone().all(|names| has_any(keys, names)).then_some(count)
    }
}

fn has_any(keys: &HashMap<&str, &Value>, names: &[String]) -> bool {
    names.iter().any(|name| keys.contains_key(&**name))
}

/// The names of all arguments with a value, over all levels.
fn keys_in(arguments: &Map<String, Value>) -> HashMap<&str, &Value> {
    let mut keys = HashMap::new();
    let mut open: Vec<&Map<String, Value>> = vec![arguments];
    let mut left = MAX_VALUES;
    while let Some(fields) = open.pop() {
        for (name, value) in fields.iter().take(left) {
            left = left.saturating_sub(1);
            if is_said(value) {
                keys.insert(&**name, value);
            }
            match value {
                Value::Object(inner) => open.push(inner),
                Value::Array(values) => {
                    open.extend(values.iter().take(left).filter_map(Value::as_object));
                    left = left.saturating_sub(values.len());
                }
                _ => {}
            }
        }
    }
    keys
}

/// False for what a model fills in where it means nothing.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        _ => true,
    }
}
