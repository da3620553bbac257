// Numbers as the tables and the report's page write them, and whole numbers that add up.

/** A whole number with commas between thousands. */
export const whole = (number) => (Math.round(number) + 0).toLocaleString("en-US");

/** A count with its noun: "1 call", "22 calls". */
export const some = (count, noun) => `${whole(count)} ${noun}${Math.round(count) === 1 ? "" : "s"}`;

/** A share of 1 in percent, with one decimal. */
export const percent = (share) => `${unsigned(100 * share)} %`;

/** The change from `before` to `after` in percent, signed. A change that rounds to 0 has no sign. */
export function change(before, after) {
  const percents = unsigned(before > 0 ? (100 * Math.abs(before - after)) / before : 0);
  const sign = after < before ? "−" : "+";
  return percents === "0.0" ? "0.0 %" : `${sign}${percents} %`;
}

/** Difference of two sums as they are written, to the cent, so that all three agree. */
export const apart = (one, other) => Math.abs(Number(one.toFixed(2)) - Number(other.toFixed(2)));

/** "once", "2 times". */
export const times = (count) => (count === 1 ? "once" : `${whole(count)} times`);

/** The value that this share of `values` is below; undefined if there are none. */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** One decimal, and no minus before a zero. */
function unsigned(number) {
  const text = number.toFixed(1);
  return text === "-0.0" ? "0.0" : text;
}

/**
 * Splits `total` into whole parts in proportion to `weights`; the parts add up to it.
 * @example apportioned(10, [1, 1, 1]) // [4, 3, 3]
 */
export function apportioned(total, weights) {
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  if (all === 0) return weights.map((_, i) => (i === 0 ? total : 0));
  const exact = weights.map((weight) => (total * weight) / all);
  const parts = exact.map(Math.floor);
  const left = Math.round(total - parts.reduce((sum, part) => sum + part, 0));
  const byRest = exact.map((_, i) => i).sort((a, b) => exact[b] - parts[b] - (exact[a] - parts[a]));
  for (const i of byRest.slice(0, left)) parts[i] += 1;
  return parts;
}
