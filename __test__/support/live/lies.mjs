// What providers report that is not so. Each maker gives one conversation its own way of writing down an honest usage.

const NOTHING = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
/** More tokens than any prompt has. */
export const ABSURD = 9e15;

export const LIES = {
  none: () => (usage) => usage,
  "no usage": () => () => undefined,
  zero: () => () => NOTHING,
  negative: () => (usage) => ({
    ...usage,
    input: -usage.input,
    cacheRead: -1,
    cacheWrite: -usage.cacheWrite,
  }),
  absurd: () => (usage) => ({ ...usage, input: ABSURD, totalTokens: ABSURD }),
  "no numbers": () => () => ({ input: "12", output: null, cacheRead: Number.NaN, cacheWrite: {} }),
  "missing on some": () => everyThird(() => undefined),
  "zero on some": () => everyThird(() => NOTHING),
  "absurd on some": () => everyThird((usage) => ({ ...usage, input: ABSURD })),
  "tiny on some": () => everyThird((usage) => ({ ...usage, cacheRead: 0, cacheWrite: 0 })),
  "cached twice": () => (usage) => ({ ...usage, input: usage.input + usage.cacheRead }),
};

/** Lies that leave two reports of three as they should be: what is learned must be right all the same. */
export const HARMLESS = new Set([
  "none",
  "missing on some",
  "zero on some",
  "absurd on some",
  "tiny on some",
]);

function everyThird(lie) {
  let call = 0;
  return (usage) => (++call % 3 === 0 ? lie(usage) : usage);
}
