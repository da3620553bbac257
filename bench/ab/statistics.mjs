// Statistics of paired outcomes: the same task under two arms, where only pairs that differ tell the arms apart. `gained`
// counts the pairs only the arm solved, `lost` those only the baseline solved.

/** Upper 2.5 % point of the normal distribution, for two-sided 95 % intervals. */
const Z_95 = 1.959963984540054;

/** Upper 20 % point of the normal distribution, for a power of 80 %. */
const Z_POWER = 0.8416212335729143;

/**
 * The two-sided p-value of McNemar's exact test: the binomial test of `gained` among `gained + lost` against one half.
 * `mcNemar(1, 8)` is 0.0390625.
 */
export function mcNemar(gained, lost) {
  const all = gained + lost;
  let ways = 1n;
  let tail = 1n;
  for (let i = 1; i <= Math.min(gained, lost); i += 1) {
    ways = (ways * BigInt(all - i + 1)) / BigInt(i);
    tail += ways;
  }
  return Math.min(1, ratioToPowerOfTwo(tail, all - 1));
}

/** Bits of a BigInt that a double can hold, and some to round by. */
const KEPT_BITS = 64;

function ratioToPowerOfTwo(value, exponent) {
  const shift = Math.max(0, value.toString(2).length - KEPT_BITS);
  return Number(value >> BigInt(shift)) * 2 ** (shift - exponent);
}

/**
 * The 95 % score interval of the difference of success, arm less baseline, over `pairs` tasks (Tango 1998, Statistics in
 * Medicine 17: 891–908). It holds for small counts and for none: `pairedInterval({ gained: 0, lost: 0, pairs: 24 })` is
 * 0 ± 0.14.
 */
export function pairedInterval({ gained, lost, pairs }) {
  if (pairs === 0) return { low: -1, high: 1 };
  const at = (difference) => scoreAt(difference, gained, lost, pairs);
  const middle = (gained - lost) / pairs;
  return { low: rootOf(at, Z_95, -1, middle), high: rootOf(at, -Z_95, middle, 1) };
}

/** The score statistic of a true difference; falls as the difference grows. */
function scoreAt(difference, gained, lost, pairs) {
  const a = 2 * pairs;
  const b = -gained - lost + (2 * pairs - gained + lost) * difference;
  const c = -lost * difference * (1 - difference);
  const lostShare = (Math.sqrt(Math.max(0, b * b - 4 * a * c)) - b) / (2 * a);
  const variance = pairs * (2 * lostShare + difference * (1 - difference));
  const excess = gained - lost - pairs * difference;
  if (variance <= 0) return excess === 0 ? 0 : Math.sign(excess) * Number.POSITIVE_INFINITY;
  return excess / Math.sqrt(variance);
}

/** Halvings after which an interval of length 2 is below the last digit of a double. */
const HALVINGS = 60;

function rootOf(falling, target, from, to) {
  let [low, high] = [from, to];
  for (let i = 0; i < HALVINGS; i += 1) {
    const middle = (low + high) / 2;
    if (falling(middle) > target) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Tasks that show a loss of `effect` (0.1 is ten tasks in a hundred) with a power of 80 % at 5 %, where a share `differing` of the
 * pairs comes out otherwise under the two arms; by the normal approximation.
 */
export function tasksForEffect(effect, differing) {
  const all = Math.max(differing, effect);
  return Math.ceil(
    (Z_95 * Math.sqrt(all) + Z_POWER * Math.sqrt(all - effect * effect)) ** 2 / (effect * effect),
  );
}

/** Tasks that bring the interval within `margin` with a power of 80 % if the arms are equal; by the normal approximation. */
export function tasksForMargin(margin, differing) {
  return Math.ceil((differing * (Z_95 + Z_POWER) ** 2) / (margin * margin));
}
