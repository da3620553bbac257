//! Question and answer pairs, the form in which a rolling memory remembers: read leniently from whatever a summariser
//! returned, clipped, kept cumulative and bounded. Which of the forms a window has room for is decided elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::replay::mend_json;
use crate::text::clip_chars;

/// Longest question and answer that a summariser may have remembered.
const LONGEST: Longest = Longest { q: 300, a: 1000 };
/// Longest question and answer where text is clipped, from the form that tells most.
const CLIPPED: [Longest; 2] = [Longest { q: 120, a: 300 }, Longest { q: 80, a: 120 }];

/// A question and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The wish of the user.
    pub q: String,
    /// Its outcome.
    pub a: String,
}

/// In characters.
#[derive(Clone, Copy)]
struct Longest {
    q: usize,
    a: usize,
}

/// The contents of a summariser's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairsRead {
    /// In the order they stand there.
    pub pairs: Vec<Pair>,
    /// True if it ended in the middle.
    pub is_cut: bool,
}

/// The pairs in a summariser's answer, whatever surrounds them: prose, code fences, an object around the array. Of half a
/// JSON, the whole pairs. Takes linear time.
///
/// ```
/// use pi_strata::sessions::pairs::read_pairs;
///
/// let answer = read_pairs("Sure:\n```json\n[{\"q\": \"Why?\", \"a\": \"Because.\"}, {\"q\": \"And");
/// assert_eq!((answer.pairs[0].a.as_str(), answer.is_cut), ("Because.", true));
/// ```
#[must_use]
pub fn read_pairs(answer: &str) -> PairsRead {
    let bytes = answer.as_bytes();
    let mut pairs = Vec::new();
    // Objects that are open: where they start, and whether another was found inside.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => {
                if let Some((_, has_inner)) = open.last_mut() {
                    *has_inner = true;
                }
                open.push((at, false));
            }
            b'}' => {
                if let Some((start, false)) = open.pop() {
                    pairs.extend(answer.get(start..=at).and_then(read_pair));
                }
            }
            b'"' if !open.is_empty() => at = string_end(bytes, at),
            _ => {}
        }
        at += 1;
    }
    PairsRead { pairs, is_cut: !open.is_empty() }
}

/// The position of the quote that closes the string opened at `start`; the end of the text if none does.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    at
}

fn read_pair(json: &str) -> Option<Pair> {
    let value: Value = serde_json::from_str(json)
        .or_else(|_| serde_json::from_str(&mend_json(json.as_bytes()).unwrap_or_default()))
        .ok()?;
    let text = |names: [&str; 2]| {
        let said = names.iter().find_map(|name| value.get(name).filter(|said| !said.is_null()));
        Some(said?.as_str()?.to_owned())
    };
    let pair = Pair { q: text(["q", "question"])?, a: text(["a", "answer"])? };
    (!pair.q.trim().is_empty()).then(|| shortened(&pair, LONGEST))
}

/// The pairs with their texts clipped, from the longest form to the shortest.
#[must_use]
pub fn clipped_forms(pairs: &[Pair]) -> Vec<Vec<Pair>> {
    CLIPPED.iter().map(|&longest| pairs.iter().map(|pair| shortened(pair, longest)).collect()).collect()
}

fn shortened(pair: &Pair, longest: Longest) -> Pair {
    Pair { q: clip_chars(pair.q.trim(), longest.q), a: clip_chars(pair.a.trim(), longest.a) }
}

/// `history` followed by what is new in `pairs`; the newest `max` of them.
#[must_use]
pub fn merge_pairs(history: &[Pair], pairs: &[Pair], max: usize) -> Vec<Pair> {
    let mut merged: Vec<_> =
        history.iter().filter(|pair| !pairs.contains(pair)).chain(pairs).cloned().collect();
    merged.drain(..merged.len().saturating_sub(max));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(q: &str, a: &str) -> Pair {
        Pair { q: q.into(), a: a.into() }
    }

    #[test]
    fn pairs_are_found_in_whatever_surrounds_them() {
        let whole = [pair("Why {it} \"is\"?", "a"), pair("And?", "b")];
        let json = r#"[{"q":"Why {it} \"is\"?","a":"a"},{"question":"And?","answer":"b"}]"#;
        for text in
            [json.to_owned(), format!("Here: {{\"pairs\":{json}}} done"), format!("```json\n{json}\n```")]
        {
            assert_eq!(read_pairs(&text), PairsRead { pairs: whole.to_vec(), is_cut: false }, "{text}");
        }
        assert_eq!(
            read_pairs(&json[..json.len() - 9]),
            PairsRead { pairs: whole[..1].to_vec(), is_cut: true }
        );
        for none in ["", "prose", "{\"q\":1,\"a\":\"b\"}", "{\"q\":\" \",\"a\":\"b\"}", "}{", "{\"q\":\"a\"}"]
        {
            assert_eq!(read_pairs(none).pairs, [], "{none}");
        }
        let half = read_pairs(r#"{"q":"a\ud800","a":"b"}"#);
        assert_eq!(half.pairs, [pair("a\u{fffd}", "b")]);
    }

    #[test]
    fn texts_are_trimmed_and_clipped() {
        let long = pair(&format!("  {}", "😀".repeat(400)), "b");
        let forms = clipped_forms(std::slice::from_ref(&long));
        let lengths: Vec<_> = forms.iter().flatten().map(|form| form.q.chars().count()).collect();
        assert_eq!(lengths, [120, 80]);
        assert!(forms[0][0].q.ends_with('…') && forms[0][0].a == "b");
    }

    #[test]
    fn memory_is_cumulative_and_bounded() {
        let [a, b, c] = ["a", "b", "c"].map(|q| pair(q, ""));
        let merge = |max| merge_pairs(&[a.clone(), b.clone()], &[a.clone(), c.clone()], max);
        assert_eq!(merge(9), [b.clone(), a.clone(), c.clone()]);
        assert_eq!(merge(1), std::slice::from_ref(&c));
        assert_eq!(merge(0), []);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(pairs in prop::collection::vec(("[^ ]\\PC{0,40}[^ ]", "\\PC{0,40}"), 0..6), around in "[^{}\"]{0,20}") {
            let pairs: Vec<_> = pairs.iter().map(|(q, a)| pair(q.trim(), a.trim())).filter(|pair| !pair.q.is_empty()).collect();
            let json = serde_json::to_string(&pairs).unwrap_or_default();
            prop_assert_eq!(read_pairs(&format!("{around}{json}{around}")), PairsRead { pairs, is_cut: false });
        }

        #[test]
        fn any_text_is_read(text in "[\\[\\]{}\":,qa\\\\ -]{0,200}") {
            let _ = read_pairs(&text);
        }
    }
}
