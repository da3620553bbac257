//! Hugging Face's `tokenizer.json`: byte-level BPE. What else such a file may ask for is refused by its name, so that no
//! text is ever counted by half of what stands in it.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    File, GPT2, LoadError,
    builder::{Merge, Words, index},
    json::Json,
};
use crate::{
    added::Added,
    pair_table::{Arena, Index},
};

/// What is read of a file; nothing stands in it that is not in the file.
#[derive(Default)]
struct TokenizerJson {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    added: Vec<Added>,
    model: Option<Model>,
}

#[derive(Default)]
struct Model {
    kind: Option<String>,
    /// Members that must not be set.
    set: Vec<&'static str>,
    ignores_merges: bool,
    vocab: Option<Vocab>,
    merges: Option<Vec<Merge>>,
}

/// Tokens as they are written, and as the merges name them.
struct Vocab {
    written: Arena,
    index: Index,
}

pub(super) fn read(text: &[u8]) -> Result<File, LoadError> {
    let mut file = TokenizerJson::default();
    let outcome = file.fill(&mut Json::new(text));
    // What a file asks for explains more of it than where it could not be read any further.
    let patterns = file.pre_tokenizer.as_ref().map(patterns).transpose()?;
    let is_nfc = is_nfc(file.normalizer.as_ref().unwrap_or(&Value::Null), "normalizer")?;
    let model = file.model.unwrap_or_default();
    if let Some(kind) = model.kind.filter(|kind| kind != "BPE") {
        return Err(LoadError::new("model.type", format!("{kind} is not supported; byte-level BPE is")));
    }
    if let Some(name) = model.set.first() {
        return Err(LoadError::new(format!("model.{name}"), "is not supported; it must be null"));
    }
    outcome?;
    let patterns = patterns.map_or_else(|| self::patterns(&Value::Null), Ok)?;
    let (Some(vocab), Some(merges)) = (model.vocab, model.merges) else {
        return Err(LoadError::new("model", "has no vocab or no merges"));
    };
    let (tokens, is_word) = vocab.spelled()?;
    let is_word = |id| is_word.get(id as usize) == Some(&true);
    let single_bytes = tokens.single_bytes(is_word)?;
    let whole = model.ignores_merges.then(|| index(&tokens, is_word)).transpose()?;
    let mut words = Words { tokens, single_bytes, merges, first: None, whole };
    for (at, token) in file.added.iter().enumerate() {
        words
            .tokens
            .put_checked(u64::from(token.id), token.content.as_bytes(), || format!("added_tokens[{at}]"))?;
    }
    Ok(File { words, patterns, added: file.added, is_nfc })
}

impl TokenizerJson {
    fn fill(&mut self, json: &mut Json<'_>) -> Result<(), LoadError> {
        json.object(|json, key| {
            match key {
                b"normalizer" => self.normalizer = Some(json.value()?),
                b"pre_tokenizer" => self.pre_tokenizer = Some(json.value()?),
                b"added_tokens" => self.added = json.value()?,
                b"model" => self.model.insert(Model::default()).fill(json)?,
                _ => drop(json.value::<IgnoredAny>()?),
            }
            Ok(())
        })?;
        json.end()
    }
}

impl Model {
    fn fill(&mut self, json: &mut Json<'_>) -> Result<(), LoadError> {
        let mut late = None;
        json.object(|json, key| {
            match key {
                b"type" => self.kind = json.value()?,
                b"continuing_subword_prefix" => self.sets("continuing_subword_prefix", &json.value()?),
                b"end_of_word_suffix" => self.sets("end_of_word_suffix", &json.value()?),
                b"dropout" => self.sets("dropout", &json.value()?),
                b"ignore_merges" => self.ignores_merges = json.value::<Option<bool>>()?.unwrap_or(false),
                // Other models have a list there.
                b"vocab" if json.peek()? == b'{' => self.vocab = Some(Vocab::read(json)?),
                b"merges" => match &self.vocab {
                    Some(vocab) => self.merges = Some(merges(vocab, json)?),
                    None => late = Some(json.fork()?),
                },
                _ => drop(json.value::<IgnoredAny>()?),
            }
            Ok(())
        })?;
        if let (Some(mut json), Some(vocab)) = (late, &self.vocab) {
            self.merges = Some(merges(vocab, &mut json)?);
        }
        Ok(())
    }

    /// Notes a member that is set.
    fn sets(&mut self, name: &'static str, value: &Value) {
        let is_unset = match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            number => number.as_f64() == Some(0.0),
        };
        if !is_unset {
            self.set.push(name);
        }
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

/// The byte that stands for a character in byte-level files: printable ones for themselves, the others as characters from
/// U+0100 on.
const fn byte_of(point: usize) -> Option<u8> {
    match point {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => Some(point as u8),
        0x100..=0x120 => Some((point - 0x100) as u8),
        0x121..=0x142 => Some((point - 0x121 + 0x7f) as u8),
        0x143 => Some(0xad),
        _ => None,
    }
}

/// [`byte_of`] every character it knows.
#[expect(clippy::indexing_slicing, reason = "the compiler does it")]
const BYTES: [Option<u8>; 0x144] = {
    let (mut bytes, mut point) = ([None; 0x144], 0);
    while point < bytes.len() {
        bytes[point] = byte_of(point);
        point += 1;
    }
    bytes
};

impl Vocab {
    fn read(json: &mut Json<'_>) -> Result<Self, LoadError> {
        let mut written = Arena::default();
        json.object(|json, token| {
            let id = json.number()?;
            written.put_checked(id, token, || shown(token)).map_err(|error| {
                LoadError::new(format!("model.vocab, line {}", json.line(json.at)), error.to_string())
            })
        })?;
        let index = index(&written, |_| true)?;
        Ok(Self { written, index })
    }

    /// The bytes that are meant; by id, whether characters stand for them.
    fn spelled(self) -> Result<(Arena, Vec<bool>), LoadError> {
        let Self { written, index } = self;
        drop(index);
        let mut are_words = vec![false; written.end() as usize];
        let (mut tokens, mut bytes) = (Arena::default(), Vec::new());
        for (id, token) in written.iter() {
            let text = std::str::from_utf8(token)
                .map_err(|_| LoadError::new("model.vocab", format!("{} is not UTF-8", shown(token))))?;
            bytes.clear();
            let known = |character: char| BYTES.get(character as usize).copied().flatten();
            let is_word =
                text.chars().all(|character| known(character).map(|byte| bytes.push(byte)).is_some());
            tokens.put(id, if is_word { &bytes } else { token });
            if let Some(place) = are_words.get_mut(id as usize) {
                *place = is_word;
            }
        }
        Ok((tokens, are_words))
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    format!("token {:?}", text.chars().take(SHOWN).collect::<String>())
}

/// Characters shown of a token.
const SHOWN: usize = 60;

/// Merges in order, each as the ids of its halves and of what they make.
fn merges<'a>(vocab: &Vocab, json: &mut Json<'a>) -> Result<Vec<Merge>, LoadError> {
    let (mut waiting, mut merges) = (Waiting::<'a>::default(), Vec::new());
    let read = json.array(|json| {
        if waiting.count == GROUP {
            waiting.find(vocab, json, &mut merges)?;
        }
        waiting.read(json, merges.len())
    });
    waiting.find(vocab, json, &mut merges)?;
    read.map(|()| merges)
}

/// Merges looked up together.
const GROUP: usize = 16;

/// Merges that were read and are looked up together.
#[derive(Default)]
struct Waiting<'a> {
    /// The halves of each, and where it ends in the file.
    halves: [([Cow<'a, [u8]>; 2], usize); GROUP],
    count: usize,
    /// What the last one made.
    joint: u32,
}

impl<'a> Waiting<'a> {
    fn read(&mut self, json: &mut Json<'a>, found: usize) -> Result<(), LoadError> {
        let Some((halves, end)) = self.halves.get_mut(self.count) else { return Ok(()) };
        let (mut rooms, mut count) = (halves.iter_mut(), 0);
        let mut keep = |half| {
            count += 1;
            if let Some(room) = rooms.next() {
                *room = half;
            }
        };
        if json.peek()? == b'[' {
            json.array(|json| json.string().map(&mut keep))?;
        } else {
            match json.string()? {
                Cow::Borrowed(merge) => merge.split(|&byte| byte == b' ').map(Cow::Borrowed).for_each(keep),
                Cow::Owned(merge) => {
                    merge.split(|&byte| byte == b' ').for_each(|half| keep(Cow::Owned(half.to_vec())));
                }
            }
        }
        if count != 2 {
            return Err(refused(json, json.at, found + self.count, "is not two tokens"));
        }
        *end = json.at;
        self.count += 1;
        Ok(())
    }

    fn find(&mut self, vocab: &Vocab, json: &Json<'_>, merges: &mut Vec<Merge>) -> Result<(), LoadError> {
        let Vocab { written: arena, index } = vocab;
        let lefts = index.get_all(arena, self.halves.each_ref().map(|([left, _], _)| &**left));
        let rights = index.get_all(arena, self.halves.each_ref().map(|([_, right], _)| &**right));
        let found = self.halves.iter().zip(lefts).zip(rights).take(self.count);
        for ((([left_bytes, right_bytes], end), left), right) in found {
            let unknown = |bytes: &[u8]| {
                refused(json, *end, merges.len(), &format!("{} is not in the vocabulary", shown(bytes)))
            };
            let left = left.ok_or_else(|| unknown(left_bytes))?;
            let right = right.ok_or_else(|| unknown(right_bytes))?;
            // Tokens have mostly been made in the order of their ids, some of them in several ways.
            let is_joint = |&id: &u32| {
                arena.get(id).and_then(|joint| joint.strip_prefix(&**left_bytes)) == Some(right_bytes)
            };
            let joint = [self.joint, self.joint + 1].into_iter().find(is_joint);
            self.joint = if let Some(joint) = joint {
                joint
            } else {
                let joint = [&**left_bytes, right_bytes].concat();
                index.get(arena, &joint).ok_or_else(|| unknown(&joint))?
            };
            merges.push(Merge { left, right, joint: self.joint });
        }
        self.count = 0;
        Ok(())
    }
}

/// What is wrong with a merge that ends at a place.
#[cold]
fn refused(json: &Json<'_>, end: usize, number: usize, what: &str) -> LoadError {
    LoadError::new(format!("model.merges, line {}", json.line(end)), format!("merge {number}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut of = BYTES.to_vec();
        of.retain(Option::is_some);
        of.sort_unstable();
        assert!(of.iter().copied().eq((0..=255).map(Some)));
    }
}
