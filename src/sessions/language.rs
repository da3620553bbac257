//! The words of a digest in the two languages it comes in, and which of them a conversation is held in.

use std::fmt::Write as _;

use crate::text::is_chinese;

/// The language of what rules write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Chinese.
    Zh,
    /// English.
    En,
    /// That of the conversation.
    #[default]
    Auto,
}

impl Language {
    /// Itself, or for `Auto` the language that the texts are in; English without a letter.
    pub(super) fn or_that_of<'a>(self, texts: impl Iterator<Item = &'a String>) -> Self {
        if self != Self::Auto {
            return self;
        }
        if is_chinese(texts.flat_map(|text| text.chars())) == Some(true) { Self::Zh } else { Self::En }
    }

    pub(super) fn word(self, [chinese, english]: Words) -> &'static str {
        if self == Self::Zh { chinese } else { english }
    }

    /// Of all messages, those of the user, the assistant and tools.
    pub(super) fn counts(self, [messages, users, assistants, tools]: [usize; 4]) -> String {
        if self == Self::Zh {
            format!("已压缩 {messages} 条消息：用户 {users}，助手 {assistants}，工具 {tools}。")
        } else {
            format!(
                "{messages} messages compressed: {users} from the user, {assistants} from the assistant, {tools} from tools."
            )
        }
    }

    pub(super) fn error(self, tool: &str, target: &str, line: &str) -> String {
        let about = match self {
            _ if target.is_empty() => String::new(),
            Self::Zh => format!("（{target}）"),
            _ => format!(" ({target})"),
        };
        format!("- {tool}{about}{}{line}", self.word(COLON))
    }

    pub(super) fn write_list(self, text: &mut String, title: Words, items: impl Iterator<Item = String>) {
        let items = items.collect::<Vec<_>>().join(self.word(["、", ", "]));
        if !items.is_empty() {
            let _ = write!(text, "\n{}{}{items}", self.word(title), self.word(COLON));
        }
    }

    pub(super) fn write_lines(self, text: &mut String, title: Words, lines: impl Iterator<Item = String>) {
        for (i, line) in lines.enumerate() {
            if i == 0 {
                let _ = write!(text, "\n{}{}", self.word(title), self.word(COLON).trim_end());
            }
            let _ = write!(text, "\n{line}");
        }
    }
}

/// The same in Chinese and in English.
pub(super) type Words = [&'static str; 2];

pub(super) const REQUESTS: Words = ["最初的用户消息", "First user messages"];
pub(super) const TOOLS: Words = ["使用的工具", "Tools used"];
pub(super) const FILES: Words = ["涉及的文件", "Files"];
pub(super) const COMMANDS: Words = ["执行的命令", "Commands run"];
pub(super) const ERRORS: Words = ["未解决的错误", "Errors still open"];
pub(super) const EARLIER: Words = ["先前的总结", "Earlier summary"];
const COLON: Words = ["：", ": "];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_chinese_with_latin_names_in_it() {
        let language = |text: &str| Language::Auto.or_that_of([&text.to_owned()].into_iter());
        assert_eq!(language("请修复 src/parser/mod.rs 的错误"), Language::Zh);
        assert_eq!(language("Fix the 错误 in src/lib.rs, and run all of the tests again"), Language::En);
        assert_eq!(language(""), Language::En);
        assert_eq!(Language::Zh.or_that_of(std::iter::empty()), Language::Zh);
    }
}
