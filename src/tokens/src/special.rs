//! The special tokens of an encoding. They are kept as one text until first use: a static list would be a thousand
//! addresses to relocate whenever a process loads the library.

use std::sync::OnceLock;

/// Special tokens, by id.
pub(crate) struct SpecialTokens {
    /// On each line an id, a space and its text.
    lines: &'static str,
    tokens: OnceLock<Vec<(u32, &'static str)>>,
}

impl SpecialTokens {
    pub(crate) const fn of(lines: &'static str) -> Self {
        Self { lines, tokens: OnceLock::new() }
    }

    pub(crate) fn tokens(&self) -> &[(u32, &'static str)] {
        self.tokens.get_or_init(|| {
            let read = |line: &'static str| {
                line.split_once(' ').and_then(|(id, text)| Some((id.parse().ok()?, text)))
            };
            self.lines.lines().filter_map(read).collect()
        })
    }

    pub(crate) fn text(&self, id: u32) -> Option<&'static str> {
        let tokens = self.tokens();
        let at = tokens.binary_search_by_key(&id, |&(known, _)| known).ok()?;
        tokens.get(at).map(|&(_, text)| text)
    }
}

impl From<Vec<(u32, &'static str)>> for SpecialTokens {
    fn from(tokens: Vec<(u32, &'static str)>) -> Self {
        Self { lines: "", tokens: OnceLock::from(tokens) }
    }
}
