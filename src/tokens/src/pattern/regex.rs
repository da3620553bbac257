//! Cuts text by a pattern of a file, with the regex crate: slower than a pattern written by hand, but in linear time.
//!
//! The only look-around that works is `\s+(?!\S)`, which nearly every pattern has: white space that gives its last character
//! back if something follows. A pattern that needs backtracking is refused, with the place in it.

use std::fmt::Display;

use regex::{Regex, RegexBuilder};
use regex_syntax::{
    ast::{self, Ast, RepetitionKind, Span, Visitor, parse::Parser},
    hir::translate::Translator,
};

/// Patterns one after the other: each cuts the pieces of the one before.
#[derive(Debug)]
pub(crate) struct Stages(Vec<Stage>);

#[derive(Debug)]
struct Stage {
    regex: Regex,
    /// True if group 1 is white space that gives back its last character.
    gives_back: bool,
}

/// Bytes a compiled pattern and its search may take, each.
const MOST_BYTES: usize = 10 << 20;
/// The one part that looks ahead and is understood, and the group that stands in for it.
const LAST_SPACE: &str = r"\s+(?!\S)";
const GROUP: &str = r"(\s+)";

impl Stages {
    /// The error is what is wrong with a pattern.
    pub(crate) fn new(patterns: &[impl AsRef<str>]) -> Result<Self, String> {
        patterns.iter().map(|pattern| Stage::new(pattern.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// Hands on the ends of pieces from `at` on, which must be the end of a piece of the first stage, until the receiver
    /// has enough; a piece of the first stage is always cut to its end.
    pub(crate) fn find(&self, text: &[u8], at: usize, mut push: impl FnMut(usize) -> bool) {
        let Some((first, rest)) = self.0.split_first() else { return };
        let Ok(text) = std::str::from_utf8(text) else { return };
        let mut start = at;
        first.cut(text, at, &mut |end| {
            let piece = text.get(start..end).unwrap_or_default();
            let wants_more = cut_further(rest, piece, start, &mut push);
            start = end;
            wants_more
        });
    }
}

/// Cuts a piece, which starts at `base` in the text, by the stages that are left.
fn cut_further(stages: &[Stage], piece: &str, base: usize, push: &mut dyn FnMut(usize) -> bool) -> bool {
    let Some((stage, rest)) = stages.split_first() else { return push(base + piece.len()) };
    let (mut start, mut wants_more) = (0, true);
    stage.cut(piece, 0, &mut |end| {
        wants_more = cut_further(rest, piece.get(start..end).unwrap_or_default(), base + start, push);
        start = end;
        true
    });
    wants_more
}

impl Stage {
    fn new(pattern: &str) -> Result<Self, String> {
        let gives_back = pattern.split('|').filter(|part| *part == LAST_SPACE).count();
        // The rest must still be matched where nothing follows a single space.
        let is_complete = pattern.ends_with(r"|\s+(?!\S)|\s+") || pattern.ends_with(r"|\s+(?!\S)|\s");
        let rewritten = if gives_back == 1 && is_complete {
            pattern.replace(LAST_SPACE, GROUP)
        } else {
            pattern.to_owned()
        };
        let gives_back = rewritten != pattern;
        check(&rewritten)?;
        let regex = RegexBuilder::new(&rewritten)
            .size_limit(MOST_BYTES)
            .dfa_size_limit(MOST_BYTES)
            .build()
            .map_err(|error| error.to_string())?;
        if regex.captures_len() > 1 + usize::from(gives_back) && gives_back {
            return Err("a pattern with groups of its own beside \\s+(?!\\S)".to_owned());
        }
        Ok(Self { regex, gives_back })
    }

    /// Hands on the ends of the matches from `at` on, and of what lies between them, until the receiver has enough.
    fn cut(&self, text: &str, mut at: usize, push: &mut dyn FnMut(usize) -> bool) {
        let mut from = at;
        while let Some(found) = self.regex.find_at(text, from) {
            let (start, mut end) = (found.start(), found.end());
            if self.gives_back {
                end = self.given_back(text, start, end);
            }
            if start == end {
                // An empty match cuts nothing; the next is looked for one character on.
                let Some(next) = text.get(end..).and_then(|rest| rest.chars().next()) else { break };
                from = end + next.len_utf8();
                continue;
            }
            if start > at && !push(start) {
                return;
            }
            (at, from) = (end, end);
            if !push(end) {
                return;
            }
        }
        if at < text.len() {
            push(text.len());
        }
    }

    /// The end of a match, without its last character if that is white space that may belong to what follows.
    fn given_back(&self, text: &str, start: usize, end: usize) -> usize {
        let Some(found) =
            text.get(start..end).filter(|found| end < text.len() && found.chars().all(char::is_whitespace))
        else {
            return end;
        };
        let last = found.char_indices().next_back().map_or(0, |(at, _)| at);
        let is_last_space =
            || self.regex.captures_at(text, start).is_some_and(|captures| captures.get(1).is_some());
        if last > 0 && is_last_space() { start + last } else { end }
    }
}

/// Refuses what the crate cannot match, and `a++` and `a{1,3}+`, which it would read as repeated repetitions.
fn check(pattern: &str) -> Result<(), String> {
    let told = |what: &dyn Display, span: &Span| format!("{what}, at offset {}", span.start.offset);
    let ast = Parser::new().parse(pattern).map_err(|error| told(error.kind(), error.span()))?;
    ast::visit(&ast, Possessive)?;
    let translated = Translator::new().translate(pattern, &ast);
    translated.map(drop).map_err(|error| told(error.kind(), error.span()))
}

struct Possessive;

impl Visitor for Possessive {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        match ast {
            Ast::Repetition(outer)
                if outer.op.kind == RepetitionKind::OneOrMore && matches!(*outer.ast, Ast::Repetition(_)) =>
            {
                Err(format!("a possessive repetition at offset {}", outer.op.span.start.offset))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_with_its_place() {
        let refused = |pattern| Stages::new(&[pattern]).expect_err("refused");
        assert_eq!(refused(r"a|\p{L}++"), "a possessive repetition at offset 8");
        assert_eq!(refused(r"\p{N}{1,3}+"), "a possessive repetition at offset 10");
        assert!(refused(r"a(?=b)").ends_with("at offset 1"), "{}", refused(r"a(?=b)"));
        assert!(Stages::new(&[r"\p{Ll}+[+{]+\++"]).is_ok());
    }
}
