//! Mistral's `tekken.json`: ranks in base64, and the pattern. Special tokens come first, so ids are that many more than
//! ranks; of the ranks only as many are used as the configuration says.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{File, LoadError, builder};
use crate::arena::Arena;

#[derive(Deserialize)]
struct Tekken<'a> {
    config: Config,
    #[serde(borrow)]
    vocab: Vec<Entry<'a>>,
    #[serde(default)]
    special_tokens: Option<Vec<Special>>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: u64,
    default_num_special_tokens: u32,
}

#[derive(Deserialize)]
struct Entry<'a> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Special {
    rank: u32,
    token_str: String,
}

/// Returns `true` for a `tekken.json`, which begins with its configuration. Others begin with a version.
pub(super) fn is_one(text: &[u8]) -> bool {
    let key = br#"{"config":"#;
    text.iter().filter(|byte| !byte.is_ascii_whitespace()).take(key.len()).eq(key)
}

pub(super) fn read(text: &str) -> Result<File, LoadError> {
    let Tekken { config, vocab, special_tokens } =
        serde_json::from_str(text).map_err(|error| LoadError::of_json(&error))?;
    let offset = config.default_num_special_tokens;
    let used = config.default_vocab_size.saturating_sub(u64::from(offset));
    let mut tokens = Arena::default();
    for (at, Entry { rank, token_bytes }) in vocab.iter().enumerate() {
        if *rank >= used {
            continue;
        }
        let place = || format!("vocab[{at}]");
        let bytes = STANDARD
            .decode(token_bytes.as_ref())
            .map_err(|_| LoadError::new(place(), "token_bytes is not base64"))?;
        tokens.put_checked(rank + u64::from(offset), &bytes, place)?;
    }
    let special = special_tokens.unwrap_or_default();
    let added = special.iter().map(|token| builder::special(&token.token_str, token.rank)).collect();
    tokens.by_ranks(offset, vec![config.pattern], added)
}
