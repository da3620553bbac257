//! Reads a vocabulary from the file its model comes with: Hugging Face's `tokenizer.json`, Mistral's `tekken.json`, or
//! tiktoken's ranks with a pattern beside them.
//!
//! A file that is cut short, contradicts itself or asks for something unsupported is one error that names the place.
//! Time and memory are bounded.

mod builder;
mod ranks;
mod tekken;
mod tokenizer_json;

use std::{collections::BTreeMap, error::Error, fmt};

use parking_lot::{Mutex, RwLock};
use xxhash_rust::xxh3::Xxh3;

use super::{
    Tokenizer, VOCABULARIES,
    added::{AddedToken, Part, Preparation},
    arena::Arena,
    merge::Scratch,
    pattern::{Pattern, Stages},
    vocabulary::{Vocabulary, Words},
};

/// Longest file, in bytes; the largest vocabularies of open models take 35 MB.
pub const MOST_FILE_BYTES: usize = 128 << 20;

/// Facts about a vocabulary that its file does not hold.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The encoding's name, for errors. A file keeps the name under which it was loaded first.
    pub name: String,
    /// The pattern of a tiktoken file: a regular expression, or the name of a built-in encoding that has it.
    pub pattern: Option<String>,
    /// Special tokens of a tiktoken file, by text.
    pub special_tokens: BTreeMap<String, u32>,
}

/// Why a file cannot be used as a vocabulary: the place in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    place: String,
    what: String,
}

impl LoadError {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    /// serde's error, with the place before it.
    fn of_json(error: &serde_json::Error) -> Self {
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(&*what, |(what, _)| what);
        Self::new(format!("line {}, column {}", error.line(), error.column()), what)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl Error for LoadError {}

/// An encoding that was read from a file, before it has a place among the others.
struct File {
    words: Words,
    tokens: Arena,
    patterns: Vec<String>,
    added: Vec<AddedToken>,
    is_nfc: bool,
}

/// The way a file prepares text, and the hash of the file.
#[derive(Debug)]
pub(super) struct FilePreparation {
    pub(super) preparation: Preparation,
    content: u128,
}

/// The loaded encodings, in order. They live as long as the process, so that no file is read twice.
static LOADED: RwLock<Vec<&'static Tokenizer>> = RwLock::new(Vec::new());
/// Locked while a file is read, so that another call for the same file gets the same encoding.
static READING: Mutex<()> = Mutex::new(());

impl Tokenizer {
    /// Loads the encoding of a vocabulary file. Text of special tokens is ordinary text. Other added tokens are found in text
    /// as the file's own library finds them.
    ///
    /// A file is read once per process and content; a second call returns the same encoding. It lives until the process
    /// ends. The file's bytes are freed before the encoding is complete.
    ///
    /// ```
    /// use pi_strata_tokens::{LoadOptions, Tokenizer};
    ///
    /// let bytes = (0..=255u8).map(|byte| vec![byte]).chain([b"ab".to_vec()]);
    /// let lines = bytes.enumerate().map(|(rank, token)| format!("{} {rank}\n", base64(&token)));
    /// let options = LoadOptions { pattern: Some("cl100k_base".to_owned()), ..LoadOptions::default() };
    /// let tokenizer = Tokenizer::load(lines.collect::<String>().into_bytes(), &options)?;
    /// assert_eq!(tokenizer.encode("cab"), [99, 256]);
    /// assert!(tokenizer.is_fast());
    /// # use ::base64::{Engine, engine::general_purpose::STANDARD};
    /// # fn base64(bytes: &[u8]) -> String { STANDARD.encode(bytes) }
    /// # Ok::<(), pi_strata_tokens::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// [`LoadError`], for a file that is none of the three kinds, or one that asks for what is not here.
    pub fn load(file: Vec<u8>, options: &LoadOptions) -> Result<&'static Self, LoadError> {
        let _reading = READING.lock();
        let content = content_of(&file, options);
        let is_same = |known: &&Self| known.loaded.is_some_and(|loaded| loaded.content == content);
        let known = LOADED.read().iter().copied().find(is_same);
        if let Some(known) = known {
            return Ok(known);
        }
        let read = read(&file, options)?;
        drop(file);
        let mut all = LOADED.write();
        let tokenizer = Self::of_file(read, options, content, all.len())?;
        let tokenizer: &'static Self = Box::leak(Box::new(tokenizer));
        all.push(tokenizer);
        Ok(tokenizer)
    }

    /// The encoding of a number, as [`Tokenizer::number`] gives it.
    #[must_use]
    pub fn numbered(number: usize) -> Option<&'static Self> {
        match number.checked_sub(Self::all().len()) {
            None => Self::all().get(number),
            Some(loaded) => LOADED.read().get(loaded).copied(),
        }
    }

    /// Position among all encodings of this process: the built-in ones come first, then the loaded ones.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns `true` if the engine's own scanner cuts the text, `false` for a regular expression of the file.
    #[must_use]
    pub fn is_fast(&self) -> bool {
        !matches!(self.vocabulary.pattern, Pattern::Regex(_))
    }

    /// The encoding of the file that is loaded after so many others.
    fn of_file(file: File, options: &LoadOptions, content: u128, before: usize) -> Result<Self, LoadError> {
        let pattern = pattern_of(&file.patterns)?;
        let special: Vec<(u32, &'static str)> = file
            .added
            .iter()
            .filter(|token| token.special)
            .map(|token| (token.id, &*Box::leak(token.content.clone().into_boxed_str())))
            .collect();
        let preparation = Preparation::new(file.added, file.is_nfc);
        Ok(Self {
            number: Self::all().len() + before,
            name: Box::leak(options.name.clone().into_boxed_str()),
            vocabulary: Box::leak(Box::new(Vocabulary::of_file(
                VOCABULARIES + before,
                pattern,
                file.words,
                file.tokens,
            ))),
            special: special.leak(),
            loaded: Some(Box::leak(Box::new(FilePreparation { preparation, content }))),
        })
    }
}

/// Hash of a file and of the options that change its meaning.
fn content_of(file: &[u8], options: &LoadOptions) -> u128 {
    let mut hash = Xxh3::new();
    let LoadOptions { name: _, pattern, special_tokens } = options;
    hash.update(format!("{pattern:?}{special_tokens:?}").as_bytes());
    hash.update(file);
    hash.digest128()
}

/// The beginning of the file that a clone without Git LFS has in place of a large one.
const LFS_POINTER: &[u8] = b"version https://git-lfs";

fn read(file: &[u8], options: &LoadOptions) -> Result<File, LoadError> {
    if file.len() > MOST_FILE_BYTES {
        let most = MOST_FILE_BYTES >> 20;
        return Err(LoadError::new("the file", format!("has more than {most} MB, and no vocabulary does")));
    }
    let file = file.strip_prefix("\u{feff}".as_bytes()).unwrap_or(file);
    match file.trim_ascii_start().first() {
        _ if file.starts_with(LFS_POINTER) => {
            Err(LoadError::new("the file", "is a pointer of Git LFS; `git lfs pull` fetches the file itself"))
        }
        None => Err(LoadError::new("the file", "is empty")),
        Some(b'{') if tekken::is_one(file) => tekken::read(text(file)?),
        Some(b'{') => tokenizer_json::read(text(file)?),
        Some(_) => ranks::read(file, options),
    }
}

fn text(file: &[u8]) -> Result<&str, LoadError> {
    str::from_utf8(file)
        .map_err(|error| LoadError::new(format!("byte {}", error.valid_up_to()), "is not UTF-8"))
}

/// Patterns that are written by hand, by their spelling in files. A line break stands between the stages of a pattern.
const KNOWN: [(&str, Pattern); 14] = [
    (CL100K, Pattern::Cl100k),
    (LLAMA3, Pattern::Llama3),
    (QWEN2, Pattern::Qwen2),
    (QWEN35, Pattern::Qwen35),
    (O200K, Pattern::O200k),
    (TEKKEN, Pattern::Tekken),
    (KIMI, Pattern::Kimi),
    (GPT2, Pattern::Gpt2),
    (GPT2_TIKTOKEN, Pattern::Gpt2),
    (DEEPSEEK, Pattern::DeepSeek),
    ("cl100k_base", Pattern::Cl100k),
    ("o200k_base", Pattern::O200k),
    ("gpt2", Pattern::Gpt2),
    ("kimi", Pattern::Kimi),
];

const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const KIMI: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The pattern of `ByteLevel` on its own.
pub(super) const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const GPT2_TIKTOKEN: &str =
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
const DEEPSEEK: &str = concat!(
    r"\p{N}{1,3}",
    "\n",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    "\n",
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
);

fn pattern_of(patterns: &[String]) -> Result<Pattern, LoadError> {
    let spelled: Vec<String> =
        patterns.iter().map(|pattern| pattern.replace('\r', r"\r").replace('\n', r"\n")).collect();
    let joined = spelled.join("\n");
    if let Some(&(_, known)) = KNOWN.iter().find(|(spelling, _)| *spelling == joined) {
        return Ok(known);
    }
    let stages = Stages::new(patterns).map_err(|what| LoadError::new("the pattern", what))?;
    Ok(Pattern::Regex(Box::leak(Box::new(stages))))
}

/// Reads a file, cuts and merges a text by it, and keeps nothing. Returns the number of tokens. For the fuzz targets.
#[must_use]
pub fn read_anything(file: &[u8], pattern: &str, text: &str) -> usize {
    let options = LoadOptions { pattern: Some(pattern.to_owned()), ..LoadOptions::default() };
    let Ok(File { words, tokens, patterns, added, is_nfc }) = read(file, &options) else { return 0 };
    let Ok(stages) = Stages::new(&patterns) else { return 0 };
    let (mut scratch, mut count) = (Scratch::default(), 0);
    Preparation::new(added, is_nfc).parts(text, true, &mut |part| {
        let Part::Text(text) = part else { return true };
        let mut start = 0;
        stages.find(text.as_bytes(), 0, |end| {
            let piece = text.as_bytes().get(start..end).unwrap_or_default();
            scratch.encode(&words, piece);
            let spelled = scratch.tokens.iter().filter_map(|&id| tokens.get(id)).flatten();
            let is_spelled = words.unknown.is_some() || spelled.eq(piece);
            debug_assert!(start < end && is_spelled, "every byte is in one token");
            (start, count) = (end, count + scratch.tokens.len());
            true
        });
        debug_assert_eq!(start, text.len(), "pieces reach the end of the text");
        true
    });
    count
}
