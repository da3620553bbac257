//! Hugging Face's `tokenizer.json`: byte-level BPE. What else such a file may ask for is refused by its name, so that no
//! text is ever counted by half of what stands in it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{File, GPT2, LoadError, builder::Tokens};
use crate::{
    added::Added,
    paired::{Index, Paired, Pairs},
};

#[derive(Deserialize)]
struct TokenizerJson<'a> {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    #[serde(borrow)]
    model: Model<'a>,
}

#[derive(Deserialize)]
struct Model<'a> {
    #[serde(default, borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    vocab: Option<&'a RawValue>,
    #[serde(borrow)]
    merges: Option<&'a RawValue>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    ignore_merges: bool,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the file's")]
struct AddedToken {
    id: u32,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    normalized: bool,
}

/// An error of JSON itself, by line and column.
pub(super) fn syntax(error: &serde_json::Error) -> LoadError {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    LoadError::new(format!("line {}, column {}", error.line(), error.column()), what)
}

pub(super) fn read(text: &str) -> Result<File, LoadError> {
    let TokenizerJson { normalizer, pre_tokenizer, added_tokens, model } =
        serde_json::from_str(text).map_err(|error| syntax(&error))?;
    let kind = model.kind.as_deref().unwrap_or("BPE");
    if kind != "BPE" {
        return Err(LoadError::new("model.type", format!("{kind} is not supported; byte-level BPE is")));
    }
    let patterns = patterns(&pre_tokenizer)?;
    let is_nfc = is_nfc(&normalizer, "normalizer")?;
    let is_set = |value: &Option<String>| value.as_deref().is_some_and(|value| !value.is_empty());
    for (name, is_set) in [
        ("model.continuing_subword_prefix", is_set(&model.continuing_subword_prefix)),
        ("model.end_of_word_suffix", is_set(&model.end_of_word_suffix)),
        ("model.dropout", model.dropout.is_some_and(|dropout| dropout > 0.0)),
    ] {
        if is_set {
            return Err(LoadError::new(name, "is not supported; it must be null"));
        }
    }
    let added: Vec<Added> = added_tokens.into_iter().map(Added::from).collect();
    let words = words(&model, &added, text)?;
    Ok(File { words, patterns, added, is_nfc })
}

impl From<AddedToken> for Added {
    fn from(token: AddedToken) -> Self {
        let AddedToken { id, content, special, lstrip, rstrip, single_word, normalized } = token;
        Self { content, id, special, lstrip, rstrip, single_word, normalized }
    }
}

fn kind_of(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or("no type")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// True if text is brought into composed form.
fn is_nfc(normalizer: &Value, place: &str) -> Result<bool, LoadError> {
    match (normalizer, kind_of(normalizer)) {
        (Value::Null, _) => Ok(false),
        (_, "NFC") => Ok(true),
        (_, "Sequence") => {
            let steps = list(normalizer, "normalizers").iter().enumerate();
            steps
                .map(|(at, step)| is_nfc(step, &format!("{place}.normalizers[{at}]")))
                .try_fold(false, |any, is| Ok(any | is?))
        }
        (_, kind) => Err(LoadError::new(place, format!("{kind} is not supported; NFC is"))),
    }
}

/// The patterns text is cut by, one after the other.
fn patterns(pre_tokenizer: &Value) -> Result<Vec<String>, LoadError> {
    let (mut patterns, mut is_byte_level) = (Vec::new(), false);
    let steps = match kind_of(pre_tokenizer) {
        "Sequence" => list(pre_tokenizer, "pretokenizers"),
        _ => std::slice::from_ref(pre_tokenizer),
    };
    for (at, step) in steps.iter().enumerate() {
        let place = || {
            if steps.len() > 1 {
                format!("pre_tokenizer.pretokenizers[{at}]")
            } else {
                "pre_tokenizer".to_owned()
            }
        };
        let refused = |what: String| Err(LoadError::new(place(), what));
        match kind_of(step) {
            _ if is_byte_level => {
                return refused("stands behind ByteLevel, which must be the last".to_owned());
            }
            "ByteLevel" if is_true(step, "add_prefix_space") => {
                return refused("add_prefix_space is not supported".to_owned());
            }
            "ByteLevel" => {
                is_byte_level = true;
                if step.get("use_regex").is_none_or(|uses| uses != &Value::Bool(false)) {
                    patterns.push(GPT2.to_owned());
                }
            }
            "Digits" => patterns
                .push(if is_true(step, "individual_digits") { r"\p{N}" } else { r"\p{N}+" }.to_owned()),
            "Split" => {
                let behavior = step.get("behavior").and_then(Value::as_str).unwrap_or_default();
                let Some(pattern) =
                    step.get("pattern").and_then(|pattern| pattern.get("Regex")).and_then(Value::as_str)
                else {
                    return refused("Split by anything but a Regex is not supported".to_owned());
                };
                // An inverted pattern that removes takes nothing away: all text matches those that say so.
                let is_isolated = behavior == "Isolated" || behavior == "Removed" && is_true(step, "invert");
                if !is_isolated {
                    return refused(format!(
                        "Split with behavior {behavior:?} is not supported; Isolated is"
                    ));
                }
                patterns.push(pattern.to_owned());
            }
            kind => return refused(format!("{kind} is not supported; Split, Digits and ByteLevel are")),
        }
    }
    if !is_byte_level {
        return Err(LoadError::new("pre_tokenizer", "has no ByteLevel; only byte-level BPE is supported"));
    }
    Ok(patterns)
}

/// The tokens of the model, those added, and how they merge.
fn words(model: &Model<'_>, added: &[Added], text: &str) -> Result<Paired, LoadError> {
    let (Some(vocab), Some(merges)) = (model.vocab, model.merges) else {
        return Err(LoadError::new("model", "has no vocab or no merges"));
    };
    let mut tokens = Tokens::default();
    let mut is_word = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(vocab.get());
    let visited = deserializer.deserialize_map(Vocab { tokens: &mut tokens, is_word: &mut is_word });
    visited.map_err(|error| within(&error, "model.vocab", vocab, text))?;
    let is_word = |id: u32| is_word.get(id as usize).copied().unwrap_or(false);
    let (index, single_bytes) = tokens.index(is_word)?;
    let mut deserializer = serde_json::Deserializer::from_str(merges.get());
    let mut found = Vec::new();
    let visitor = Merges { tokens: &tokens, index: &index, found: &mut found };
    deserializer.deserialize_seq(visitor).map_err(|error| within(&error, "model.merges", merges, text))?;
    let mut pairs = Pairs::new(found.len());
    for (rank, (left, right, joint)) in (0..).zip(found) {
        pairs.put(left, right, rank, joint);
    }
    for (at, token) in added.iter().enumerate() {
        tokens.put(u64::from(token.id), token.content.as_bytes(), || format!("added_tokens[{at}]"))?;
    }
    tokens.arena.shrink();
    Ok(Paired::new(tokens.arena, single_bytes, pairs, model.ignore_merges.then_some(index)))
}

/// An error inside a part of the file, by the part's name and its line in the file.
fn within(error: &serde_json::Error, name: &str, part: &RawValue, text: &str) -> LoadError {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default();
    let before = (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let lines = text.get(..before).unwrap_or_default().matches('\n').count();
    LoadError::new(format!("{name}, line {}", lines + error.line()), what)
}

/// The byte that stands for a character in byte-level files: printable ones for themselves, the others as characters from
/// U+0100 on.
fn byte_of(character: char) -> Option<u8> {
    let point = u32::from(character);
    match point {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(point as u8),
        0x100..=0x120 => Some((point - 0x100) as u8),
        0x121..=0x142 => Some((point - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// Replaces `bytes` by those a token is written for; false if it is not written as bytes.
fn bytes_of(token: &str, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    token.chars().all(|character| byte_of(character).map(|byte| bytes.push(byte)).is_some())
}

struct Vocab<'a> {
    tokens: &'a mut Tokens,
    /// By id: whether merges may make it.
    is_word: &'a mut Vec<bool>,
}

impl<'de> Visitor<'de> for Vocab<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of ids by token")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut bytes = Vec::new();
        while let Some(is_bytes) = map.next_key_seed(Bytes(&mut bytes))? {
            let id: u64 = map.next_value()?;
            self.tokens.put(id, &bytes, || shown(&bytes)).map_err(A::Error::custom)?;
            let at = id as usize;
            if at >= self.is_word.len() {
                self.is_word.resize(at + 1, false);
            }
            if let Some(place) = self.is_word.get_mut(at) {
                *place = is_bytes;
            }
        }
        Ok(())
    }
}

fn shown(bytes: &[u8]) -> String {
    /// Characters shown of a token.
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(bytes);
    format!("token {:?}", text.chars().take(SHOWN).collect::<String>())
}

/// A token's bytes, in a buffer that is used again; whether it is written as bytes, or else as the text it is.
struct Bytes<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Bytes<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Bytes<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }

    fn visit_str<E>(self, token: &str) -> Result<bool, E> {
        let is_bytes = bytes_of(token, self.0);
        if !is_bytes {
            self.0.clear();
            self.0.extend_from_slice(token.as_bytes());
        }
        Ok(is_bytes)
    }
}

/// Merges in order, each as the ids of its halves and of what they make.
struct Merges<'a> {
    tokens: &'a Tokens,
    index: &'a Index,
    found: &'a mut Vec<(u32, u32, u32)>,
}

impl<'de> Visitor<'de> for Merges<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        while let Some(()) = seq.next_element_seed(Merge { left: &mut left, right: &mut right })? {
            let find = |bytes: &[u8]| {
                self.index.get(&self.tokens.arena, bytes).ok_or_else(|| {
                    A::Error::custom(format_args!(
                        "merge {}: {} is not in the vocabulary",
                        self.found.len(),
                        shown(bytes)
                    ))
                })
            };
            let halves = (find(&left)?, find(&right)?);
            left.extend_from_slice(&right);
            let joint = find(&left)?;
            self.found.push((halves.0, halves.1, joint));
        }
        Ok(())
    }
}

/// A merge, written as one string with a space or as two.
struct Merge<'a> {
    left: &'a mut Vec<u8>,
    right: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Merge<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Merge<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens that merge")
    }

    fn visit_str<E: serde::de::Error>(self, merge: &str) -> Result<(), E> {
        let halves = merge.split_once(' ').filter(|(_, right)| !right.contains(' '));
        let is_read =
            halves.is_some_and(|(left, right)| bytes_of(left, self.left) && bytes_of(right, self.right));
        if is_read {
            Ok(())
        } else {
            Err(E::custom(format_args!("{:?} is not two tokens", merge.chars().take(60).collect::<String>())))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let is_left = seq.next_element_seed(Bytes(self.left))?;
        let is_right = seq.next_element_seed(Bytes(self.right))?;
        let has_more = seq.next_element::<serde::de::IgnoredAny>()?.is_some();
        if is_left == Some(true) && is_right == Some(true) && !has_more {
            Ok(())
        } else {
            Err(A::Error::custom("a merge is not two byte-level tokens"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut of: Vec<Option<u8>> =
            (0..0x143u32).chain([0x143]).filter_map(char::from_u32).map(byte_of).collect();
        of.retain(Option::is_some);
        of.sort_unstable();
        assert!(of.iter().copied().eq((0..=255).map(Some)));
    }
}
