//! Identifiers in a text: names, paths and words long enough to stand for something, each reduced to a hash.
//!
//! An identifier is `[A-Za-z_$][\w$]*(?:[./:-][\w$]+)*`, 8 to 120 characters long. Chinese, Japanese and Korean put no
//! spaces between words: there every four characters in a row are one, and of those one in four is taken, chosen by its
//! hash so that it is the same one wherever it stands. Text inside JSON is read through its escapes, so that a line
//! break does not glue an `n` to a name.

use xxhash_rust::xxh3::xxh3_64;

/// Shortest identifier: shorter words are too common.
pub const MIN_LEN: usize = 8;
/// Longest identifier: longer runs are data.
pub const MAX_LEN: usize = 120;

/// Characters that stand for a word where words are not separated: the most common length of a Chinese term.
const SEQUENCE_LEN: usize = 4;
/// One in this many sequences is taken, as each overlaps the next by all but a character.
const SEQUENCE_SHARE: u64 = 4;

/// The hash of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(u64);

impl Identifier {
    fn new(characters: &[u8]) -> Self {
        Self(xxh3_64(characters))
    }

    /// The hash of a sequence of characters, if it is taken.
    fn of_sequence(characters: [u16; SEQUENCE_LEN]) -> Option<Self> {
        let hash = xxh3_64(bytemuck::cast_slice(&characters));
        let is_taken = (hash >> u8::BITS).is_multiple_of(SEQUENCE_SHARE);
        is_taken.then_some(Self(hash))
    }
}

/// Gathers the identifiers of several texts.
#[derive(Debug, Default)]
pub struct Collector {
    found: Vec<Identifier>,
}

impl Collector {
    /// Adds the identifiers of a plain text.
    pub fn text(&mut self, units: &[u16]) {
        Run::default().read(units, &mut self.found);
    }

    /// Adds the identifiers of a JSON text. An escape ends an identifier.
    pub fn json(&mut self, units: &[u16]) {
        const BACKSLASH: u16 = b'\\' as u16;
        const UNICODE: u16 = b'u' as u16;
        let mut run = Run::default();
        let mut rest = units;
        while let Some(at) = rest.iter().position(|&unit| unit == BACKSLASH) {
            let (plain, escape) = rest.split_at(at);
            run.read(plain, &mut self.found);
            let escape_len = if escape.get(1) == Some(&UNICODE) { 6 } else { 2 };
            rest = escape.get(escape_len..).unwrap_or_default();
        }
        run.read(rest, &mut self.found);
    }

    /// Returns the identifiers, ascending, each once.
    pub fn finish(mut self) -> Box<[Identifier]> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.into_boxed_slice()
    }
}

/// The identifier being read, by its place in the text.
#[derive(Default)]
struct Run {
    start: Option<usize>,
    /// Position after its last word character. A separator at the end does not belong to it.
    end: usize,
    /// The latest characters of a run without spaces, and how many of them there are.
    sequence: [u16; SEQUENCE_LEN],
    sequence_len: usize,
}

impl Run {
    fn read(&mut self, units: &[u16], found: &mut Vec<Identifier>) {
        for (at, &unit) in units.iter().enumerate() {
            self.take(units, at, unit, found);
        }
        self.end(units, found);
    }

    fn take(&mut self, units: &[u16], at: usize, unit: u16, found: &mut Vec<Identifier>) {
        let Ok(character) = u8::try_from(unit) else {
            self.end(units, found);
            self.take_wide(unit, found);
            return;
        };
        self.sequence_len = 0;
        let is_letter = character.is_ascii_alphabetic() || matches!(character, b'_' | b'$');
        if is_letter || (self.start.is_some() && character.is_ascii_digit()) {
            self.start.get_or_insert(at);
            self.end = at + 1;
        } else if self.end < at || !matches!(character, b'.' | b'/' | b':' | b'-') {
            self.end(units, found);
        }
    }

    fn take_wide(&mut self, unit: u16, found: &mut Vec<Identifier>) {
        if !is_unspaced(unit) {
            self.sequence_len = 0;
            return;
        }
        self.sequence.rotate_left(1);
        if let Some(last) = self.sequence.last_mut() {
            *last = unit;
        }
        self.sequence_len += 1;
        if self.sequence_len >= SEQUENCE_LEN {
            found.extend(Identifier::of_sequence(self.sequence));
        }
    }

    fn end(&mut self, units: &[u16], found: &mut Vec<Identifier>) {
        let Some(read) = self.start.take().and_then(|start| units.get(start..self.end)) else { return };
        if (MIN_LEN..=MAX_LEN).contains(&read.len()) {
            let mut characters = [0; MAX_LEN];
            for (character, &unit) in characters.iter_mut().zip(read) {
                *character = unit as u8;
            }
            found.extend(characters.get(..read.len()).map(Identifier::new));
        }
    }
}

/// Han, Hiragana, Katakana and Hangul of the basic plane.
fn is_unspaced(unit: u16) -> bool {
    matches!(unit, 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_text(text: &str) -> Vec<Identifier> {
        let mut collector = Collector::default();
        collector.text(&text.encode_utf16().collect::<Vec<_>>());
        collector.finish().into_vec()
    }

    fn of_json(text: &str) -> Vec<Identifier> {
        let mut collector = Collector::default();
        collector.json(&text.encode_utf16().collect::<Vec<_>>());
        collector.finish().into_vec()
    }

    fn expected(names: &[&str]) -> Vec<Identifier> {
        let mut names: Vec<_> = names.iter().map(|name| Identifier::new(name.as_bytes())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn reads_json_through_its_escapes() {
        assert_eq!(
            of_json(r#"{"text":"\nimportant\tvariable\u00e9toplevel"}"#),
            expected(&["important", "variable", "toplevel"])
        );
        assert_eq!(of_text("a\\nimportant"), expected(&["nimportant"]));
    }

    #[test]
    fn takes_a_quarter_of_the_sequences_the_same_everywhere() {
        let text: String = (0x4E00..0x4E00 + 4000).filter_map(char::from_u32).collect();
        let all = of_text(&text);
        assert!((800..1200).contains(&all.len()), "{}", all.len());
        let middle: String = text.chars().skip(1000).take(500).collect();
        let shifted = of_text(&format!("前文，{middle}。"));
        assert!(shifted.len() > 80 && shifted.iter().all(|id| all.contains(id)));
        assert_eq!(of_text("三个字 and 三个字"), []);
    }

    /// The definition, by plain search: the next head character starts the longest match.
    fn by_definition(text: &str) -> Vec<Identifier> {
        let characters: Vec<char> = text.chars().collect();
        let is_head = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
        let is_word = |c: char| is_head(c) || c.is_ascii_digit();
        let mut names = Vec::new();
        let mut at = 0;
        while at < characters.len() {
            if !is_head(characters[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < characters.len() && is_word(characters[at]) {
                at += 1;
            }
            while at + 1 < characters.len() && "./:-".contains(characters[at]) && is_word(characters[at + 1])
            {
                at += 1;
                while at < characters.len() && is_word(characters[at]) {
                    at += 1;
                }
            }
            names.push(characters[start..at].iter().collect::<String>());
        }
        names.retain(|name| (MIN_LEN..=MAX_LEN).contains(&name.len()));
        expected(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(text in "[ab9_$./:\\- é😀]{0,60}") {
            prop_assert_eq!(of_text(&text), by_definition(&text));
        }
    }
}
