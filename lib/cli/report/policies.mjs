// The settings that a report compares: none, and ours. Each is a maker of a policy, `(messages) => Promise<messages>`.

import hook from "../../hook/hook.js";

/** The policy that edits nothing. */
export const NONE = "no compression";

/** Makers of policies by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  [NONE]: () => async (messages) => messages,
  everyCall: ours({ schedule: "everyCall" }),
  "sticky, faithful": ours({ schedule: "sticky", economy: "faithful" }),
  "sticky, balanced": ours({ schedule: "sticky" }),
  "sticky, thrifty": ours({ schedule: "sticky", economy: "thrifty" }),
};

/** The policy that stands for each schedule of ours. */
export const POLICY_OF = { auto: "sticky, balanced", everyCall: "everyCall", sticky: "sticky, balanced" };

/** Our hook with these options, as a policy; it knows the prices it will be measured by. */
export function ours(options) {
  return ({ contextWindow, prices }) =>
    hook.createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });
}

/** Prices in dollars as the hook's option wants them, relative to input. */
export function cacheOf({ input, read, write, ttlSeconds }) {
  return input > 0 ? { read: read / input, write: write / input, ttlSeconds } : { ttlSeconds };
}
