//! The one table of encodings. The build script and the tests read it: an entry is all that another encoding takes here.

use tiktoken_rs::CoreBPE;

/// The name; the encoding whose tables it reads, itself or one that has the same ranks and perhaps more; the pattern, as
/// `src/pattern` names it; and tiktoken-rs's own encoding.
pub(crate) type Encoding = (&'static str, &'static str, &'static str, fn() -> Option<CoreBPE>);

/// Every encoding; those that others read the tables of come first.
pub(crate) const ENCODINGS: [Encoding; 6] = [
    ("cl100k_base", "cl100k_base", "Cl100k", || tiktoken_rs::cl100k_base().ok()),
    ("o200k_base", "o200k_base", "O200k", || tiktoken_rs::o200k_base().ok()),
    ("o200k_harmony", "o200k_base", "O200k", || tiktoken_rs::o200k_harmony().ok()),
    ("p50k_base", "p50k_base", "Gpt2", || tiktoken_rs::p50k_base().ok()),
    ("p50k_edit", "p50k_base", "Gpt2", || tiktoken_rs::p50k_edit().ok()),
    ("r50k_base", "p50k_base", "Gpt2", || tiktoken_rs::r50k_base().ok()),
];
