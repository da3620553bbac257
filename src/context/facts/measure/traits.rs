//! Finds a message's traits: the identifiers and lines of its texts, the targets of its calls, and the layout of a long tool
//! result.

use super::input::{Part, Raw, RawRole};
use super::rules::Rules;
use crate::context::facts::shorten::LineSummary;
use crate::context::facts::traits::Traits;
use crate::context::facts::traits::identifiers::{Collector, Identifier};
use crate::context::facts::traits::lines::{self, Layout, Line, Sizes};
use crate::context::facts::traits::target::Target;
use crate::context::facts::transcript::Message;
use crate::text::{NEWLINE, Utf16Len, line_count};

impl Raw<'_> {
    pub(super) fn traits(&self, message: &Message, text_tokens: usize, rules: &Rules) -> Traits {
        let shortened = message.tool_result().and_then(|result| result.shortened.as_ref());
        let thinking = message.assistant().and_then(|assistant| assistant.thinking);
        let kept = match (shortened, thinking) {
            (Some(shortened), _) => {
                Some(self.identifiers(|part| !matches!(part, Part::Text(_)), Some(&shortened.text)))
            }
            (None, Some(_)) => Some(self.identifiers(|part| !matches!(part, Part::Thinking { .. }), None)),
            (None, None) => None,
        };
        let (targets, lines) = self.targets_and_lines(rules);
        let identifiers = self.identifiers(|_| true, None);
        let layout = shortened.and_then(|_| {
            let text = self.joined_text();
            let sizes = self.sizes(&text, text_tokens, message, rules);
            Layout::of(&text, &lines, &identifiers, sizes, |line| rules.tokens(line))
        });
        let kept_lines = shortened.map(|shortened| lines::of_texts([&*shortened.text].into_iter()));
        Traits { identifiers, kept, lines, kept_lines, layout, targets }
    }

    /// Sizes of `text`, which has `text_tokens` tokens, and of the markers for gaps in it.
    fn sizes(&self, text: &[u16], text_tokens: usize, message: &Message, rules: &Rules) -> Sizes {
        let omitted = line_count(text) - usize::from(text.ends_with(&[NEWLINE]));
        let (gap, first) = match self.role {
            RawRole::ToolResult { marker: Some(own), .. } => (own.to_vec(), own.to_vec()),
            _ => (rules.marker.gap(omitted), rules.marker.marker(omitted, Utf16Len(text.len()))),
        };
        let handle = rules.marker.handle(message.tool_result().and_then(|result| result.handle));
        let LineSummary { least_head, least_tail, .. } = rules.shortening;
        let tokens = |parts: &[&[u16]]| rules.tokens(&parts.concat()) as u32;
        let (line, first_line) = (tokens(&[&gap, &[NEWLINE]]), tokens(&[&first, &[NEWLINE]]));
        Sizes {
            text: text_tokens as u32,
            gap: line,
            once: first_line.saturating_sub(line) + tokens(&[&handle]),
            marker: tokens(&[&first, &handle]),
            least_head,
            least_tail,
        }
    }

    /// The targets of its calls, and the lines that calls and texts show.
    fn targets_and_lines(&self, rules: &Rules) -> (Box<[Target]>, Box<[Line]>) {
        let mut shown = Vec::new();
        let targets = self.parts.iter().filter_map(|part| match part {
            Part::Call { name, arguments, .. } => {
                let target = Target::of(name, arguments, &mut shown);
                let state = rules.keep.as_ref().and_then(|keep| keep.state_of(name, arguments, &target));
                Some(Target { state, ..target })
            }
            _ => None,
        });
        let targets = targets.collect();
        for part in &self.parts {
            if let Part::Text(text) | Part::Counted(text) = part {
                lines::add(text, &mut shown);
            }
        }
        (targets, lines::distinct(shown))
    }

    /// The identifiers of the chosen parts and of the text `more`.
    fn identifiers(&self, chosen: impl Fn(&Part<'_>) -> bool, more: Option<&[u16]>) -> Box<[Identifier]> {
        let mut collector = Collector::default();
        for part in self.parts.iter().filter(|part| chosen(part)) {
            match part {
                Part::Text(text) | Part::Counted(text) | Part::Thinking { text, .. } => collector.text(text),
                Part::Call { name, arguments, .. } => {
                    collector.text(name);
                    collector.json(arguments);
                }
                Part::Image { .. } | Part::Unknown => {}
            }
        }
        collector.text(more.unwrap_or_default());
        collector.finish()
    }
}
