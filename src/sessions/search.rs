//! Text as every store's search sees it: words in lower case without accents, one space between. Chinese and Japanese have
//! no spaces, so each character is a word of its own and what was typed together is a phrase: any part of a sentence is
//! found, and no dictionary can disagree with itself.

use unicode_normalization::char::decompose_canonical;

/// Letters that may carry accents worth ignoring: Latin, Greek and Cyrillic. Elsewhere a mark is a part of the letter.
fn may_be_accented(character: char) -> bool {
    matches!(character, '\u{c0}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}')
}

/// Accents that stand by themselves after their letter.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// The words of `text`, folded, one space between.
///
/// ```
/// assert_eq!(pi_strata::sessions::search::search_form("Café: 数据a.b"), "cafe 数 据 a b");
/// ```
#[must_use]
pub fn search_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    let mut is_in_word = false;
    for character in text.chars() {
        if ACCENTS.contains(&character) {
            continue;
        }
        if !character.is_alphanumeric() {
            is_in_word = false;
            continue;
        }
        let stands_alone = stands_alone(character);
        if (stands_alone || !is_in_word) && !form.is_empty() {
            form.push(' ');
        }
        push_folded(&mut form, character);
        is_in_word = !stands_alone;
    }
    form
}

/// The terms of a text that answers `query`: a phrase for each part between spaces, the last word of
/// each as a beginning. Empty if there is nothing to look for.
#[must_use]
pub fn search_phrases(query: &str) -> Vec<String> {
    query.split_whitespace().map(search_form).filter(|phrase| !phrase.is_empty()).collect()
}

/// In lower case first: some letters beyond those that may be accented are capitals of one that is.
fn push_folded(form: &mut String, character: char) {
    for lower in character.to_lowercase().filter(|lower| !ACCENTS.contains(lower)) {
        if may_be_accented(lower) {
            decompose_canonical(lower, |part| form.extend(Some(part).filter(|part| !ACCENTS.contains(part))));
        } else {
            form.push(lower);
        }
    }
}

/// Kana and Chinese characters; Korean has spaces.
fn stands_alone(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_chinese_character_is_a_word() {
        assert_eq!(search_form("修复bug：数据"), "修 复 bug 数 据");
    }

    #[test]
    fn case_and_accents_are_gone() {
        assert_eq!(search_form("ÜNÏ-cödé e\u{301}té İ Ελλάδα"), "uni code ete i ελλαδα");
    }

    #[test]
    fn a_query_is_phrases() {
        assert_eq!(search_phrases("Time 数据 a\"b"), ["time", "数 据", "a b"]);
        assert!(search_phrases(" ... \" * ").is_empty());
    }

    #[test]
    fn every_character_is_folded_once() {
        for character in '\0'..=char::MAX {
            let form = search_form(&character.to_string());
            assert_eq!(search_form(&form), form, "{character:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_is_done_once(text in "\\PC{0,60}") {
            let form = search_form(&text);
            prop_assert!(!form.contains("  ") && form.trim() == form);
            prop_assert_eq!(search_form(&form), form);
        }
    }
}
