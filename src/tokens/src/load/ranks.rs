//! Reads tiktoken's files: a line is a token in base64 and its rank, which is its id. They do not hold the pattern.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{File, KNOWN, LoadError, LoadOptions, builder};
use crate::arena::Arena;

/// The error for a line. The file may be of another kind, such as GGUF, so it names those that are read.
const NO_RANK: &str = "is not a token in base64, a space and its rank; only tokenizer.json, tekken.json and files of ranks are read";

pub(super) fn read(file: &[u8], options: &LoadOptions) -> Result<File, LoadError> {
    let mut tokens = Arena::default();
    let mut bytes = Vec::new();
    for (number, line) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let place = || format!("line {number}");
        let (token, rank) = parse(line, &mut bytes).ok_or_else(|| LoadError::new(place(), NO_RANK))?;
        tokens.put_checked(rank, token, place)?;
    }
    let Some(pattern) = &options.pattern else {
        return Err(LoadError::new(
            "the file",
            "a tiktoken file does not say its pattern; give it as `pattern`, such as \"kimi\"",
        ));
    };
    let is_word = pattern.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    if is_word && !KNOWN.iter().any(|(spelling, _)| spelling == pattern) {
        let what = "is no regular expression, nor one of the names cl100k_base, o200k_base, gpt2, kimi";
        return Err(LoadError::new("the pattern", what));
    }
    let added = options.special_tokens.iter().map(|(text, id)| builder::special(text, *id)).collect();
    tokens.by_ranks(0, vec![pattern.clone()], added)
}

fn parse<'a>(line: &[u8], bytes: &'a mut Vec<u8>) -> Option<(&'a [u8], u64)> {
    let space = line.iter().position(|&byte| byte == b' ')?;
    let (token, rank) = line.split_at_checked(space)?;
    bytes.clear();
    STANDARD.decode_vec(token, bytes).ok()?;
    let rank = std::str::from_utf8(rank.trim_ascii()).ok()?.parse().ok()?;
    Some((bytes, rank))
}
