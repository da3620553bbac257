//! Reads Hugging Face's `tokenizer.json` with byte-level BPE. Refuses by name what else such a file may ask for, so that no
//! text is counted by half of it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use super::{File, GPT2, LoadError};
use crate::{
    added::AddedToken,
    arena::Arena,
    pairs::{MOST_RANK, Merge},
};

/// The members of a file that are read.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct TokenizerJson<'a> {
    normalizer: Value,
    pre_tokenizer: Value,
    added_tokens: Vec<AddedToken>,
    #[serde(borrow)]
    model: Model<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Model<'a> {
    r#type: Option<String>,
    continuing_subword_prefix: Value,
    end_of_word_suffix: Value,
    dropout: Value,
    ignore_merges: Option<bool>,
    unk_token: Option<String>,
    fuse_unk: Option<bool>,
    byte_fallback: Option<bool>,
    vocab: Option<Vocab>,
    #[serde(borrow)]
    merges: Option<Vec<Halves<'a>>>,
}

/// Tokens as they are written; none for a model that has them as a list.
#[derive(Default)]
struct Vocab(Arena);

pub(super) fn read(text: &str) -> Result<File, LoadError> {
    let file: TokenizerJson<'_> = serde_json::from_str(text).map_err(|error| LoadError::of_json(&error))?;
    let is_nfc = is_nfc(&file.normalizer, "normalizer")?;
    let model = file.model;
    model.check()?;
    let patterns = patterns(&file.pre_tokenizer)?;
    let (Some(vocab), Some(merges)) = (model.vocab, model.merges) else {
        return Err(LoadError::new("model", "has no vocab or no merges"));
    };
    let (merges, joints) = vocab.merges(&merges)?;
    let unknown_token = model.unk_token.map(|token| vocab.id(&token)).transpose();
    let (mut tokens, is_word) = vocab.spelled();
    let is_word = |id| is_word.get(id as usize) == Some(&true);
    let whole = (model.ignore_merges == Some(true)).then(|| tokens.index(is_word)).transpose()?;
    let unknown = |byte| match unknown_token? {
        _ if model.byte_fallback == Some(true) => {
            let what = format!("is not supported where no token is the byte 0x{byte:02x}");
            Err(LoadError::new("model.byte_fallback", what))
        }
        token => Ok((token, model.fuse_unk == Some(true))),
    };
    let added = file.added_tokens;
    let place = |at, _: &AddedToken| format!("added_tokens[{at}]");
    let words = tokens.words(is_word, (&merges, joints), whole, &added, unknown, place)?;
    Ok(File { words, tokens, patterns, added, is_nfc })
}

impl Model<'_> {
    /// Refuses what is not supported, by its name.
    fn check(&self) -> Result<(), LoadError> {
        if let Some(kind) = self.r#type.as_ref().filter(|kind| *kind != "BPE") {
            return Err(LoadError::new("model.type", unsupported(kind, "byte-level BPE is")));
        }
        let is_unset = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            number => number.as_f64() == Some(0.0),
        };
        let members = [
            ("continuing_subword_prefix", &self.continuing_subword_prefix),
            ("end_of_word_suffix", &self.end_of_word_suffix),
            ("dropout", &self.dropout),
        ];
        match members.into_iter().find(|(_, value)| !is_unset(value)) {
            Some((name, _)) => {
                Err(LoadError::new(format!("model.{name}"), "is not supported; it must be null"))
            }
            None => Ok(()),
        }
    }
}

fn kind_of(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or("a part without a type")
}

/// A file names its types freely: none of its characters may act on a terminal or a log.
fn unsupported(kind: &str, instead: &str) -> String {
    format!("{} is not supported; {instead}", kind.escape_debug())
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns `true` if the file composes text (NFC).
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
        (_, kind) => Err(LoadError::new(place, unsupported(kind, "NFC is"))),
    }
}

/// The patterns that cut text, one after the other.
fn patterns(pre_tokenizer: &Value) -> Result<Vec<String>, LoadError> {
    let steps = match kind_of(pre_tokenizer) {
        "Sequence" => list(pre_tokenizer, "pretokenizers"),
        _ => std::slice::from_ref(pre_tokenizer),
    };
    let (mut patterns, mut is_byte_level) = (Vec::new(), false);
    for (at, step) in steps.iter().enumerate() {
        let place =
            if steps.len() > 1 { &*format!("pre_tokenizer.pretokenizers[{at}]") } else { "pre_tokenizer" };
        if is_byte_level {
            return Err(LoadError::new(place, "stands behind ByteLevel, which must be the last"));
        }
        let pattern = pattern_of(step).map_err(|what| LoadError::new(place, what))?;
        patterns.extend(pattern.map(str::to_owned));
        is_byte_level = kind_of(step) == "ByteLevel";
    }
    if !is_byte_level {
        return Err(LoadError::new("pre_tokenizer", "has no ByteLevel; only byte-level BPE is supported"));
    }
    Ok(patterns)
}

/// The pattern of a step, if it has one. The error is what of it is not supported.
fn pattern_of(step: &Value) -> Result<Option<&str>, String> {
    Ok(Some(match kind_of(step) {
        "ByteLevel" if is_true(step, "add_prefix_space") => {
            return Err("add_prefix_space is not supported".to_owned());
        }
        "ByteLevel" if step.get("use_regex") == Some(&Value::Bool(false)) => return Ok(None),
        "ByteLevel" => GPT2,
        "Digits" if is_true(step, "individual_digits") => r"\p{N}",
        "Digits" => r"\p{N}+",
        "Split" => {
            let behavior = step.get("behavior").and_then(Value::as_str).unwrap_or_default();
            // An inverted pattern that removes takes nothing away: all text matches those that say so.
            if behavior != "Isolated" && !(behavior == "Removed" && is_true(step, "invert")) {
                return Err(format!("Split with behavior {behavior:?} is not supported; Isolated is"));
            }
            let pattern = step.pointer("/pattern/Regex").and_then(Value::as_str);
            pattern.ok_or("Split by anything but a Regex is not supported")?
        }
        kind => return Err(unsupported(kind, "Split, Digits and ByteLevel are")),
    }))
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

/// A text of the file, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Vocab {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VocabVisitor)
    }
}

struct VocabVisitor;

impl<'a> Visitor<'a> for VocabVisitor {
    type Value = Vocab;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ids by token")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Vocab, M::Error> {
        let mut written = Arena::default();
        while let Some((Text(token), id)) = map.next_entry()? {
            written.put_checked(id, token.as_bytes(), || shown(&token)).map_err(M::Error::custom)?;
        }
        Ok(Vocab(written))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut list: S) -> Result<Vocab, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Vocab::default())
    }
}

/// The halves of a merge, which files write as one text with a space or as a list of two.
struct Halves<'a>(Cow<'a, str>, Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Halves<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HalvesVisitor)
    }
}

struct HalvesVisitor;

impl<'a> Visitor<'a> for HalvesVisitor {
    type Value = Halves<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<Halves<'a>, E> {
        let halves = text.split_once(' ').filter(|(_, right)| !right.contains(' '));
        let (left, right) = halves.ok_or_else(|| E::custom("a merge is not two tokens"))?;
        Ok(Halves(left.into(), right.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Halves<'a>, E> {
        let Halves(left, right) = HalvesVisitor.visit_borrowed_str(text)?;
        Ok(Halves(left.into_owned().into(), right.into_owned().into()))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut list: S) -> Result<Halves<'a>, S::Error> {
        let (left, right) = (list.next_element()?, list.next_element()?);
        match (left, right, list.next_element::<IgnoredAny>()?) {
            (Some(Text(left)), Some(Text(right)), None) => Ok(Halves(left, right)),
            _ => Err(S::Error::custom("a merge is not two tokens")),
        }
    }
}

impl Vocab {
    /// The id of the unknown token.
    fn id(&self, token: &str) -> Result<u32, LoadError> {
        let found = self.0.iter().find(|(_, written)| *written == token.as_bytes());
        let missing =
            || LoadError::new("model.unk_token", format!("{} is not in the vocabulary", shown(token)));
        found.map(|(id, _)| id).ok_or_else(missing)
    }

    /// The merges in order, and the tokens that they make.
    fn merges(&self, merges: &[Halves<'_>]) -> Result<(Vec<Merge>, Vec<u32>), LoadError> {
        if merges.len() >= MOST_RANK as usize {
            return Err(LoadError::new("model.merges", format!("has more than {MOST_RANK} merges")));
        }
        let written = &self.0;
        let index = written.index(|_| true)?;
        let mut last = 0;
        let found = (0..).zip(merges).map(|(rank, Halves(left, right))| {
            let id = |token: &str| {
                let unknown = || format!("{} is not in the vocabulary", shown(token));
                let id = index.get(token.as_bytes());
                id.ok_or_else(|| LoadError::new(format!("model.merges[{rank}]"), unknown()))
            };
            // Most tokens are made in the order of their ids, some of them in several ways.
            let is_joint = |&id: &u32| {
                let behind = written.get(id).and_then(|token| token.strip_prefix(left.as_bytes()));
                behind == Some(right.as_bytes())
            };
            let near = [last, last + 1].into_iter().find(is_joint);
            let joint = near.map_or_else(|| id(&[&**left, &**right].concat()), Ok);
            let merge = Merge { left: id(left)?, right: id(right)?, rank };
            last = joint?;
            Ok((merge, last))
        });
        found.collect()
    }

    /// The bytes that are meant; by id, whether characters stand for them.
    fn spelled(self) -> (Arena, Vec<bool>) {
        let Self(written) = self;
        let mut are_words = vec![false; written.end() as usize];
        let (mut tokens, mut bytes) = (Arena::default(), Vec::new());
        for (id, token) in written.iter() {
            let text = str::from_utf8(token).unwrap_or_default();
            bytes.clear();
            bytes.extend(text.chars().map_while(byte_of));
            let is_word = bytes.len() == text.chars().count();
            tokens.put(id, if is_word { &bytes } else { token });
            if let Some(place) = are_words.get_mut(id as usize) {
                *place = is_word;
            }
        }
        (tokens, are_words)
    }
}

fn shown(text: &str) -> String {
    format!("token {:?}", text.chars().take(SHOWN).collect::<String>())
}

/// Characters shown of a token.
const SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes: Vec<u8> = ('\0'..=char::MAX).filter_map(byte_of).collect();
        bytes.sort_unstable();
        assert!(bytes.into_iter().eq(0..=255));
    }
}
