// Statistics of paired outcomes: the same task under two arms, where only pairs that differ tell the arms apart. `gained`
// counts the pairs only the arm solved, `lost` those only the baseline solved.

/** Upper 2.5 % point of the normal distribution, for two-sided 95 % intervals. */
const Z_95 = 1.959963984540054;

/** Upper 20 % point of the normal distribution, for a power of 80 %. */
const Z_POWER = 0.8416212335729143;

/** The conventional level of the two-sided test, and the power a number of tasks is worked out for. */
const LEVEL = 0.05;
const POWER = 0.8;

/** More tasks than this are told by the normal approximation alone. */
const EXACT_TASKS = 4000;

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
 * The two-sided p-value by sessions: tasks of one session hang together, so the signs of whole sessions are flipped.
 * Exact over all flips; `differences` holds one sum of gained less lost per session, at most 20 of them are flipped.
 */
export function bySessions(differences) {
  const moved = differences.filter((difference) => difference !== 0);
  if (moved.length === 0) return 1;
  if (moved.length > 20) return undefined;
  const seen = Math.abs(moved.reduce((sum, difference) => sum + difference, 0));
  let asFar = 0;
  for (let flips = 0; flips < 2 ** moved.length; flips += 1) {
    const sum = moved.reduce(
      (total, difference, i) => total + ((flips >> i) & 1 ? difference : -difference),
      0,
    );
    if (Math.abs(sum) >= seen) asFar += 1;
  }
  return asFar / 2 ** moved.length;
}

/**
 * Power of the exact test at 5 %, over `tasks` pairs of which a share `lost` is solved by the baseline only and a share
 * `gained` by the arm only.
 */
export function powerOf({ tasks, gained, lost }) {
  const differing = gained + lost;
  if (differing === 0) return 0;
  const logs = logFactorials(tasks);
  let power = 0;
  for (let n = 1; n <= tasks; n += 1) {
    const weight = binomial(n, tasks, differing, logs);
    if (weight < 1e-12) continue;
    power += weight * rejected(n, gained / differing, logs);
  }
  return power;
}

/** Probability that the test rejects, given the number of pairs that differ. */
function rejected(n, share, logs) {
  let tail = 0;
  let sum = 0;
  for (let k = 0; 2 * k < n; k += 1) {
    tail += binomial(k, n, 0.5, logs);
    if (2 * tail > LEVEL) break;
    sum += binomial(k, n, share, logs) + binomial(n - k, n, share, logs);
  }
  return sum;
}

function binomial(k, n, share, logs) {
  if (share === 0 || share === 1) return k === n * share ? 1 : 0;
  return Math.exp(logs[n] - logs[k] - logs[n - k] + k * Math.log(share) + (n - k) * Math.log(1 - share));
}

function logFactorials(n) {
  const logs = [0];
  for (let i = 1; i <= n; i += 1) logs.push(logs[i - 1] + Math.log(i));
  return logs;
}

/**
 * Tasks that show a loss of `effect` (0.1 is ten tasks in a hundred) with a power of 80 % at 5 %, where a share
 * `differing` of the pairs comes out otherwise under the two arms.
 */
export function tasksForEffect(effect, differing) {
  const all = Math.max(differing, effect);
  const [gained, lost] = [(all - effect) / 2, (all + effect) / 2];
  const enough = (tasks) => powerOf({ tasks, gained, lost }) >= POWER;
  const byNormal = Math.ceil(
    (Z_95 * Math.sqrt(all) + Z_POWER * Math.sqrt(all - effect * effect)) ** 2 / (effect * effect),
  );
  if (byNormal > EXACT_TASKS) return byNormal;
  let tasks = Math.max(1, Math.floor(byNormal * 0.7));
  // The exact test is saw-toothed in its number of tasks: the power must hold for the next ones, too.
  while (![0, 1, 2, 3, 4].every((more) => enough(tasks + more)))
    tasks += Math.max(1, Math.round(tasks * 0.01));
  return tasks;
}

/** Tasks that bring the interval within `margin` with a power of 80 % if the arms are equal; by the normal approximation. */
export function tasksForMargin(margin, differing) {
  return Math.ceil((differing * (Z_95 + Z_POWER) ** 2) / (margin * margin));
}
