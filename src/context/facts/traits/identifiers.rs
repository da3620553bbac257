//! Identifiers in a text: names, paths and words long enough to stand for something, each reduced to a hash.
//!
//! An identifier is `[A-Za-z_$][\w$]*(?:[./:-][\w$]+)*` with the letters of every alphabet, 8 to 120 characters long, from 3 on in
//! Korean. Chinese, Japanese and Thai put no spaces between words: there every sequence of four characters is one. One sequence
//! in four is kept, chosen by its hash, so the same ones in every text. JSON text is split at its escapes: the `n` of a
//! line break does not join a name.

use xxhash_rust::xxh3::xxh3_64;

/// Shortest identifier: shorter words are too common.
pub const MIN_LEN: usize = 8;
/// Shortest with syllables of Hangul, each of two or three letters.
const MIN_SYLLABLES: usize = 3;
/// Longest identifier: longer runs are data.
pub const MAX_LEN: usize = 120;

const HANGUL: std::ops::RangeInclusive<u16> = 0xAC00..=0xD7AF;
/// Characters of a sequence: the most common length of a Chinese term.
const SEQUENCE_LEN: usize = 4;
/// One in this many sequences is kept, as each overlaps the next by all but a character.
const SEQUENCE_SHARE: u64 = 4;

/// The hash of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(u64);

impl Identifier {
    fn new(name: &[u16]) -> Self {
        Self(xxh3_64(bytemuck::cast_slice(name)))
    }

    /// The hash of a sequence of characters; `None` if it is not kept.
    fn of_sequence(characters: &[u16]) -> Option<Self> {
        let hash = xxh3_64(bytemuck::cast_slice(characters));
        let is_kept = (hash >> u8::BITS).is_multiple_of(SEQUENCE_SHARE);
        is_kept.then_some(Self(hash))
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
        let mut rest = units;
        while let Some(start) = rest.iter().position(|&unit| is_head(unit)) {
            let begun = rest.get(start..).unwrap_or_default();
            let (name, behind) = begun.split_at(len_of(begun));
            self.name(name);
            rest = behind;
        }
        let sequences = units.windows(SEQUENCE_LEN).filter(|run| run.iter().all(|&unit| is_unspaced(unit)));
        self.found.extend(sequences.filter_map(Identifier::of_sequence));
    }

    /// Adds the identifiers of a JSON text. An escape ends an identifier.
    pub fn json(&mut self, units: &[u16]) {
        const BACKSLASH: u16 = b'\\' as u16;
        const UNICODE: u16 = b'u' as u16;
        let mut rest = units;
        while let Some(at) = rest.iter().position(|&unit| unit == BACKSLASH) {
            let (plain, escape) = rest.split_at(at);
            self.text(plain);
            let escape_len = if escape.get(1) == Some(&UNICODE) { 6 } else { 2 };
            rest = escape.get(escape_len..).unwrap_or_default();
        }
        self.text(rest);
    }

    fn name(&mut self, name: &[u16]) {
        let least = if name.iter().any(|unit| HANGUL.contains(unit)) { MIN_SYLLABLES } else { MIN_LEN };
        self.found.extend((least..=MAX_LEN).contains(&name.len()).then(|| Identifier::new(name)));
    }

    /// Returns the identifiers, ascending, each once.
    pub fn finish(mut self) -> Box<[Identifier]> {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.into_boxed_slice()
    }
}

/// Length of the identifier that these units begin with. A separator at the end does not belong to it.
fn len_of(units: &[u16]) -> usize {
    let is_word =
        |at: usize| units.get(at).is_some_and(|&unit| is_head(unit) || is_one_of(unit, b"0123456789"));
    let mut len = 1;
    loop {
        if is_word(len) {
            len += 1;
        } else if units.get(len).is_some_and(|&unit| is_one_of(unit, b"./:-")) && is_word(len + 1) {
            len += 2;
        } else {
            return len;
        }
    }
}

/// Returns `true` for a character that an identifier may begin with.
fn is_head(unit: u16) -> bool {
    match u8::try_from(unit) {
        Ok(unit) if unit.is_ascii() => unit.is_ascii_alphabetic() || matches!(unit, b'_' | b'$'),
        _ => !is_unspaced(unit) && char::from_u32(u32::from(unit)).is_some_and(char::is_alphabetic),
    }
}

fn is_one_of(unit: u16, characters: &[u8]) -> bool {
    u8::try_from(unit).is_ok_and(|unit| characters.contains(&unit))
}

/// Han, Hiragana and Katakana of the basic plane; Thai, Lao, Burmese and Khmer.
fn is_unspaced(unit: u16) -> bool {
    matches!(unit, 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF)
        || matches!(unit, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::utf16;
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
        let mut names: Vec<_> = names.iter().map(|name| Identifier::new(&utf16(name))).collect();
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

    #[test]
    fn takes_words_of_every_alphabet() {
        for (said, names) in [
            ("Настройка кэша и параметры", ["Настройка", "параметры"]),
            ("die Änderungen im Schlüsselwort", ["Änderungen", "Schlüsselwort"]),
            ("서버가 설정을 못 읽음", ["서버가", "설정을"]),
        ] {
            assert!(expected(&names).iter().all(|name| of_text(said).contains(name)), "{said}");
        }
        assert!(!of_text("ภาษาไทยไม่มีช่องว่างระหว่างคำ").is_empty());
    }

    /// The definition, by plain search: the next head character starts the longest match.
    fn by_definition(text: &str) -> Vec<Identifier> {
        let characters: Vec<char> = text.chars().collect();
        let is_head =
            |c: char| (c.is_alphabetic() && u16::try_from(u32::from(c)).is_ok()) || c == '_' || c == '$';
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
        names.retain(|name| (MIN_LEN..=MAX_LEN).contains(&name.chars().count()));
        expected(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(text in "[abжé9_$./:\\- 😀]{0,60}") {
            prop_assert_eq!(of_text(&text), by_definition(&text));
        }
    }
}
