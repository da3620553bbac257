//! Tokens of a text, and the text of tokens.
//!
//! The same pieces and merges as counting, without its cache: every piece is looked up in the vocabulary or merged.

use std::{error::Error, fmt};

use super::{count, merge::Scratch, vocabulary};

/// Appends the tokens of valid UTF-8 text.
pub(crate) fn encode(scratch: &mut Scratch, ends: &mut Vec<usize>, text: &[u8], tokens: &mut Vec<u32>) {
    let mut at = 0;
    while at < text.len() {
        ends.clear();
        count::find_ends(count::Scanner::Auto, text, at, ends);
        for &end in ends.iter() {
            let piece = text.get(at..end).unwrap_or_default();
            if let Some(token) = vocabulary::word(piece) {
                tokens.push(token);
            } else {
                scratch.merge(piece);
                tokens.extend_from_slice(&scratch.tokens);
            }
            at = end;
        }
    }
}

/// The bytes of tokens; they need not be whole characters.
pub(crate) fn decode(tokens: &[u32]) -> Result<Vec<u8>, UnknownToken> {
    let mut text = Vec::with_capacity(tokens.len() * 4);
    for (position, &token) in tokens.iter().enumerate() {
        text.extend_from_slice(vocabulary::bytes(token).ok_or(UnknownToken { token, position })?);
    }
    Ok(text)
}

/// A number that is no token of cl100k_base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownToken {
    token: u32,
    position: usize,
}

impl fmt::Display for UnknownToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "token {} at position {} is not in cl100k_base, whose ids are 0 to {}",
            self.token,
            self.position,
            vocabulary::TOKENS - 1
        )
    }
}

impl Error for UnknownToken {}
