//! UTF-16 to UTF-8, as JavaScript strings come in.
//!
//! Valid UTF-8 is appended to the caller's buffer; a lone surrogate becomes U+FFFD. Runs of ASCII are narrowed many units
//! at a time.

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
        match unit {
            ..0x80 => text.push(unit as u8),
            0x80..0x800 => text.extend_from_slice(&[0xc0 | (unit >> 6) as u8, continuation(u32::from(unit))]),
            0xd800..0xe000 => {
                let low =
                    units.get(at).copied().filter(|low| unit < 0xdc00 && (0xdc00..0xe000).contains(low));
                if let Some(low) = low {
                    at += 1;
                    let point = 0x1_0000 + (u32::from(unit & 0x3ff) << 10 | u32::from(low & 0x3ff));
                    let lead = [0xf0 | (point >> 18) as u8, continuation(point >> 12)];
                    text.extend_from_slice(&[
                        lead[0],
                        lead[1],
                        continuation(point >> 6),
                        continuation(point),
                    ]);
                } else {
                    text.extend_from_slice("\u{fffd}".as_bytes());
                }
            }
            _ => {
                let point = u32::from(unit);
                text.extend_from_slice(&[
                    0xe0 | (point >> 12) as u8,
                    continuation(point >> 6),
                    continuation(point),
                ]);
            }
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
