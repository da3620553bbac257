//! From cl100k counts to what the provider will count.

/// UTF-16 units taken for one token where nothing is tokenized: conservative for English and code, which have about
/// four; CJK text has one or less, so only an exact count is safe there.
pub const CHARS_PER_TOKEN: usize = 3;

/// Tokens of a text by its length alone, rounded up.
#[must_use]
pub fn by_length(text: &[u16]) -> usize {
    text.len().div_ceil(CHARS_PER_TOKEN)
}

/// A linear estimate of the provider's prompt size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Tokens the provider counts beside the messages.
    pub base: f64,
    /// Provider tokens per cl100k token.
    pub scale: f64,
}

impl Estimate {
    /// Without usage to learn from: plain cl100k.
    pub const PLAIN: Self = Self { base: 0.0, scale: 1.0 };

    /// Estimated prompt tokens of messages that have this many cl100k tokens.
    #[must_use]
    pub fn tokens(&self, cl100k: usize) -> f64 {
        self.base + self.scale * cl100k as f64
    }

    /// cl100k tokens that fit into a prompt of `tokens`; 0 if the base alone fills it.
    #[must_use]
    pub fn cl100k_within(&self, tokens: f64) -> usize {
        ((tokens - self.base) / self.scale).max(0.0) as usize
    }
}
