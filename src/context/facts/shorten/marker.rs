//! Writes and reads the marker line for omitted lines of a tool result.

use crate::context::facts::handle::Handle;
use crate::contract::{
    EN_CUT, EN_FIRST, EN_GAP, EN_HANDLE, EN_IMAGE, ZH_CUT, ZH_FIRST, ZH_GAP, ZH_HANDLE, ZH_IMAGE,
};
use crate::text::{NEWLINE, Utf16Len, utf16};

/// The language of marker lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MarkerLanguage {
    /// Chinese, the default.
    Zh,
    /// English.
    En,
}

impl MarkerLanguage {
    /// The marker for `omitted` lines left out of a text of `original` length.
    pub fn marker(self, omitted: usize, original: Utf16Len) -> Vec<u16> {
        let [before, between, after] = self.of(ZH_FIRST, EN_FIRST);
        utf16(&format!("{before}{omitted}{between}{}{after}", original.0))
    }

    /// The marker for any gap but the first, which has [`marker`](Self::marker).
    pub fn gap(self, omitted: usize) -> Vec<u16> {
        let [before, after] = self.of(ZH_GAP, EN_GAP);
        utf16(&format!("{before}{omitted}{after}"))
    }

    /// The marker between head and tail of a text for `omitted` characters, with line breaks around it.
    pub fn cut(self, omitted: Utf16Len, handle: Option<Handle>) -> Vec<u16> {
        let [before, after] = self.of(ZH_CUT, EN_CUT);
        [&[NEWLINE], &*utf16(&format!("{before}{}{after}", omitted.0)), &*self.handle(handle), &[NEWLINE]]
            .concat()
    }

    /// The line that replaces an image.
    pub fn image(self) -> Vec<u16> {
        utf16(&self.of(ZH_IMAGE, EN_IMAGE).concat())
    }

    /// The end of a marker that names the handle of the original; empty without one.
    pub fn handle(self, handle: Option<Handle>) -> Vec<u16> {
        let [before] = self.of(ZH_HANDLE, EN_HANDLE);
        handle.map_or_else(Vec::new, |handle| utf16(&format!("{before}{handle}")))
    }

    fn of<T>(self, zh: T, en: T) -> T {
        match self {
            Self::Zh => zh,
            Self::En => en,
        }
    }

    /// The original length that a marker line of either language states; `None` for any other line.
    pub fn original_len(line: &[u16]) -> Option<Utf16Len> {
        /// Twice as long as any marker with a handle.
        const LONGEST_MARKER: usize = 120;
        let line = String::from_utf16(line.get(..line.len().min(LONGEST_MARKER))?).ok()?;
        [ZH_FIRST, EN_FIRST].into_iter().find_map(|[before, between, _]| {
            let (_, rest) = line.strip_prefix(before)?.split_once(between)?;
            let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
            digits.parse().ok().map(Utf16Len)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_marker_says_how_long_the_original_was(omitted in 0usize..1_000_000, original in 0usize..1_000_000) {
            let handle = Handle::of(&[1], &[2]);
            for language in [MarkerLanguage::Zh, MarkerLanguage::En] {
                let marker = language.marker(omitted, Utf16Len(original));
                prop_assert_eq!(MarkerLanguage::original_len(&marker), Some(Utf16Len(original)));
                let named = [marker, language.handle(Some(handle))].concat();
                prop_assert_eq!(MarkerLanguage::original_len(&named), Some(Utf16Len(original)));
                prop_assert_eq!(MarkerLanguage::original_len(&language.gap(omitted)), None);
            }
        }
    }
}
