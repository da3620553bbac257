//! Tokens by id, and ids by the bytes of a token.

use std::hash::{BuildHasher, RandomState};

use rustc_hash::{FxBuildHasher, FxHashMap};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The start of an id without a token.
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

/// Ids by 64 bits of hash. The seed differs in each process, so no file can foresee which tokens would share a hash.
pub(crate) struct Index {
    ids: FxHashMap<u64, u32>,
    seed: u64,
}

impl Index {
    /// Room for so many tokens.
    pub(crate) fn new(tokens: usize) -> Self {
        let ids = FxHashMap::with_capacity_and_hasher(tokens, FxBuildHasher);
        Self { ids, seed: RandomState::new().hash_one(tokens) }
    }

    /// The token of just these bytes.
    #[inline(always)]
    pub(crate) fn get(&self, bytes: &[u8]) -> Option<u32> {
        self.ids.get(&xxh3_64_with_seed(bytes, self.seed)).copied()
    }

    /// Adds a token. Returns another token that has the same bytes.
    pub(crate) fn put(&mut self, bytes: &[u8], id: u32) -> Option<u32> {
        let known = *self.ids.entry(xxh3_64_with_seed(bytes, self.seed)).or_insert(id);
        Some(known).filter(|&known| known != id)
    }
}
