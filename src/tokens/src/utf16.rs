//! UTF-16 to UTF-8, as JavaScript strings come in.
//!
//! Appends valid UTF-8 to the caller's buffer; a lone surrogate becomes U+FFFD. Narrows runs of ASCII many units at a time.

/// Units narrowed at a step; a length compilers turn into vector instructions.
const STEP: usize = 32;

/// Appends `units` as UTF-8.
pub(crate) fn append(units: &[u16], text: &mut Vec<u8>) {
    text.reserve(units.len());
    let mut rest = units;
    while let Some((&step, after)) = rest.split_first_chunk::<STEP>() {
        if step.iter().fold(0, |all, unit| all | unit) < 0x80 {
            text.extend_from_slice(&step.map(|unit| unit as u8));
            rest = after;
        } else {
            rest = append_some(rest, STEP, text);
        }
    }
    append_some(rest, rest.len(), text);
}

/// Appends at least `count` units, one more where they end inside a pair; returns the rest.
fn append_some<'a>(units: &'a [u16], count: usize, text: &mut Vec<u8>) -> &'a [u16] {
    let mut at = 0;
    while at < count {
        let Some(&unit) = units.get(at) else { break };
        at += 1;
        let point = u32::from(unit);
        match unit {
            ..0x80 => text.push(unit as u8),
            0x80..0x800 => text.extend([0xc0 | (unit >> 6) as u8, continuation(point)]),
            0xd800..0xe000 => {
                let rest = units.get(at - 1..).unwrap_or_default();
                let character = char::decode_utf16(rest.iter().copied()).next().and_then(Result::ok);
                at += usize::from(character.is_some());
                let mut bytes = [0; 4];
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
            }
            _ => text.extend([0xe0 | (point >> 12) as u8, continuation(point >> 6), continuation(point)]),
        }
    }
    units.get(at..).unwrap_or_default()
}

/// A UTF-8 continuation byte of the low six bits.
fn continuation(bits: u32) -> u8 {
    0x80 | (bits & 0x3f) as u8
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(units in vec(prop_oneof![
            8 => 0u16..0x80, 2 => 0x80u16..0x800, 2 => any::<u16>(), 2 => 0xd800u16..0xe000
        ], 0..200)) {
            let mut text = Vec::new();
            append(&units, &mut text);
            prop_assert_eq!(text, String::from_utf16_lossy(&units).into_bytes());
        }
    }
}
