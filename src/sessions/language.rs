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
}

/// The words of one language.
pub(super) struct Phrases {
    pub(super) requests: &'static str,
    pub(super) tools: &'static str,
    pub(super) files: &'static str,
    pub(super) commands: &'static str,
    pub(super) errors: &'static str,
    pub(super) earlier: &'static str,
    pub(super) colon: &'static str,
    separator: &'static str,
    brackets: [&'static str; 2],
    /// Of all messages, those of the user, the assistant and tools.
    pub(super) counts: fn([usize; 4]) -> String,
}

const ZH: Phrases = Phrases {
    requests: "最初的用户消息",
    tools: "使用的工具",
    files: "涉及的文件",
    commands: "执行的命令",
    errors: "未解决的错误",
    earlier: "先前的总结",
    colon: "：",
    separator: "、",
    brackets: ["（", "）"],
    counts: |[messages, users, assistants, tools]| {
        format!("已压缩 {messages} 条消息：用户 {users}，助手 {assistants}，工具 {tools}。")
    },
};

const EN: Phrases = Phrases {
    requests: "First user messages",
    tools: "Tools used",
    files: "Files",
    commands: "Commands run",
    errors: "Errors still open",
    earlier: "Earlier summary",
    colon: ": ",
    separator: ", ",
    brackets: [" (", ")"],
    counts: |[messages, users, assistants, tools]| {
        format!(
            "{messages} messages compressed: {users} from the user, {assistants} from the assistant, {tools} from tools."
        )
    },
};

impl Phrases {
    pub(super) fn of(language: Language) -> &'static Self {
        if language == Language::Zh { &ZH } else { &EN }
    }

    pub(super) fn error(&self, tool: &str, target: &str, line: &str) -> String {
        let [open, close] = self.brackets;
        match target {
            "" => format!("- {tool}{}{line}", self.colon),
            _ => format!("- {tool}{open}{target}{close}{}{line}", self.colon),
        }
    }

    pub(super) fn write_list(&self, text: &mut String, title: &str, items: impl Iterator<Item = String>) {
        let items = items.collect::<Vec<_>>().join(self.separator);
        if !items.is_empty() {
            let _ = write!(text, "\n{title}{}{items}", self.colon);
        }
    }

    pub(super) fn write_lines(&self, text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
        for (i, line) in lines.enumerate() {
            if i == 0 {
                let _ = write!(text, "\n{title}{}", self.colon.trim_end());
            }
            let _ = write!(text, "\n{line}");
        }
    }
}

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
