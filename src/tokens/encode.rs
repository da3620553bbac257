//! Tokens of a text, and the text of tokens.
//!
//! The same pieces and merges as counting, without its cache: every piece is merged anew.

use std::{error::Error, fmt};

use super::{
    ends::{Ends, Scanner},
    merge::Scratch,
    vocabulary,
};

/// Appends the tokens of valid UTF-8 text.
pub(crate) fn encode(scratch: &mut Scratch, ends: &mut Ends, text: &[u8], tokens: &mut Vec<u32>) {
    let mut at = 0;
    while at < text.len() {
        ends.find(Scanner::Auto, text, at);
        for &end in ends.found() {
            scratch.encode(text.get(at..end).unwrap_or_default());
            tokens.extend_from_slice(&scratch.tokens);
            at = end;
        }
    }
}

/// The bytes of tokens; they need not be whole characters.
pub(crate) fn decode(tokens: &[u32]) -> Result<Vec<u8>, UnknownToken> {
    let mut text = Vec::with_capacity(tokens.len() * 4);
    for (position, &token) in tokens.iter().enumerate() {
        if !vocabulary::spell(token, &mut text) {
            return Err(UnknownToken { token, position });
        }
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
