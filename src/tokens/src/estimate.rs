//! Estimates the provider's count from ours. Fields and comments call tokens of the hook's encoding cl100k, its default.

/// UTF-16 units taken for one token where nothing is tokenized: conservative for English and code, which have about
/// four; CJK text has one or less, so only an exact count is safe there.
pub const CHARS_PER_TOKEN: usize = 3;

/// Tokens of a text by its length alone, rounded up.
#[must_use]
pub fn by_length(text: &[u16]) -> usize {
    text.len().div_ceil(CHARS_PER_TOKEN)
}

/// Tokens a provider counts around each message: role and delimiters. OpenAI documents 3, Anthropic's counts show about 4.
pub const MESSAGE_FRAME_TOKENS: f64 = 4.0;

/// The measured parts of an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// cl100k tokens of the messages.
    pub cl100k: usize,
    /// Those of thinking in closed turns, which some providers and chat templates leave out.
    pub old_thinking: usize,
    /// Number of messages.
    pub messages: usize,
}

impl Size {
    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            cl100k: self.cl100k + more.cl100k,
            old_thinking: self.old_thinking + more.old_thinking,
            messages: self.messages + more.messages,
        }
    }

    /// The rest without `part`.
    #[must_use]
    pub fn minus(self, part: Self) -> Self {
        Self {
            cl100k: self.cl100k.saturating_sub(part.cl100k),
            old_thinking: self.old_thinking.saturating_sub(part.old_thinking),
            messages: self.messages.saturating_sub(part.messages),
        }
    }

    /// The size if the thinking of closed turns is left out.
    #[must_use]
    pub fn without_old_thinking(self) -> Self {
        Self { cl100k: self.cl100k.saturating_sub(self.old_thinking), old_thinking: 0, ..self }
    }
}

/// An estimate of the provider's prompt size: a line with a bend at the newest known prompt. Removed text is old, and may have
/// another rate than new text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Provider tokens of prompt and tools.
    pub base: f64,
    /// Provider tokens per cl100k token that stands there.
    pub scale: f64,
    /// Provider tokens around each message.
    pub frame: f64,
    /// cl100k tokens of the newest prompt.
    pub newest: f64,
    /// Provider tokens per cl100k token beyond it.
    pub growth: f64,
    /// True if the provider leaves out the thinking of closed turns.
    pub drops_old_thinking: bool,
}

impl Estimate {
    /// Without usage to learn from: plain cl100k.
    pub const PLAIN: Self =
        Self { base: 0.0, scale: 1.0, frame: 0.0, newest: 0.0, growth: 1.0, drops_old_thinking: false };

    /// Estimated prompt tokens of messages of this size.
    #[must_use]
    pub fn tokens(&self, size: Size) -> f64 {
        let size = if self.drops_old_thinking { size.without_old_thinking() } else { size };
        let counted = size.cl100k as f64;
        let come = (counted - self.newest).max(0.0);
        self.base + self.scale * (counted - come) + self.growth * come + self.frame * size.messages as f64
    }
}
