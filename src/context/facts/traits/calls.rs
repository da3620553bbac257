//! Finds the files that a tool call acts on by its name and arguments, with the table of forms.
//! The shape of the arguments identifies a tool; its name decides only between equal shapes. Arguments beyond the limits are
//! ignored.

use std::iter;

use serde_json::{Map, Value};

use super::forms::{Form, Names, TABLE, ToolForm};
use super::lines::{self, Line};
use super::paths::looks_like_file;
use super::shell;
use super::target::{File, FileUse, MAX_FILES, Target, part_of};
use super::{patch, script};
use crate::text::utf16;

/// Most objects read of one call's arguments, and most values of one list.
const MAX_VALUES: usize = 4096;

/// The file or the command that a call names, with its kind. A path wins: where a tool takes both, the command only names
/// the operation.
pub fn subject_of(tool: &str, arguments: &str) -> Option<(&'static str, String)> {
    let fields = fields_of(arguments);
    let mut objects = Vec::new();
    add_objects(&fields, None, &mut objects, &mut Vec::new());
    let names = form_of(tool, &objects)?;
    if let Some(path) = first_text(&objects, &names.file) {
        return Some(("file", path.to_owned()));
    }
    let command = commands_in(&objects, names).next()?;
    let text = command.as_str().map_or_else(|| shell::words_of(command).join(" "), str::to_owned);
    Some(("command", text))
}

impl Target {
    /// Reads a call's arguments as JSON and adds the lines of their texts to `shown`. Unreadable arguments give an empty
    /// target.
    pub fn of(tool: &[u16], arguments: &[u16], shown: &mut Vec<Line>) -> Self {
        let fields = fields_of(&String::from_utf16_lossy(arguments));
        Self::read(&String::from_utf16_lossy(tool), &fields, shown)
    }

    fn read(tool: &str, fields: &Map<String, Value>, shown: &mut Vec<Line>) -> Self {
        let (mut objects, mut texts) = (Vec::new(), Vec::new());
        add_objects(fields, None, &mut objects, &mut texts);
        let listed = form_of(tool, &objects);
        let form = |program| listed.map(|names| Form { tool: &names.form, program });
        let code = listed.and_then(|names| texts_of(fields, &names.code).next()).unwrap_or_default();
        let calls = script::tool_calls(code);
        if !calls.is_empty() {
            let targets = calls.iter().map(|(tool, fields)| Self::read(tool, fields, shown));
            let files = targets.flat_map(|target| target.files).take(MAX_FILES).collect();
            return Self::of_files(files, form(None));
        }
        for text in &texts {
            if !text.contains(patch::START) {
                lines::add(&utf16(text), shown);
            }
            // The lines of a patch, without `+` and `-`.
            for line in patch::files(text).iter().flat_map(|file| file.old.iter().chain(&file.new)) {
                lines::add(&utf16(line), shown);
            }
        }
        let Some(names) = listed else { return Self::default() };
        let folder = first_text(&objects, &TABLE.folder);
        let uses = uses_in(&objects, names);
        let mut files: Vec<File> = uses.iter().filter_map(|file| file.file(folder)).collect();
        let mut program = None;
        if files.is_empty() {
            files = script::files(code, folder);
        }
        if files.is_empty() {
            for command in commands_in(&objects, names) {
                let (found, by) = shell::files(command, folder);
                files.extend(found);
                program = program.or(by);
            }
        }
        let is_changed = files.iter().any(|file| file.change.is_some());
        if !is_changed && let Some(text) = texts.iter().find(|text| text.contains(patch::START)) {
            files = patch::changed(text, folder);
        }
        files.truncate(MAX_FILES);
        Self::of_files(files, form(program))
    }

    fn of_files(files: Vec<File>, form: Option<Form>) -> Self {
        Self { form: form.filter(|_| !files.is_empty()), files: files.into(), state: None }
    }
}

/// An object of the arguments, and the index of its parent.
type Object<'a> = (&'a Map<String, Value>, Option<usize>);

/// The files that these objects name. An edit belongs to the file named in its object or a parent.
fn uses_in<'a>(objects: &[Object<'a>], names: &ToolForm) -> Vec<FileUse<'a>> {
    let mut files: Vec<FileUse<'a>> = Vec::new();
    let mut file_of: Vec<Option<usize>> = Vec::with_capacity(objects.len());
    let reads_only = [&names.old, &names.new, &names.diff].iter().all(|names| names.is_empty());
    for &(fields, above) in objects {
        if files.len() >= MAX_FILES {
            break;
        }
        let above = above.and_then(|above| *file_of.get(above)?);
        let outer = above.and_then(|above| files.get(above)).map(|file| file.path);
        let is_search = texts_of(fields, &names.pattern).next().is_some();
        let lines = fields.iter().filter(|(name, value)| !is_of_time(name) && is_of_lines(value));
        let lines: Vec<String> = lines.map(|(_, value)| value.to_string()).collect();
        let part = part_of(0, &lines);
        let first = files.len();
        let paths = texts_of(fields, &names.file).filter(|path| !is_search || looks_like_file(path));
        for path in paths.filter(|path| outer != Some(path) && !path.contains('*')) {
            let behind = path.rsplit_once(':').filter(|(_, lines)| is_span(lines));
            let (path, part) = behind.map_or((path, part), |(path, lines)| (path, part_of(part, [lines])));
            files.push(FileUse { path, part, is_searched: is_search, ..FileUse::default() });
        }
        let at = (files.len() > first).then_some(first).or(above);
        file_of.push(at);
        if let Some(file) = at.and_then(|at| files.get_mut(at)) {
            if at == above && reads_only {
                file.part = part_of(file.part, &lines);
            }
            add_change(fields, names, file);
        }
    }
    files
}

/// Adds the change that the fields of one object make to a file.
fn add_change<'a>(fields: &'a Map<String, Value>, names: &ToolForm, file: &mut FileUse<'a>) {
    let has =
        |names: &Names, is: fn(&Value) -> bool| names.iter().filter_map(|name| fields.get(name)).any(is);
    let is_append = |value: &Value| *value == Value::Bool(true) || value.as_str() == Some("append");
    file.is_changed |= has(&names.new, is_text)
        || has(&names.moved, is_text)
        || (has(&names.old, Value::is_string) && !names.new.is_empty());
    file.is_added |= names.adds || has(&TABLE.adding, is_append);
    file.old.extend(texts_of(fields, &names.old));
    file.new.extend(texts_of(fields, &names.new));
    for diff in texts_of(fields, &names.diff) {
        for part in iter::once(patch::blocks(diff)).chain(patch::files(diff)) {
            file.is_changed |= !(part.old.is_empty() && part.new.is_empty());
            file.old.extend(part.old);
            file.new.extend(part.new);
        }
    }
}

/// The arguments as an object. A list is a command; a string or a bare patch is the input of a free-form tool.
fn fields_of(arguments: &str) -> Map<String, Value> {
    let of = |name: &str, value: Value| Map::from_iter([(name.to_owned(), value)]);
    match serde_json::from_str(arguments) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Array(words)) => of("command", Value::Array(words)),
        Ok(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => fields,
            _ => of("input", Value::String(text)),
        },
        Err(_) if arguments.contains(patch::START) => of("input", Value::String(arguments.to_owned())),
        _ => Map::new(),
    }
}

/// Adds this object and all nested ones, in the order written and after their parents, and every text in them.
fn add_objects<'a>(
    fields: &'a Map<String, Value>,
    above: Option<usize>,
    objects: &mut Vec<Object<'a>>,
    texts: &mut Vec<&'a str>,
) {
    let at = objects.len();
    objects.push((fields, above));
    let mut open: Vec<&Value> = fields.values().rev().collect();
    while let Some(value) = open.pop().filter(|_| objects.len() < MAX_VALUES) {
        match value {
            Value::Object(inner) => add_objects(inner, Some(at), objects, texts),
            Value::Array(values) => open.extend(values.iter().rev()),
            Value::String(text) => texts.push(text),
            _ => {}
        }
    }
}

/// The texts of the first of these arguments that has any: a string, or the strings of a list.
fn texts_of<'a>(fields: &'a Map<String, Value>, names: &Names) -> impl Iterator<Item = &'a str> + use<'a> {
    let texts = |value: &'a Value| {
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let texts = list.iter().take(MAX_VALUES).filter_map(Value::as_str);
        texts.filter(|text| !text.trim().is_empty()).collect()
    };
    let mut found = names.iter().filter_map(|name| fields.get(name)).map(texts);
    found.find(|texts: &Vec<&str>| !texts.is_empty()).unwrap_or_default().into_iter()
}

fn form_of(tool: &str, objects: &[Object<'_>]) -> Option<&'static ToolForm> {
    TABLE.form_of(tool, objects.iter().map(|(object, _)| *object))
}

/// The first text under one of these names.
fn first_text<'a>(objects: &[Object<'a>], names: &Names) -> Option<&'a str> {
    objects.iter().find_map(|(object, _)| texts_of(object, names).next())
}

/// The commands under the form's names, one of each object: a text, or a list of words.
fn commands_in<'a>(objects: &[Object<'a>], form: &ToolForm) -> impl Iterator<Item = &'a Value> {
    let is_given = |value: &&Value| match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(words) => words.iter().any(Value::is_string),
        _ => false,
    };
    objects.iter().filter_map(move |&(object, _)| {
        form.command.iter().filter_map(|name| object.get(name)).find(is_given)
    })
}

/// Returns `true` for an argument such as `timeout` or `yield_time_ms`.
fn is_of_time(name: &str) -> bool {
    name.to_lowercase().contains("time")
}

/// Returns `true` for a value that names lines of a file: a number, `"10-40"`, or a list of these. A negative number counts
/// from the end. -1, 0 and 1 may mean the whole file.
fn is_of_lines(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values.iter().take(MAX_VALUES)),
            Value::Number(number) if number.as_i64().is_some_and(|number| !(-1..=1).contains(&number)) => {
                return true;
            }
            Value::String(text) if is_span(text) || text.parse::<u64>().is_ok_and(|number| number > 1) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Returns `true` for `10-40`: the first line and the last.
fn is_span(text: &str) -> bool {
    let ends = text.trim().split_once('-');
    ends.is_some_and(|ends| [ends.0, ends.1].iter().all(|end| end.trim().parse::<u64>().is_ok()))
}

fn is_text(value: &Value) -> bool {
    value.is_string() || value.as_array().is_some_and(|values| values.iter().any(Value::is_string))
}

#[cfg(test)]
#[path = "calls/tests.rs"]
mod tests;
