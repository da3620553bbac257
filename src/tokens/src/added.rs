//! Prepares text as a file asks, before it is cut into pieces: finds the file's own tokens in it, and brings the rest into
//! Unicode's composed form.

use std::borrow::Cow;

use serde::Deserialize;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::classes::is_newer;

/// A token that is found in text as it is written.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the file's")]
pub(crate) struct AddedToken {
    pub(crate) id: u32,
    pub(crate) content: String,
    /// A control token: ordinary text, unless the caller allows it.
    #[serde(default)]
    pub(crate) special: bool,
    /// White space before it, or behind it, belongs to it.
    #[serde(default)]
    pub(crate) lstrip: bool,
    #[serde(default)]
    pub(crate) rstrip: bool,
    /// Not found inside words.
    #[serde(default)]
    pub(crate) single_word: bool,
    /// Looked for in the normalised text.
    #[serde(default)]
    pub(crate) normalized: bool,
}

/// Finds added tokens in one pass over a text.
#[derive(Debug, Default)]
struct Matcher {
    /// Sorted by content.
    tokens: Vec<AddedToken>,
    /// The first bytes of the tokens.
    firsts: Vec<u8>,
}

/// The steps of preparing text.
#[derive(Debug, Default)]
pub(crate) struct Preparation {
    /// Tokens looked for in the text as it came, and in the normalised text.
    raw: Matcher,
    normalized: Matcher,
    is_nfc: bool,
}

/// A part of a prepared text.
pub(crate) enum Part<'a> {
    /// To be cut into pieces.
    Text(&'a str),
    Token(u32),
}

impl Preparation {
    pub(crate) fn new(added: Vec<AddedToken>, is_nfc: bool) -> Self {
        let (normalized, raw): (Vec<_>, Vec<_>) = added.into_iter().partition(|token| token.normalized);
        let compose = |token: AddedToken| {
            let content = if is_nfc { composed(&token.content) } else { token.content };
            AddedToken { content, ..token }
        };
        let normalized = normalized.into_iter().map(compose).collect();
        Self { raw: Matcher::new(raw), normalized: Matcher::new(normalized), is_nfc }
    }

    /// Passes the parts of a text to `take` until it returns `false`. `with_special`: finds special tokens, too.
    pub(crate) fn parts(&self, text: &str, with_special: bool, take: &mut dyn FnMut(Part<'_>) -> bool) {
        self.raw.split(text, with_special, &mut |part| match part {
            Part::Token(_) => take(part),
            Part::Text(text) => self.normalized.split(&self.compose(text), with_special, take),
        });
    }

    fn compose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.is_nfc || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(composed(text))
        }
    }
}

/// Composes a text as the tokenizers library does, by Unicode 9. Later characters stay where they are.
fn composed(text: &str) -> String {
    let mut composed = String::with_capacity(text.len());
    for part in text.split_inclusive(is_newer) {
        let known = part.trim_end_matches(is_newer);
        composed.extend(known.nfc());
        composed.push_str(part.get(known.len()..).unwrap_or_default());
    }
    composed
}

impl Matcher {
    fn new(mut tokens: Vec<AddedToken>) -> Self {
        tokens.retain(|token| !token.content.is_empty());
        tokens.sort_by(|a, b| a.content.cmp(&b.content));
        let mut firsts: Vec<u8> = tokens.iter().filter_map(|token| token.content.bytes().next()).collect();
        firsts.dedup();
        Self { tokens, firsts }
    }

    /// The next place from `at` on where a token may begin.
    #[inline(always)]
    fn candidate(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = match *self.firsts {
            [] => None,
            [one] => memchr::memchr(one, rest),
            [one, two] => memchr::memchr2(one, two, rest),
            [one, two, three] => memchr::memchr3(one, two, three, rest),
            _ => rest.iter().position(|byte| self.firsts.contains(byte)),
        };
        found.map(|found| at + found)
    }

    /// The longest token that `text` starts with. It is the nearest before `text` in order, or before what the nearest one
    /// shares with it.
    fn longest(&self, mut text: &[u8]) -> Option<&AddedToken> {
        loop {
            let end = self.tokens.partition_point(|token| token.content.as_bytes() <= text);
            let nearest = self.tokens.get(..end)?.last()?;
            let shared = nearest.content.bytes().zip(text).take_while(|(a, b)| a == *b).count();
            if shared == nearest.content.len() {
                return Some(nearest);
            }
            text = text.get(..shared)?;
        }
    }

    /// Passes on the parts that the tokenizers library cuts. Returns `false` once `take` did.
    fn split(&self, text: &str, with_special: bool, take: &mut dyn FnMut(Part<'_>) -> bool) -> bool {
        let (mut done, mut at) = (0, 0);
        while let Some(start) = self.candidate(text.as_bytes(), at) {
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            let Some(token) = self.longest(rest) else {
                at = start + 1;
                continue;
            };
            let mut end = start + token.content.len();
            at = end;
            let (before, after) =
                (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
            if token.special && !with_special || token.single_word && is_in_word(before, after) {
                continue;
            }
            let start = if token.lstrip { before.trim_end().len().max(done) } else { start };
            if token.rstrip {
                end += after.len() - after.trim_start().len();
            }
            let text = text.get(done..start).unwrap_or_default();
            if !text.is_empty() && !take(Part::Text(text)) || !take(Part::Token(token.id)) {
                return false;
            }
            done = end;
        }
        let rest = text.get(done..).unwrap_or_default();
        rest.is_empty() || take(Part::Text(rest))
    }
}

fn is_in_word(before: &str, after: &str) -> bool {
    let is_word = |character| regex_syntax::try_is_word_character(character).unwrap_or(false);
    before.chars().next_back().is_some_and(is_word) || after.chars().next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(content: &str, id: u32) -> AddedToken {
        AddedToken { id, content: content.to_owned(), ..AddedToken::default() }
    }

    fn cut(added: Vec<AddedToken>, is_nfc: bool, with_special: bool, text: &str) -> Vec<String> {
        let mut parts = Vec::new();
        Preparation::new(added, is_nfc).parts(text, with_special, &mut |part| {
            parts.push(match part {
                Part::Text(text) => text.to_owned(),
                Part::Token(id) => format!("#{id}"),
            });
            true
        });
        parts
    }

    #[test]
    fn the_longest_token_is_found_where_several_begin() {
        let tokens = || vec![token("<a", 1), token("<a>b", 2), token("<", 3), token("[x]", 4)];
        assert_eq!(
            cut(tokens(), false, false, "1<a>b2<a>3<[x]<"),
            ["1", "#2", "2", "#1", ">3", "#3", "#4", "#3"]
        );
        assert_eq!(cut(tokens(), false, false, ""), Vec::<String>::new());
    }

    #[test]
    fn what_the_file_says_of_a_token_holds() {
        let special = AddedToken { special: true, ..token("<s>", 1) };
        assert_eq!(cut(vec![special.clone()], false, false, "a<s>b"), ["a<s>b"]);
        assert_eq!(cut(vec![special], false, true, "a<s>b"), ["a", "#1", "b"]);
        let stripping = AddedToken { lstrip: true, rstrip: true, ..token("<s>", 1) };
        assert_eq!(cut(vec![stripping], false, false, "a \n<s> \u{3000}b"), ["a", "#1", "b"]);
        let alone = AddedToken { single_word: true, ..token("<s>", 1) };
        let text = "a<s> e\u{301}<s> <s>½";
        assert_eq!(cut(vec![alone], false, false, text), ["a<s> e\u{301}<s> ", "#1", "½"]);
        let composed = AddedToken { normalized: true, ..token("e\u{301}", 1) };
        assert_eq!(cut(vec![composed.clone()], true, false, "xe\u{301}e\u{300}"), ["x", "#1", "\u{e8}"]);
        assert_eq!(cut(vec![AddedToken { normalized: false, ..composed }], true, false, "é"), ["é"]);
    }

    #[test]
    fn what_came_after_unicode_9_is_not_moved() {
        // Below and above: the first is put first, the Bengali mark of Unicode 11 is not.
        assert_eq!(composed("ae\u{301}\u{323}"), "a\u{1eb9}\u{301}");
        assert_eq!(composed("e\u{9fe}\u{323}\u{9fe}e\u{301}"), "e\u{9fe}\u{323}\u{9fe}\u{e9}");
    }
}
