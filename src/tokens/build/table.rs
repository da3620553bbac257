//! The one table of encodings. The build script and the tests read it: an entry is all that another encoding takes here.

use tiktoken_rs::CoreBPE;

pub(crate) struct Encoding {
    pub(crate) name: &'static str,
    /// The encoding whose tables it reads: its own, or those of one that has the same ranks and perhaps more after them.
    pub(crate) tables: &'static str,
    /// The pattern, as `src/pattern` names it.
    pub(crate) pattern: &'static str,
    /// True if an entry before it has the same ranks and pattern: the two differ in their special tokens.
    pub(crate) is_twin: bool,
    pub(crate) oracle: fn() -> Option<CoreBPE>,
}

pub(crate) const ENCODINGS: [Encoding; 6] = [
    Encoding {
        name: "cl100k_base",
        tables: "cl100k_base",
        pattern: "Cl100k",
        is_twin: false,
        oracle: || tiktoken_rs::cl100k_base().ok(),
    },
    Encoding {
        name: "o200k_base",
        tables: "o200k_base",
        pattern: "O200k",
        is_twin: false,
        oracle: || tiktoken_rs::o200k_base().ok(),
    },
    Encoding {
        name: "o200k_harmony",
        tables: "o200k_base",
        pattern: "O200k",
        is_twin: true,
        oracle: || tiktoken_rs::o200k_harmony().ok(),
    },
    Encoding {
        name: "p50k_base",
        tables: "p50k_base",
        pattern: "Gpt2",
        is_twin: false,
        oracle: || tiktoken_rs::p50k_base().ok(),
    },
    Encoding {
        name: "p50k_edit",
        tables: "p50k_base",
        pattern: "Gpt2",
        is_twin: true,
        oracle: || tiktoken_rs::p50k_edit().ok(),
    },
    Encoding {
        name: "r50k_base",
        tables: "p50k_base",
        pattern: "Gpt2",
        is_twin: false,
        oracle: || tiktoken_rs::r50k_base().ok(),
    },
];
