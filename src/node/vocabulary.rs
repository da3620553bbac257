//! Loads vocabularies from files for JavaScript, on a worker thread.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use napi::bindgen_prelude::{Either, Uint8ArraySlice};
use napi_derive::napi;

use super::blocking::{Promise, blocking};
use super::encode::tokenizer;
use super::failure::{Failure, Result};
use super::guarded::guarded;
use crate::tokens::{LoadOptions, MOST_FILE_BYTES, Tokenizer};

/// Loads a vocabulary from a path or from bytes. Returns the number of its encoding. `lib/tokens/load.js` checks the name, and
/// for a tiktoken file the pattern and the special tokens: ids by text.
#[napi(ts_return_type = "Promise<number>")]
pub fn load_vocabulary(
    file: Either<String, Uint8ArraySlice<'_>>,
    name: String,
    pattern: Option<String>,
    special_tokens: BTreeMap<String, u32>,
) -> Result<Promise<f64>> {
    guarded(|| {
        let file = match file {
            Either::A(path) => Either::A(path),
            Either::B(bytes) => Either::B(bytes.to_vec()),
        };
        Ok(blocking(move || {
            let bytes = match file {
                Either::A(path) => read(&path)?,
                Either::B(bytes) => bytes,
            };
            let options = LoadOptions { name, pattern, special_tokens };
            let loaded = Tokenizer::load(bytes, &options);
            let loaded = loaded.map_err(|error| Failure::invalid(format!("{}: {error}", options.name)))?;
            Ok(loaded.number() as f64)
        }))
    })
}

/// Returns `true` if the engine's own scanner cuts text for this encoding.
#[napi]
pub fn encoding_is_fast(encoding: f64) -> Result<bool> {
    guarded(|| Ok(tokenizer(Some(encoding))?.is_fast()))
}

/// Reads a file, at most one byte more than a vocabulary may have.
fn read(path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        if let Ok(known) = file.metadata() {
            bytes.reserve_exact((known.len() as usize).min(MOST_FILE_BYTES) + 1);
        }
        file.take(MOST_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)
    });
    read.map_err(|error| Failure::invalid(format!("cannot read {path}: {error}")))?;
    Ok(bytes)
}
