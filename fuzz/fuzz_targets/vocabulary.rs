//! Any file is a vocabulary or one error, by whatever pattern; and by what is read every text is cut and merged whole. Half
//! of the inputs stand in a file that is good otherwise, so that they come to be read.
//!
//! `fuzz/run.sh 60 vocabulary`

#![no_main]

use std::fmt::Write;

use libfuzzer_sys::fuzz_target;
use pi_strata_tokens::read_anything;

/// The beginning of a `tokenizer.json` that has every byte, up to the first merge.
fn beginning() -> String {
    let shown = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut vocab = String::new();
    let mut hidden = 0x100;
    for byte in 0..=0xff_u32 {
        let point = if shown(byte) { byte } else { (hidden, hidden += 1).0 };
        let character = char::from_u32(point).map(String::from).unwrap_or_default();
        let _ = write!(vocab, "{:?}:{byte},", character);
    }
    format!(
        r#"{{"pre_tokenizer":{{"type":"ByteLevel","add_prefix_space":false}},"model":{{"type":"BPE","vocab":{{{vocab}"ab":256,"abc":257}},"merges":["#
    )
}

fuzz_target!(|input: (bool, &[u8], &str, &str)| {
    let (stands_alone, file, pattern, text) = input;
    if stands_alone {
        let _ = read_anything(file, pattern, text);
    } else {
        let rest = String::from_utf8_lossy(file);
        let _ = read_anything(format!("{}{rest}", beginning()).as_bytes(), pattern, text);
    }
});
