//! Writes the tables that the crate embeds: ranks and special tokens come from tiktoken-rs.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use tiktoken_rs::CoreBPE;

use crate::table::ENCODINGS;
use crate::vocabulary;

/// One past the highest id any encoding has.
const IDS: u32 = 1 << 18;

/// Writes every table into `folder`, and `encodings.rs`, which embeds them.
pub(crate) fn write(folder: &Path) {
    let mut all = BTreeMap::new();
    let mut code = String::new();
    let mut rows = String::new();
    let mut vocabularies = Vec::new();
    for (at, (name, tables, pattern, oracle)) in ENCODINGS.into_iter().enumerate() {
        let oracle = oracle().expect("tiktoken-rs carries its vocabularies");
        let special = special(&oracle);
        let tokens = ordinary(&oracle, &special);
        let end = tokens.len();
        if name == tables {
            let files = vocabulary::tables(&tokens);
            let _ = writeln!(code, "static {}: Tables = Tables {{", name.to_uppercase());
            for (file, contents) in files {
                let path = format!("{name}_{file}.bin");
                fs::write(folder.join(&path), contents).expect("OUT_DIR can be written");
                let _ =
                    writeln!(code, "    {file}: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{path}\")),");
            }
            let _ = writeln!(code, "}};");
            all.insert(tables, tokens);
        } else {
            let shared: &[Vec<u8>] = all.get(tables).and_then(|tokens| tokens.get(..end)).unwrap_or_default();
            assert!(shared == tokens, "{name} has other ranks than {tables}");
        }
        // Encodings that cut and rank alike share one vocabulary, and so one cache.
        let key = (tables, end, pattern);
        let twin = vocabularies.iter().position(|known| *known == key);
        let number = twin.unwrap_or_else(|| {
            let number = vocabularies.len();
            let _ = writeln!(
                code,
                "static VOCABULARY_{number}: Vocabulary = Vocabulary::of_tables({number}, Pattern::{pattern}, {end}, &{});",
                tables.to_uppercase()
            );
            vocabularies.push(key);
            number
        });
        let special: Vec<(u32, String)> = special.into_iter().collect();
        let _ = writeln!(
            rows,
            "    Tokenizer {{ number: {at}, name: {name:?}, vocabulary: &VOCABULARY_{number}, special: &{special:?}, loaded: None }},"
        );
    }
    let _ = writeln!(code, "pub(super) const VOCABULARIES: usize = {};", vocabularies.len());
    let _ = writeln!(code, "pub(super) static TOKENIZERS: [Tokenizer; {}] = [\n{rows}];", ENCODINGS.len());
    fs::write(folder.join("encodings.rs"), code).expect("OUT_DIR can be written");
}

/// Special tokens by id.
fn special(oracle: &CoreBPE) -> BTreeMap<u32, String> {
    let id = |text: &str| oracle.encode_with_special_tokens(text)[0];
    oracle.special_tokens().into_iter().map(|text| (id(text), text.to_owned())).collect()
}

/// Bytes of every ordinary token by id; empty where an id is a special token's or nobody's.
fn ordinary(oracle: &CoreBPE, special: &BTreeMap<u32, String>) -> Vec<Vec<u8>> {
    let bytes = |id| if special.contains_key(&id) { None } else { oracle.decode_bytes(&[id]).ok() };
    let mut tokens: Vec<_> = (0..IDS).map(|id| bytes(id).unwrap_or_default()).collect();
    let end = tokens.iter().rposition(|bytes| !bytes.is_empty()).map_or(0, |last| last + 1);
    tokens.truncate(end);
    tokens
}
