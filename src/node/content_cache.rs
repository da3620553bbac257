//! Caches facts by content, for hosts that pass fresh copies of the same messages at every call.
//! All hooks share the cache. It finds all facts in use and keeps a few megabytes of unused ones. It holds facts and the
//! short texts that replace long ones, never a message.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;

use crate::context::facts::measure::{Raw, Rules, measure};
use crate::context::facts::transcript::Message;

/// Most UTF-16 code units of texts whose unused facts are kept. Facts take about two bytes for each.
const MAX_UNITS: usize = 2 << 20;
/// Units added for each message: facts take room even without text.
const LEAST_UNITS: usize = 512;
/// Smallest number of entries at which unused ones are removed.
const SWEPT_FROM: usize = 4096;

/// Hash of the content, hash of the rules it was measured under.
type Key = (u128, u64);

static CACHE: LazyLock<Mutex<ContentCache>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct ContentCache {
    /// A schedule holds the facts of a conversation's last call, so the copies of the next one find them here.
    facts: HashMap<Key, Weak<Message>>,
    /// Number of entries at which unused ones are removed.
    swept_at: usize,
    /// The newest facts with the units of their texts, oldest first: they stay even if unused.
    newest: VecDeque<(usize, Arc<Message>)>,
    newest_units: usize,
}

impl ContentCache {
    fn insert(&mut self, key: Key, units: usize, facts: &Arc<Message>) {
        self.newest_units += units;
        self.newest.push_back((units, facts.clone()));
        while self.newest_units > MAX_UNITS
            && let Some((units, _)) = self.newest.pop_front()
        {
            self.newest_units -= units;
        }
        if self.facts.len() >= self.swept_at {
            self.facts.retain(|_, facts| facts.strong_count() > 0);
            self.facts.shrink_to(2 * self.facts.len());
            self.swept_at = SWEPT_FROM.max(2 * self.facts.len());
        }
        self.facts.insert(key, Arc::downgrade(facts));
    }
}

/// The hash of the rules, for `facts_of`.
pub(super) fn hash_of(rules: &Rules) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(rules)
}

/// The facts of a message. Content that was measured under equal rules is looked up.
pub(super) fn facts_of(raw: &Raw<'_>, rules: &Rules, rules_hash: u64) -> Arc<Message> {
    let key = (raw.fingerprint, rules_hash);
    let known = CACHE.lock().facts.get(&key).and_then(Weak::upgrade);
    known.unwrap_or_else(|| {
        let facts = Arc::new(measure(raw, rules));
        CACHE.lock().insert(key, LEAST_UNITS + raw.text_len().0, &facts);
        facts
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::facts::measure::{Part, RawRole};

    #[test]
    fn remembers_the_newest_and_frees_what_it_lets_go() {
        let text: Vec<u16> = "a line of output that is long enough\n".repeat(40).encode_utf16().collect();
        let rules = Rules::default();
        let read = |fingerprint| {
            let role = RawRole::ToolResult { call_id: &[], tool_name: &[], marker: None };
            let parts = vec![Part::Text(&text)];
            facts_of(&Raw { fingerprint, ..Raw::new(role, parts) }, &rules, 0)
        };
        let all: Vec<_> = (0..40_000).map(|fingerprint| Arc::downgrade(&read(fingerprint))).collect();
        let cache = CACHE.lock();
        assert!(cache.newest.len() > 500, "it does remember");
        let held = all.iter().filter(|facts| facts.upgrade().is_some()).count();
        assert!(held <= cache.newest.len(), "{held} held: what it lets go is freed");
        assert!(cache.facts.len() <= 2 * (cache.newest.len() + SWEPT_FROM), "entries of freed facts go");
    }
}
