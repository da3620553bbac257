//! A summary in place of messages: the host's, or the digest's by rules. The digest is kept up to date in either case,
//! so that a later summary by rules knows everything; summaries never nest.

use serde::Serialize;

use super::digest::Digest;
use super::language::Language;
use super::message::{Said, tokens};
use crate::text::clip_chars;

/// The opening of a summary in a session.
pub const SUMMARY_LABEL: &str = "[上下文总结]";
/// Longest summary taken from a summariser, in characters before the ellipsis; 500 tokens were asked for.
const SUMMARY_CHARS: usize = 8000;

/// The outcome of a compression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The summary, with its label.
    pub text: String,
    /// True if the host's summariser made it.
    pub is_from_host: bool,
    /// The digest from now on, as JSON.
    pub digest: String,
    /// Tokens of what is let go, less those of the summary.
    pub tokens_saved: usize,
}

/// The summary of `messages`, by what the host answered or else by rules.
#[must_use]
pub fn summarise(digest: &str, answer: Option<&str>, messages: &[Said], language: Language) -> Summary {
    let mut digest = Digest::from_json(digest);
    let answer = answer.map(without_label).filter(|text| !text.is_empty());
    if let Some(answer) = &answer {
        digest.set_earlier(answer);
    }
    digest.add(messages);
    let is_from_host = answer.is_some();
    let text = format!("{SUMMARY_LABEL} {}", answer.unwrap_or_else(|| digest.render(language)));
    let own = Said { role: "assistant".to_owned(), content: text.clone(), ..Said::default() };
    let [before, after] = [messages, &[own]].map(|messages| tokens(messages).iter().sum::<usize>());
    let tokens_saved = before.saturating_sub(after);
    Summary { text, is_from_host, digest: digest.to_json(), tokens_saved }
}

fn without_label(answer: &str) -> String {
    let mut text = answer.trim();
    while let Some(rest) = text.strip_prefix(SUMMARY_LABEL) {
        text = rest.trim_start();
    }
    clip_chars(text, SUMMARY_CHARS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Said {
        Said { role: "user".into(), content: text.into(), ..Said::default() }
    }

    #[test]
    fn the_hosts_words_are_taken_and_labelled_once() {
        let answer = format!("{SUMMARY_LABEL} {SUMMARY_LABEL}\n the goal ");
        let made = summarise("", Some(&answer), &[said("a")], Language::Auto);
        assert_eq!((made.text.as_str(), made.is_from_host), ("[上下文总结] the goal", true));
        let rules = summarise(&made.digest, Some(" "), &[said("b")], Language::En);
        assert!(rules.text.starts_with("[上下文总结] 2 messages compressed") && !rules.is_from_host);
        assert!(rules.text.ends_with("Earlier summary: the goal"), "{}", rules.text);
    }

    #[test]
    fn a_summary_is_not_counted_as_a_message_again() {
        let first = summarise("", None, &[said("a"), said("b")], Language::En);
        let old = Said { is_summary: true, ..said(&first.text) };
        let next = summarise(&first.digest, None, &[old, said("c")], Language::En);
        assert!(next.text.contains(" 3 messages compressed"), "{}", next.text);
    }
}
