//! The words of a vocabulary from a file: its tokens, and the rank and the result of each merge.
//!
//! Merging follows the file's own library: the neighbours of the least rank merge first, the leftmost of these before others.
//! Ranks may come in any order.
//!
//! ```text
//! arena    id ──▶ bytes
//! pairs    left, right ──▶ rank, joint        " l" + "ower" ──▶ 5170, " lower"
//! whole    bytes ──▶ id                       where pieces that are tokens are not merged
//! ```

use std::{cmp::Reverse, collections::BinaryHeap};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    packing,
    short::{self, Due, Merges, SHORT},
};

/// No token, no rank, no neighbour.
const NONE: u32 = u32::MAX;

/// Bytes of tokens by id.
#[derive(Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    /// Start and length; a start of [`NONE`] where there is no token.
    places: Vec<(u32, u32)>,
}

impl Arena {
    /// The bytes of a token.
    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> Option<&[u8]> {
        let &(start, len) = self.places.get(id as usize).filter(|place| place.0 != NONE)?;
        self.bytes.get(start as usize..start as usize + len as usize)
    }

    /// Keeps the bytes of a token. Returns `false` if the id belongs to another token.
    pub(crate) fn put(&mut self, id: u32, bytes: &[u8]) -> bool {
        if let Some(known) = self.get(id) {
            return known == bytes;
        }
        let at = id as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, (NONE, 0));
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = (self.bytes.len() as u32, bytes.len() as u32);
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    /// Every token, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.places.len() as u32).filter_map(|id| Some((id, self.get(id)?)))
    }

    pub(crate) fn end(&self) -> u32 {
        self.places.len() as u32
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.places.shrink_to_fit();
    }
}

/// Tokens by their bytes: open addressing over the arena, two slots for three tokens, with a seed that no file can foresee.
pub(crate) struct Index {
    /// A part of the hash, and the token.
    slots: Vec<(u32, u32)>,
    seed: u64,
}

impl Index {
    /// Room for so many tokens.
    pub(crate) fn new(tokens: usize, seed: u64) -> Self {
        Self { slots: vec![(NONE, NONE); tokens + tokens / 2 + 1], seed }
    }

    /// The slot of these bytes, or the free slot for them, and their tag.
    #[inline(always)]
    fn slot(&self, arena: &Arena, bytes: &[u8]) -> (usize, u32) {
        let (hash, count) = (xxh3_64_with_seed(bytes, self.seed), self.slots.len());
        let (mut at, tag) = (spread(hash, count), hash as u32);
        while let Some(&(known, id)) = self.slots.get(at)
            && id != NONE
            && (known != tag || arena.get(id) != Some(bytes))
        {
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        (at, tag)
    }

    /// The token of just these bytes.
    #[inline(always)]
    pub(crate) fn get(&self, arena: &Arena, bytes: &[u8]) -> Option<u32> {
        self.slots.get(self.slot(arena, bytes).0).map(|slot| slot.1).filter(|&id| id != NONE)
    }

    /// Adds a token of the arena. Returns another token that has the same bytes.
    pub(crate) fn put(&mut self, arena: &Arena, id: u32) -> Option<u32> {
        let bytes = arena.get(id)?;
        let (at, tag) = self.slot(arena, bytes);
        let slot = self.slots.get_mut(at)?;
        if slot.1 != NONE {
            return Some(slot.1).filter(|&other| other != id);
        }
        *slot = (tag, id);
        None
    }
}

/// The place of a hash among so many.
#[inline(always)]
fn spread(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> u64::BITS) as usize
}

/// One past the highest id that is taken; the largest vocabularies have 262 144.
pub(crate) const MOST_ID: u32 = 1 << ID_BITS;
const ID_BITS: u32 = 21;

/// Two tokens that merge, and what they make.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Pair {
    /// Left, right and joint.
    ids: u64,
    rank: u32,
}

/// The pairs that merge: open addressing, two slots for three pairs.
pub(crate) struct Pairs(Vec<Pair>);

impl Pairs {
    pub(crate) fn new(pairs: usize) -> Self {
        Self(vec![Pair { ids: u64::MAX, rank: NONE }; pairs + pairs / 2 + 1])
    }

    #[inline(always)]
    fn slot(&self, left: u32, right: u32) -> usize {
        let count = self.0.len();
        let mut at = spread(packing::pair(left, right), count);
        let halves = u64::from(left) << ID_BITS | u64::from(right);
        while let Some(pair) = self.0.get(at)
            && pair.ids != u64::MAX
            && pair.ids >> ID_BITS != halves
        {
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        at
    }

    /// Sets the merge of two tokens, in place of an earlier one of them, as the library does.
    pub(crate) fn put(&mut self, left: u32, right: u32, rank: u32, joint: u32) {
        let at = self.slot(left, right);
        if let Some(slot) = self.0.get_mut(at) {
            let ids = [left, right, joint].into_iter().fold(0, |ids, id| ids << ID_BITS | u64::from(id));
            *slot = Pair { ids, rank };
        }
    }

    /// The rank and joint token of two tokens; the rank is [`NONE`] if they do not merge.
    #[inline(always)]
    fn get(&self, left: u32, right: u32) -> Link {
        let joint = |pair: &Pair| pair.ids as u32 & (MOST_ID - 1);
        self.0
            .get(self.slot(left, right))
            .map_or(Link::NONE, |pair| Link { rank: pair.rank, joint: joint(pair) })
    }
}

/// The tokens of a file and how they merge.
pub(crate) struct PairTable {
    arena: Arena,
    single_bytes: Box<[u32; 256]>,
    pairs: Pairs,
    /// Set if a piece that is a token is not merged.
    whole: Option<Index>,
    pub(crate) bridges: Vec<u8>,
}

impl PairTable {
    pub(crate) fn new(
        arena: Arena,
        single_bytes: Box<[u32; 256]>,
        pairs: Pairs,
        whole: Option<Index>,
    ) -> Self {
        let bridges = packing::bridges(arena.iter().map(|(_, bytes)| bytes));
        Self { arena, single_bytes, pairs, whole, bridges }
    }

    pub(crate) fn end(&self) -> u32 {
        self.arena.end()
    }

    pub(crate) fn spell(&self, id: u32, text: &mut Vec<u8>) -> bool {
        self.arena.get(id).is_some_and(|bytes| {
            text.extend_from_slice(bytes);
            true
        })
    }
}

impl Merges for PairTable {
    #[inline(always)]
    fn byte(&self, byte: u8) -> Option<u32> {
        self.single_bytes.get(usize::from(byte)).copied().filter(|&id| id != NONE)
    }

    #[inline(always)]
    fn due_of_bytes(&self, left: u32, right: u32) -> Due {
        self.due(packing::pair(left, right), left, right)
    }

    #[inline(always)]
    fn may_merge(&self, _: u64) -> bool {
        true
    }

    #[inline(always)]
    fn due(&self, _: u64, left: u32, right: u32) -> Due {
        let link = self.pairs.get(left, right);
        if link.rank == NONE { Due::NEVER } else { Due::new(link.rank, link.joint) }
    }
}

/// The token that two neighbours make.
#[derive(Clone, Copy)]
struct Link {
    rank: u32,
    joint: u32,
}

impl Link {
    const NONE: Self = Self { rank: NONE, joint: NONE };
}

/// Buffers merging needs, kept between pieces.
#[derive(Default)]
pub(crate) struct Joiner {
    parts: Vec<LinkedToken>,
    /// Rank and place of each link; some are out of date.
    due: BinaryHeap<Reverse<(u32, u32)>>,
}

/// A token of a piece in the making.
struct LinkedToken {
    id: u32,
    /// With the next part.
    link: Link,
    /// Places of the neighbours.
    before: u32,
    after: u32,
}

impl Joiner {
    /// Appends the tokens of a piece.
    pub(crate) fn encode(&mut self, words: &PairTable, piece: &[u8], tokens: &mut Vec<u32>) {
        if let Some(id) = words.whole.as_ref().and_then(|whole| whole.get(&words.arena, piece)) {
            tokens.push(id);
            return;
        }
        if piece.len() <= SHORT {
            tokens.extend(short::merge(words, piece).ids());
            return;
        }
        self.split(words, piece);
        self.join(words);
        tokens.extend(self.parts.iter().map(|part| part.id).filter(|&id| id != NONE));
    }

    /// One part for each byte, and the links between them.
    fn split(&mut self, words: &PairTable, piece: &[u8]) {
        self.parts.clear();
        let id = |byte: u8| words.single_bytes.get(usize::from(byte)).copied().unwrap_or(NONE);
        let known = piece.iter().map(|&byte| id(byte)).filter(|&id| id != NONE);
        for (at, id) in (0u32..).zip(known) {
            if let Some(last) = self.parts.last_mut() {
                last.link = words.pairs.get(last.id, id);
                last.after = at;
            }
            self.parts.push(LinkedToken { id, link: Link::NONE, before: at.wrapping_sub(1), after: NONE });
        }
    }

    /// Joins by a heap of links. A part that was joined to the one before stays behind without an id.
    fn join(&mut self, words: &PairTable) {
        self.due.clear();
        let links = self.parts.iter().zip(0u32..).filter(|(part, _)| part.link.rank != NONE);
        self.due.extend(links.map(|(part, at)| Reverse((part.link.rank, at))));
        while let Some(Reverse((rank, at))) = self.due.pop() {
            let Some(&LinkedToken { id, link, before, after }) = self.parts.get(at as usize) else {
                continue;
            };
            if id == NONE || link.rank != rank {
                continue;
            }
            let Some(gone) = self.parts.get_mut(after as usize) else { continue };
            gone.id = NONE;
            let next = gone.after;
            let next_id = self.parts.get_mut(next as usize).map(|part| {
                part.before = at;
                part.id
            });
            let joined = next_id.map_or(Link::NONE, |next| words.pairs.get(link.joint, next));
            self.set(at, |part| (part.id, part.link, part.after) = (link.joint, joined, next));
            if let Some(id) = self.parts.get(before as usize).map(|part| part.id) {
                let joined = words.pairs.get(id, link.joint);
                self.set(before, |part| part.link = joined);
            }
        }
    }

    /// Changes a part, and queues its link.
    fn set(&mut self, at: u32, change: impl FnOnce(&mut LinkedToken)) {
        let Some(part) = self.parts.get_mut(at as usize) else { return };
        change(part);
        if part.link.rank != NONE {
            self.due.push(Reverse((part.link.rank, at)));
        }
    }
}
