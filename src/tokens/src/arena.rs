//! Tokens by id, and ids by the bytes of a token.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The start of an id without a token, and the id of a free slot.
const NONE: u32 = u32::MAX;

/// Bytes of a token copied at once, wanted or not: most tokens are shorter, and a fixed length needs no call.
const STEP: usize = 16;

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

    /// Appends the bytes of tokens; `special` knows tokens that are not here. Fails with the position of an unknown one.
    pub(crate) fn decode<'a>(
        &'a self,
        tokens: &[u32],
        special: impl Fn(u32) -> Option<&'a [u8]>,
        text: &mut Vec<u8>,
    ) -> Result<(), usize> {
        let mut end = text.len();
        for (position, &token) in tokens.iter().enumerate() {
            if let Some(&(start, len)) = self.places.get(token as usize)
                && len as usize <= STEP
                && let Some(wide) =
                    self.bytes.get(start as usize..).and_then(|rest| rest.first_chunk::<STEP>())
                && let Some(place) = text.get_mut(end..).and_then(|rest| rest.first_chunk_mut())
            {
                *place = *wide;
                end += len as usize;
                continue;
            }
            // A long token, a special one, or no room is left.
            let bytes = self.get(token).or_else(|| special(token)).ok_or(position)?;
            let after = end + bytes.len();
            text.resize(2 * (after + STEP), 0);
            if let Some(place) = text.get_mut(end..after) {
                place.copy_from_slice(bytes);
            }
            end = after;
        }
        text.truncate(end);
        Ok(())
    }

    /// Every token, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.end()).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// One past the highest id.
    pub(crate) fn end(&self) -> u32 {
        self.places.len() as u32
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.places.shrink_to_fit();
    }
}

/// Ids by 64 bits of hash: open addressing. The seed differs in each process, so no file can foresee which tokens would share
/// a hash.
pub(crate) struct Index {
    slots: Box<[Slot]>,
    seed: u64,
}

#[derive(Clone, Copy)]
#[repr(C, packed(4))]
struct Slot {
    hash: u64,
    id: u32,
}

impl Index {
    /// Room for so many tokens.
    pub(crate) fn new(tokens: usize) -> Self {
        let slots = vec![Slot { hash: 0, id: NONE }; room(tokens)].into();
        Self { slots, seed: RandomState::new().hash_one(tokens) }
    }

    /// The slot of these bytes, or the free slot for them, and their hash.
    #[inline(always)]
    fn slot(&self, bytes: &[u8]) -> (usize, u64) {
        let (hash, mask) = (xxh3_64_with_seed(bytes, self.seed), self.slots.len() - 1);
        let mut at = hash as usize & mask;
        while self.slots.get(at).is_some_and(|slot| slot.id != NONE && slot.hash != hash) {
            at = (at + 1) & mask;
        }
        (at, hash)
    }

    /// The token of just these bytes.
    #[inline(always)]
    pub(crate) fn get(&self, bytes: &[u8]) -> Option<u32> {
        self.slots.get(self.slot(bytes).0).map(|slot| slot.id).filter(|&id| id != NONE)
    }

    /// Adds a token. Returns another token that has the same bytes.
    pub(crate) fn put(&mut self, bytes: &[u8], id: u32) -> Option<u32> {
        let (at, hash) = self.slot(bytes);
        let slot = self.slots.get_mut(at)?;
        if slot.id != NONE {
            return Some(slot.id).filter(|&other| other != id);
        }
        *slot = Slot { hash, id };
        None
    }
}

/// Slots for so many entries, a power of two: five for four entries or more.
pub(crate) const fn room(entries: usize) -> usize {
    (entries + entries / 4 + 1).next_power_of_two()
}
