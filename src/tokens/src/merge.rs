//! Encodes one piece: byte-pair encoding merges, again and again, the neighbours of the least rank, the leftmost first.
//!
//! A piece of up to 32 bytes is merged on the stack (`short`). A longer one is merged in windows that overlap, so that its
//! time grows with its length and no window leaves the processor's cache.
//!
//! # Why windows are enough
//!
//! A row of tokens is the encoding of its bytes if and only if each two neighbours are the encoding of theirs. Take the
//! first merge that crosses a boundary of the row. Every merge before it was within a token, so the two tokens that meet
//! there are as far as they would be without all others: on their own, they would have merged across, too.
//!
//! So tokens that are neighbours in a window may stand as neighbours in the piece. A window begins where a token of the last
//! window begins. If it begins with that token again, the tokens before it and its own are one row. By cl100k_base:
//!
//! ```text
//! piece      extraordinarilylongcompoundidentifiername
//! window 1   extra|ordin|arily|long|compound|ident          32 bytes; its end is cut off, so its first half counts
//! window 2                     long|compound|identifier|name     begins with `long` again
//! row        extra|ordin|arily|long|compound|identifier|name
//! ```
//!
//! Else the window was too short to tell. The next one begins some tokens earlier and is twice as long, in the end the whole
//! piece.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    pairs::Pairs,
    short::{self, Due, NO_TOKEN, SHORT},
    vocabulary::Words,
};

/// A token and the place of its first byte.
type Placed = (usize, u32);

/// Buffers that merging needs, kept between pieces.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The tokens of the last piece, left to right.
    pub(crate) tokens: Vec<u32>,
    /// The tokens of the piece so far.
    row: Vec<Placed>,
    /// The tokens of the last window, by their places in it.
    window: Vec<Placed>,
    heap: Heap,
}

impl Scratch {
    /// Fills `tokens` with the encoding of a piece.
    pub(crate) fn encode(&mut self, words: &Words, piece: &[u8]) {
        self.tokens.clear();
        if let Some(id) = words.whole(piece) {
            return self.tokens.push(id);
        }
        let piece = &*words.merged(piece);
        if piece.len() <= SHORT {
            self.tokens.extend(short::merge(&words.pairs, piece).tokens().map(|(_, id)| id));
        } else {
            self.merge_windows(&words.pairs, piece);
            self.tokens.extend(self.row.iter().map(|&(_, id)| id));
        }
    }

    /// The number of tokens of a piece.
    #[inline(always)]
    pub(crate) fn count(&mut self, words: &Words, piece: &[u8]) -> usize {
        if words.whole(piece).is_some() {
            return 1;
        }
        let piece = &*words.merged(piece);
        if piece.len() <= SHORT {
            short::count(&words.pairs, piece)
        } else {
            self.merge_windows(&words.pairs, piece);
            self.row.len()
        }
    }

    /// Fills `row` with the tokens of a long piece.
    fn merge_windows(&mut self, pairs: &Pairs, piece: &[u8]) {
        self.row.clear();
        let (mut at, mut len, mut expected) = (0, SHORT, None);
        // The usual length of a window, and the last place where one was too short.
        let (mut usual, mut failed) = (SHORT, 0);
        let mut last: &[u8] = &[];
        loop {
            let rest = piece.get(at..).unwrap_or_default();
            let bytes = rest.get(..len).unwrap_or(rest);
            // In a run of one character all windows are alike.
            if bytes != last {
                self.merge_window(pairs, bytes);
                last = bytes;
            }
            let is_known = |&(_, id): &Placed| expected.is_none_or(|expected| expected == id);
            if !self.window.first().is_some_and(is_known) {
                len *= 2;
                failed = failed.max(at);
                let back = at.saturating_sub(len / 2);
                self.row.truncate(self.row.partition_point(|&(place, _)| place <= back));
                (at, expected) = match self.row.pop() {
                    Some((place, id)) if place > 0 => (place, Some(id)),
                    _ => (0, None),
                };
                continue;
            }
            let half = self.window.partition_point(|&(place, _)| place <= bytes.len() / 2).saturating_sub(1);
            let is_last = bytes.len() == rest.len();
            let kept = if is_last { self.window.len() } else { half };
            self.row.extend(self.window.iter().take(kept).map(|&(place, id)| (at + place, id)));
            match self.window.get(kept) {
                None => return,
                // A token takes half of the window, and more such tokens may follow.
                Some(_) if kept == 0 => (len, usual) = (len * 2, len * 2),
                Some(&(place, id)) => {
                    (at, expected) = (at + place, Some(id));
                    len = if at > failed { usual } else { len };
                }
            }
        }
    }

    fn merge_window(&mut self, pairs: &Pairs, bytes: &[u8]) {
        self.window.clear();
        if bytes.len() <= SHORT {
            self.window.extend(short::merge(pairs, bytes).tokens());
        } else {
            self.window.extend(self.heap.merge(pairs, bytes));
        }
    }
}

/// Merges by a heap.
#[derive(Default)]
struct Heap {
    parts: Vec<Part>,
    /// The merges and their places; some are out of date.
    due: BinaryHeap<Reverse<(Due, u32)>>,
}

/// A token in the making, at the place of its first byte.
struct Part {
    /// [`NO_TOKEN`] once it was merged into the one before.
    id: u32,
    /// The merge with the next part.
    due: Due,
    /// Places of the neighbours.
    before: u32,
    after: u32,
}

impl Heap {
    fn merge(&mut self, pairs: &Pairs, bytes: &[u8]) -> impl Iterator<Item = Placed> {
        self.parts.clear();
        self.due.clear();
        for (at, &byte) in (0u32..).zip(bytes) {
            let next = bytes.get(at as usize + 1);
            let due = next.map_or(Due::NEVER, |&next| pairs.due_of_bytes(byte, next));
            self.parts.push(Part { id: pairs.byte(byte), due, before: at.wrapping_sub(1), after: at + 1 });
            self.queue(at, due);
        }
        while let Some(Reverse((due, at))) = self.due.pop() {
            let Some(&Part { id, due: newest, before, after }) = self.parts.get(at as usize) else {
                continue;
            };
            if id == NO_TOKEN || newest != due {
                continue;
            }
            let Some(gone) = self.parts.get_mut(after as usize) else { continue };
            gone.id = NO_TOKEN;
            let (joint, next) = (due.joint(), gone.after);
            let mut next_due = Due::NEVER;
            if let Some(part) = self.parts.get_mut(next as usize) {
                part.before = at;
                next_due = pairs.due(joint, part.id);
            }
            if let Some(part) = self.parts.get_mut(at as usize) {
                (part.id, part.due, part.after) = (joint, next_due, next);
            }
            self.queue(at, next_due);
            if let Some(part) = self.parts.get_mut(before as usize) {
                part.due = pairs.due(part.id, joint);
                let due = part.due;
                self.queue(before, due);
            }
        }
        self.parts.iter().enumerate().filter(|(_, part)| part.id != NO_TOKEN).map(|(at, part)| (at, part.id))
    }

    fn queue(&mut self, at: u32, due: Due) {
        if due != Due::NEVER {
            self.due.push(Reverse((due, at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::pairs::Merge;

    /// Merges of three letters and of what they make, in any order.
    fn pairs(merges: &[(usize, usize)]) -> Pairs {
        let mut known = vec![u32::from(b'a'), u32::from(b'b'), u32::from(b'c')];
        let (mut joints, mut found) = (Vec::new(), Vec::new());
        for (rank, &(left, right)) in (0..).zip(merges) {
            let (left, right) = (known[left % known.len()], known[right % known.len()]);
            let joint = 256 + rank;
            known.push(joint);
            joints.push(joint);
            found.push(Merge { left, right, rank });
        }
        let bytes: [u32; 256] = std::array::from_fn(|byte| byte as u32);
        Pairs::new(Box::new(bytes), joints, found.len(), found.into_iter())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn windows_give_what_one_merge_of_all_gives(
            merges in vec((0usize..30, 0usize..30), 1..40),
            parts in vec(("[abc]{1,9}", 1usize..40), 1..9),
        ) {
            let pairs = pairs(&merges);
            let piece: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let mut scratch = Scratch::default();
            scratch.merge_windows(&pairs, piece.as_bytes());
            let whole: Vec<Placed> = Heap::default().merge(&pairs, piece.as_bytes()).collect();
            prop_assert_eq!(scratch.row, whole);
        }
    }
}
