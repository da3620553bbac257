//! Counts, encodes and decodes text exactly, by OpenAI's vocabularies and by those of files.
//!
//! Text of special tokens is ordinary text. A count takes three steps:
//!
//! 1. `ends` finds the ends of the pieces that a vocabulary's `pattern` cuts: by arithmetic on bit masks of 64 ASCII bytes
//!    (`blocks`; `simd` makes the masks), and piece by piece beyond ASCII (`classes`).
//! 2. `cache` looks up the counts of short pieces, and those of whole `spans` of a text.
//! 3. `merge` encodes a piece that the cache does not have: a `short` one on the stack, a longer one in windows. `pairs` says
//!    which tokens merge.
//!
//! The build script embeds five bytes a token, which are read in place and shared between processes: 0.5 MB for cl100k_base,
//! 1.0 for o200k_base and o200k_harmony, 0.3 for p50k_base, p50k_edit and r50k_base. The first count by a vocabulary lays
//! out its `pairs`, once a process: 1.6, 2.8 and 1.1 MB. The first decoding lays out its tokens (`arena`).
//!
//! A thread keeps a bounded state between calls, for each vocabulary that it counts or encodes by: 1 MB for counts of pieces
//! of up to 14 bytes, 1 MB for counts of longer pieces and spans, 1 MB for tokens of pieces of up to 14 bytes, and 4.5 MB for
//! tokens of spans. All vocabularies share 1 MB of UTF-16 turned to UTF-8. Counts of pieces begin with the frequent tokens; all else is laid out
//! when it is first needed.
//!
//! The modules show their parts on examples: `blocks` the masks of a line of code, `spans` an edited text, `merge` why
//! windows are enough.
//!
//! # Measured
//!
//! - Without the filter in `pairs`: a quarter slower, as most pairs never merge.
//! - Two branches for the two new neighbours of a merge instead of one for both: a twelfth slower.
//! - Without the table of what two bytes make: new words a sixth slower, base64 a quarter.
//! - Turning UTF-16 to UTF-8 by the standard library: Chinese and Japanese took more than twice as long.
//! - Caching spans at first sight: a tenth slower there.
//! - Merging long pieces by a heap alone, without windows: a megabyte of one letter at 2 MB/s instead of 150.
//! - Masks without vector instructions: English at first sight a quarter slower.
//! - The rules of a pattern as a value instead of constants: a tenth slower.

mod added;
mod arena;
mod blocks;
mod cache;
mod classes;
mod count;
mod encode;
mod ends;
pub mod estimate;
mod load;
mod merge;
mod packing;
mod pairs;
mod pattern;
mod short;
mod simd;
mod spans;
mod utf16;
mod vocabulary;

use std::{
    cell::{Cell, RefCell},
    error::Error,
    fmt,
    hash::{Hash, Hasher},
};

#[doc(hidden)]
pub use self::load::read_anything;
pub use self::load::{LoadError, LoadOptions, MOST_FILE_BYTES};
use self::{
    added::Part,
    count::Counter,
    encodings::{TOKENIZERS, VOCABULARIES},
    load::FilePreparation,
    vocabulary::Vocabulary,
};

/// The tables that the build script makes by `build/encodings.rs`.
#[expect(clippy::unreadable_literal, reason = "no one reads the ids there")]
mod encodings {
    use super::{
        Tokenizer,
        pattern::Pattern,
        vocabulary::{Tables, Vocabulary},
    };

    include!(concat!(env!("OUT_DIR"), "/encodings.rs"));
}

thread_local! {
    /// The counters by the number of their vocabulary.
    static COUNTERS: RefCell<Vec<Option<Box<Counter>>>> = const { RefCell::new(Vec::new()) };
    /// The buffer that UTF-16 is turned into, and that the text of tokens is put together in.
    static TEXT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Longest buffer kept for the next text.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// An encoding: the pattern that cuts text into pieces, the ranks that make them tokens, and the special tokens.
///
/// ```
/// use pi_strata_tokens::Tokenizer;
///
/// let o200k = Tokenizer::named("o200k_base").expect("one of the six");
/// assert_eq!(o200k.count("hello world"), 2);
/// assert_eq!(o200k.encode("hello world"), [24912, 2375]);
/// assert_eq!(o200k.decode(&[24912, 2375]).as_deref(), Ok("hello world".as_bytes()));
/// ```
pub struct Tokenizer {
    /// Position among all encodings of this process.
    number: usize,
    name: &'static str,
    vocabulary: &'static Vocabulary,
    special: &'static [(u32, &'static str)],
    /// Set for an encoding that was read from a file.
    loaded: Option<&'static FilePreparation>,
}

impl Tokenizer {
    /// Every encoding there is.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TOKENIZERS
    }

    /// cl100k_base, the default.
    #[must_use]
    pub fn cl100k() -> &'static Self {
        &TOKENIZERS[0]
    }

    /// The encoding of this name; r50k_base is also called gpt2.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = if name == "gpt2" { "r50k_base" } else { name };
        TOKENIZERS.iter().find(|known| known.name == name)
    }

    /// OpenAI's name of it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The special tokens, by id. No function here finds them in text: a caller who wants them cuts the text around them.
    #[must_use]
    pub fn special_tokens(&self) -> &'static [(u32, &'static str)] {
        self.special
    }

    /// Tokens of `text`, exactly as tiktoken's `encode_ordinary` counts them.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        let count = self.with_counter(|counter| self.count_parts(counter, text.as_bytes(), usize::MAX));
        count.unwrap_or(usize::MAX)
    }

    /// Tokens of UTF-16 text; a lone surrogate counts as U+FFFD.
    #[must_use]
    pub fn count_utf16(&self, units: &[u16]) -> usize {
        self.count_utf16_till_limit(units, usize::MAX).unwrap_or(usize::MAX)
    }

    /// Tokens of UTF-16 text if they are at most `limit`; stops soon after passing it.
    #[must_use]
    pub fn count_utf16_till_limit(&self, units: &[u16], limit: usize) -> Option<usize> {
        with_text(|text| {
            utf16::append(units, text);
            self.with_counter(|counter| self.count_parts(counter, text, limit))
        })
    }

    /// Tokens of `text` in order; special-token text is ordinary text.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 3);
        self.with_counter(|counter| self.encode_parts(counter, text.as_bytes(), false, &mut tokens));
        tokens
    }

    /// Appends the tokens of UTF-16 text; a lone surrogate is U+FFFD. `with_special`: a loaded encoding finds its special
    /// tokens in the text.
    pub fn encode_utf16(&self, units: &[u16], with_special: bool, tokens: &mut Vec<u32>) {
        with_text(|text| {
            utf16::append(units, text);
            self.with_counter(|counter| self.encode_parts(counter, text, with_special, tokens));
        });
    }

    /// Hands the parts of UTF-8 text to `take`, until it returns false.
    fn parts(&self, text: &[u8], with_special: bool, take: &mut dyn FnMut(Part<'_>) -> bool) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        match self.loaded {
            Some(loaded) => loaded.preparation.parts(text, with_special, take),
            None => {
                take(Part::Text(text));
            }
        }
    }

    /// Tokens of valid UTF-8 text if they are at most `limit`.
    #[inline(always)]
    fn count_parts(&self, counter: &mut Counter, text: &[u8], limit: usize) -> Option<usize> {
        if self.loaded.is_none() {
            return counter.count(text, limit);
        }
        let mut total = Some(0);
        self.parts(text, false, &mut |part| {
            total = total.and_then(|total: usize| {
                let added = match part {
                    Part::Text(text) => counter.count(text.as_bytes(), limit - total)?,
                    Part::Token(_) => 1,
                };
                Some(total + added).filter(|&total| total <= limit)
            });
            total.is_some()
        });
        total
    }

    /// Appends the tokens of valid UTF-8 text.
    #[inline(always)]
    fn encode_parts(&self, counter: &mut Counter, text: &[u8], with_special: bool, tokens: &mut Vec<u32>) {
        if self.loaded.is_none() {
            return counter.encode(text, tokens);
        }
        self.parts(text, with_special, &mut |part| {
            match part {
                Part::Text(text) => counter.encode(text.as_bytes(), tokens),
                Part::Token(id) => tokens.push(id),
            }
            true
        });
    }

    /// The bytes of tokens, special ones too; they need not be whole characters.
    ///
    /// # Errors
    /// [`UnknownToken`] names the first number that is no token and its position.
    pub fn decode(&self, tokens: &[u32]) -> Result<Vec<u8>, UnknownToken> {
        self.decode_with(tokens, <[u8]>::to_vec)
    }

    /// Hands the bytes of tokens to `take`, without a copy.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_with<T>(&self, tokens: &[u32], take: impl FnOnce(&[u8]) -> T) -> Result<T, UnknownToken> {
        let special = |id| {
            let found = self.special.iter().find(|(known, _)| *known == id);
            found.map(|(_, text)| text.as_bytes())
        };
        with_text(|text| {
            let decoded = self.vocabulary.tokens().decode(tokens, special, text);
            decoded.map(|()| take(text)).map_err(|position| UnknownToken {
                token: tokens.get(position).copied().unwrap_or_default(),
                position,
                encoding: self.name,
                last: self.vocabulary.end().saturating_sub(1),
            })
        })
    }

    /// Runs `task` with this thread's counter of the vocabulary. It is taken out meanwhile, so a panic leaves nothing
    /// half-done behind.
    fn with_counter<T>(&self, task: impl FnOnce(&mut Counter) -> T) -> T {
        let number = self.vocabulary.number;
        let taken = COUNTERS.try_with(|all| all.borrow_mut().get_mut(number).and_then(Option::take));
        let mut counter = taken.ok().flatten().unwrap_or_else(|| Box::new(Counter::new(self.vocabulary)));
        let result = task(&mut counter);
        // A thread that is ending has no place to keep it.
        let _ = COUNTERS.try_with(|all| {
            let mut all = all.borrow_mut();
            if all.len() <= number {
                all.resize_with(number + 1, || None);
            }
            if let Some(place) = all.get_mut(number) {
                *place = Some(counter);
            }
        });
        result
    }
}

/// Runs `task` with this thread's empty buffer.
fn with_text<T>(task: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut text = TEXT.try_with(Cell::take).unwrap_or_default();
    let result = task(&mut text);
    text.clear();
    text.shrink_to(KEPT_BUFFER_BYTES);
    let _ = TEXT.try_with(|kept| kept.set(text));
    result
}

impl PartialEq for Tokenizer {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Tokenizer {}

impl Hash for Tokenizer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokenizer").field(&self.name).finish()
    }
}

/// A number that is no token of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownToken {
    token: u32,
    position: usize,
    encoding: &'static str,
    last: u32,
}

impl fmt::Display for UnknownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, position, encoding, last } = self;
        write!(
            f,
            "token {token} at position {position} is not in {encoding}, whose ids are 0 to {last} and those of its special tokens"
        )
    }
}

impl Error for UnknownToken {}
