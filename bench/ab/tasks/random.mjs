// Numbers that look random and are the same for the same seed, so that a run can be made again.

/** A generator of whole numbers for a text: `pick(low, high)` includes both ends. */
export function randomOf(seed) {
  let state = hash(String(seed));
  const next = () => {
    // Mulberry32: 32 bits of state are enough for names and figures.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    pick: (low, high) => low + Math.floor(next() * (high - low + 1)),
    of: (list) => list[Math.floor(next() * list.length)],
  };
}

/** FNV-1a over UTF-16 code units. */
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
