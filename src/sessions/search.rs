//! Text as the full-text index sees it. Chinese and Japanese have no spaces, so each character is a word of its own and
//! what was typed together is a phrase: any part of a sentence is found, and no dictionary can disagree with itself.

/// `text` with each Chinese or Japanese character between spaces.
#[must_use]
pub fn index_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    for character in text.chars() {
        if stands_alone(character) {
            form.extend([' ', character, ' ']);
        } else {
            form.push(character);
        }
    }
    form
}

/// The query for FTS5: every part between spaces must occur, as a phrase, its last word as a beginning. `None` if
/// there is nothing to look for.
#[must_use]
pub fn match_query(query: &str) -> Option<String> {
    let parts = query.split_whitespace().filter(|part| part.chars().any(char::is_alphanumeric));
    let phrases: Vec<_> =
        parts.map(|part| format!("\"{}\"*", index_form(part).replace(['"', '\0'], " "))).collect();
    (!phrases.is_empty()).then(|| phrases.join(" "))
}

/// Kana and Chinese characters; Korean has spaces.
fn stands_alone(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chinese_character_is_a_word() {
        assert_eq!(index_form("修复bug：数据"), " 修  复 bug： 数  据 ");
    }

    #[test]
    fn a_query_is_phrases() {
        assert_eq!(match_query("time 数据").as_deref(), Some("\"time\"* \" 数  据 \"*"));
        assert_eq!(match_query("a\"b OR*").as_deref(), Some("\"a b\"* \"OR*\"*"));
        assert_eq!(match_query(" ... \" * "), None);
    }
}
