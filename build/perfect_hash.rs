//! Lays out a set of hashes as a perfect-hash table: no two keys share a slot, so a look-up is one probe.
//!
//! Keys are thrown into small buckets; each bucket, the fullest first, tries pilots until all its keys land on free
//! slots. What flows out is the pilot of each bucket and the key of each slot.

use crate::hash;

/// Mean keys per bucket: fewer means more pilots to store, more means longer searches here.
const KEYS_PER_BUCKET: usize = 5;
/// Slots per hundred keys: a few free ones keep the search for the last buckets short.
const SLOTS_PER_100_KEYS: usize = 104;

/// The pilot of each bucket and the id in each slot that is used.
pub(crate) struct Table {
    pub(crate) pilots: Vec<u16>,
    pub(crate) slots: Vec<Option<u32>>,
}

/// Builds the table over `(hash, id)` entries.
pub(crate) fn build(keys: &[(u64, u32)]) -> Table {
    let bucket_count = keys.len() / KEYS_PER_BUCKET + 1;
    let slot_count = keys.len() * SLOTS_PER_100_KEYS / 100 + 1;
    let mut buckets = vec![Vec::new(); bucket_count];
    for &(hash, id) in keys {
        buckets[hash::bucket(hash, bucket_count)].push((hash, id));
    }
    let mut order: Vec<usize> = (0..bucket_count).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));
    let mut table = Table { pilots: vec![0; bucket_count], slots: vec![None; slot_count] };
    let mut places = Vec::new();
    for bucket in order {
        let pilot = (0..=u16::MAX)
            .find(|&pilot| {
                places.clear();
                buckets[bucket].iter().all(|&(hash, _)| {
                    let slot = hash::slot(hash, pilot, slot_count);
                    let free = table.slots[slot].is_none() && !places.contains(&slot);
                    places.push(slot);
                    free
                })
            })
            .expect("65 536 pilots always suffice for this vocabulary");
        table.pilots[bucket] = pilot;
        for (&slot, &(_, id)) in places.iter().zip(&buckets[bucket]) {
            table.slots[slot] = Some(id);
        }
    }
    table
}
