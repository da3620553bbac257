//! The digest of messages a session has let go: counts, first requests, tools, files, commands, open errors.
//!
//! A digest goes on where the last one stopped, so compressing again and again gives one flat summary. Everything in
//! it is bounded; it travels as JSON beside the session and comes back from wherever that was kept.

use serde::{Deserialize, Serialize};

use super::language::{self, Language};
use super::message::{Said, ToolCall};
use super::names::files_in;
use crate::context::traits::calls::Subject;
use crate::fault;
use crate::text::clip_chars;

/// User messages kept from the beginning of a session.
const REQUESTS: usize = 3;
/// Tools listed, the first used first.
const TOOLS: usize = 30;
/// Files listed, the newest.
const FILES: usize = 20;
/// Commands listed, the newest.
const COMMANDS: usize = 10;
/// Errors listed, the newest.
const ERRORS: usize = 5;
/// Longest quotation of a message, a command or an error line, in characters.
const QUOTE_CHARS: usize = 200;
/// Longest summary of the host's own that is carried along, in characters: 500 tokens of English.
const EARLIER_CHARS: usize = 2000;
/// Beginnings, in lower case, of lines that report an error.
const ERROR_STARTS: &[&str] =
    &["error", "fatal", "traceback", "exception", "panic", "failed", "fail:", "错误", "失败", "异常"];

/// Notes on the messages a session has let go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Digest {
    messages: usize,
    users: usize,
    assistants: usize,
    tools: usize,
    requests: Vec<String>,
    used: Vec<(String, usize)>,
    files: Vec<String>,
    commands: Vec<String>,
    errors: Vec<OpenError>,
    earlier: String,
}

/// The failure of a tool that no later success of the same tool at the same thing has mended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct OpenError {
    tool: String,
    target: String,
    line: String,
}

impl Digest {
    /// The digest that was kept as JSON; an empty one if that cannot be read.
    #[must_use]
    pub fn from_json(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// As JSON, to be kept.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes in the messages let go next, calls and their results together; summaries are in it already.
    pub fn add(&mut self, messages: &[Said]) {
        let mut open: Vec<(&ToolCall, String)> = Vec::new();
        for message in messages.iter().filter(|message| !message.is_summary) {
            fault::step();
            self.messages += 1;
            match message.role.as_str() {
                "user" => {
                    self.users += 1;
                    if self.requests.len() < REQUESTS && !message.content.trim().is_empty() {
                        self.requests.push(quote(&message.content));
                    }
                }
                "assistant" => self.assistants += 1,
                "tool" => self.tools += 1,
                _ => {}
            }
            if message.role != "tool" {
                files_in(&message.content).for_each(|file| push_newest(&mut self.files, file, FILES));
            }
            for call in &message.tool_calls {
                open.push((call, self.note_call(call)));
            }
            if let Some(id) = &message.tool_call_id
                && let Some((call, target)) = open.iter().rfind(|(call, _)| call.id == *id)
            {
                self.note_result(&call.name, target, message);
            }
        }
    }

    /// Carries along what the host's own summariser made of messages before these; it replaces what it made earlier.
    pub fn set_earlier(&mut self, summary: &str) {
        self.earlier = clip_chars(summary.trim(), EARLIER_CHARS);
    }

    /// The file or command that the call is about; empty where it names none.
    fn note_call(&mut self, call: &ToolCall) -> String {
        let tool = quote(&call.name);
        if let Some((_, times)) = self.used.iter_mut().find(|(name, _)| *name == tool) {
            *times += 1;
        } else if self.used.len() < TOOLS {
            self.used.push((tool, 1));
        }
        let (listed, name, max) = match Subject::of(&call.name, &call.arguments) {
            Subject::File(file) => (&mut self.files, quote(&file), FILES),
            Subject::Command(command) => (&mut self.commands, quote(&command), COMMANDS),
            Subject::Nothing => return String::new(),
        };
        push_newest(listed, &name, max);
        name
    }

    fn note_result(&mut self, tool: &str, target: &str, result: &Said) {
        let tool = quote(tool);
        self.errors.retain(|error| error.tool != tool || error.target != target);
        let first = result.content.lines().find(|line| !line.trim().is_empty());
        if result.is_error.unwrap_or_else(|| first.is_some_and(reports_error)) {
            let reported = result.content.lines().find(|line| reports_error(line));
            let line = quote(reported.or(first).unwrap_or_default());
            self.errors.push(OpenError { tool, target: target.to_owned(), line });
            keep_newest(&mut self.errors, ERRORS);
        }
    }

    /// The fixed readable form, in `language`; a part that has nothing to say is left out.
    #[must_use]
    pub fn render(&self, language: Language) -> String {
        let Self { messages, users, assistants, tools, .. } = *self;
        let language = language.or_that_of(self.requests.iter().chain([&self.earlier]));
        let mut text = language.counts([messages, users, assistants, tools]);
        let requests = self.requests.iter().enumerate().map(|(i, request)| format!("{}. {request}", i + 1));
        language.write_lines(&mut text, language::REQUESTS, requests);
        let used = self.used.iter().map(|(name, times)| format!("{name} ×{times}"));
        language.write_list(&mut text, language::TOOLS, used);
        language.write_list(&mut text, language::FILES, self.files.iter().cloned());
        let commands = self.commands.iter().map(|command| format!("- {command}"));
        language.write_lines(&mut text, language::COMMANDS, commands);
        let errors = self.errors.iter().map(|error| language.error(&error.tool, &error.target, &error.line));
        language.write_lines(&mut text, language::ERRORS, errors);
        language.write_list(&mut text, language::EARLIER, std::iter::once(self.earlier.clone()));
        text
    }
}

fn reports_error(line: &str) -> bool {
    let start: String = line.trim_start().chars().take(QUOTE_CHARS).flat_map(char::to_lowercase).collect();
    ERROR_STARTS.iter().any(|word| start.starts_with(word))
}

/// Appends `item` as the newest, once.
fn push_newest(items: &mut Vec<String>, item: &str, max: usize) {
    items.retain(|kept| kept != item);
    items.push(item.to_owned());
    keep_newest(items, max);
}

fn keep_newest<T>(items: &mut Vec<T>, max: usize) {
    items.drain(..items.len().saturating_sub(max));
}

/// A quotation on one line.
fn quote(text: &str) -> String {
    // Enough for the quotation whatever white space there is before; a text may be megabytes long.
    let start: String = text.trim_start().chars().take(2 * QUOTE_CHARS).collect();
    clip_chars(&start.split_whitespace().collect::<Vec<_>>().join(" "), QUOTE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(role: &str, text: &str) -> Said {
        Said { role: role.into(), content: text.into(), ..Said::default() }
    }

    fn call(id: &str, name: &str, arguments: &str) -> Said {
        let call = ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() };
        Said { tool_calls: vec![call], ..said("assistant", "") }
    }

    fn result(id: &str, text: &str, is_error: Option<bool>) -> Said {
        Said { tool_call_id: Some(id.into()), is_error, ..said("tool", text) }
    }

    fn sample() -> Vec<Said> {
        vec![
            said("user", "Fix the build in src/lib.rs"),
            call("1", "bash", r#"{"command":"cargo build"}"#),
            result("1", "Compiling\nerror[E0308]: mismatched types\n", Some(true)),
            call("2", "read", r#"{"path":"src/text.rs"}"#),
            result("2", "fn main() {}", Some(false)),
            said("assistant", "完成了。"),
            said("user", "Now the tests"),
            call("3", "bash", r#"{"command":"cargo test"}"#),
            result("3", "Error: no such target", None),
            said("user", "third"),
            said("user", "fourth"),
        ]
    }

    #[test]
    fn has_a_fixed_readable_form() {
        let mut digest = Digest::default();
        digest.add(&sample());
        assert_eq!(
            digest.render(Language::Zh),
            "已压缩 11 条消息：用户 4，助手 4，工具 3。\n\
             最初的用户消息：\n1. Fix the build in src/lib.rs\n2. Now the tests\n3. third\n\
             使用的工具：bash ×2、read ×1\n\
             涉及的文件：src/lib.rs、src/text.rs\n\
             执行的命令：\n- cargo build\n- cargo test\n\
             未解决的错误：\n- bash（cargo build）：error[E0308]: mismatched types\n\
             - bash（cargo test）：Error: no such target"
        );
        assert_eq!(
            digest.render(Language::Auto),
            "11 messages compressed: 4 from the user, 4 from the assistant, 3 from tools.\n\
             First user messages:\n1. Fix the build in src/lib.rs\n2. Now the tests\n3. third\n\
             Tools used: bash ×2, read ×1\n\
             Files: src/lib.rs, src/text.rs\n\
             Commands run:\n- cargo build\n- cargo test\n\
             Errors still open:\n- bash (cargo build): error[E0308]: mismatched types\n\
             - bash (cargo test): Error: no such target"
        );
        let none = Digest::default();
        assert_eq!(none.render(Language::Zh), "已压缩 0 条消息：用户 0，助手 0，工具 0。");
    }

    #[test]
    fn a_later_success_at_the_same_thing_closes_an_error() {
        let mut digest = Digest::default();
        digest.add(&sample());
        digest.add(&[call("9", "bash", r#"{"command":"cargo build"}"#), result("9", "Finished", None)]);
        let text = digest.render(Language::Zh);
        assert!(!text.contains("E0308") && text.contains("no such target"), "{text}");
    }

    #[test]
    fn a_call_is_about_a_file_or_else_a_command() {
        let cases = [
            (r#"{"path":"a.rs","limit":3}"#, "a.rs"),
            (r#"{"command":" ls ","path":" "}"#, "ls"),
            (r#"{"command":"view","path":"x"}"#, "x"),
            (r#"{"path":7}"#, ""),
            (r#"["path"]"#, ""),
            ("", ""),
        ];
        for (arguments, name) in cases {
            let said = call("1", "t", arguments);
            assert_eq!(Digest::default().note_call(&said.tool_calls[0]), name, "{arguments}");
        }
        let nested = call("1", "t", &"[".repeat(100_000));
        assert_eq!(Digest::default().note_call(&nested.tool_calls[0]), "");
    }

    #[test]
    fn the_hosts_own_summary_is_carried_once() {
        let mut digest = Digest::default();
        digest.set_earlier("first");
        digest.set_earlier("second");
        digest.add(&sample());
        let text = digest.render(Language::Zh);
        assert!(text.ends_with("先前的总结：second") && !text.contains("first"), "{text}");
    }

    #[test]
    fn unreadable_json_is_an_empty_digest() {
        for json in ["", "null", "[[]]", "{\"messages\":-1}", "{"] {
            assert_eq!(Digest::from_json(json), Digest::default(), "{json}");
        }
    }

    fn any_message() -> impl Strategy<Value = Said> {
        let arguments = prop_oneof![
            "[a-c]{1,3}\\.rs".prop_map(|file| format!("{{\"path\":\"{file}\"}}")),
            "[a-c ]{0,400}".prop_map(|command| format!("{{\"command\":\"{command}\"}}")),
            "\\PC{0,20}",
        ];
        prop_oneof![
            "\\PC{0,300}".prop_map(|text| said("user", &text)),
            "(see [a-d]{1,2}\\.rs )?\\PC{0,40}".prop_map(|text| said("assistant", &text)),
            ("[0-9]", "[a-z]{1,3}", arguments).prop_map(|(id, name, arguments)| call(&id, &name, &arguments)),
            ("[0-9]", "(error: )?\\PC{0,300}").prop_map(|(id, text)| result(&id, &text, None)),
        ]
    }

    proptest! {
        #[test]
        fn nested_digests_are_as_flat_as_one(parts in prop::collection::vec(prop::collection::vec(any_message(), 0..12), 0..6)) {
            let mut step_by_step = Digest::default();
            for part in &parts {
                step_by_step.add(part);
                step_by_step = Digest::from_json(&step_by_step.to_json());
            }
            // Calls are answered within their part: ids of different parts must not meet.
            let renamed = parts.iter().enumerate().flat_map(|(i, part)| part.iter().cloned().map(move |mut message| {
                message.tool_call_id = message.tool_call_id.map(|id| format!("{i}-{id}"));
                message.tool_calls.iter_mut().for_each(|call| call.id = format!("{i}-{}", call.id));
                message
            }));
            let mut at_once = Digest::default();
            at_once.add(&renamed.collect::<Vec<_>>());
            prop_assert_eq!(&step_by_step, &at_once);
        }

        #[test]
        fn a_digest_is_bounded(messages in prop::collection::vec(any_message(), 0..200)) {
            let mut digest = Digest::default();
            digest.add(&messages);
            prop_assert!(digest.render(Language::Zh).chars().count() < 20_000);
            prop_assert_eq!(digest.messages, messages.len());
        }
    }
}
