// The policies a cost report compares: ours, and the yardsticks.

import hook from "../../hook.js";
import { clearOver100k, coldOnly, maskBatches, none, wholeRounds } from "./yardsticks.mjs";

/** Makers of policies by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  "no compression": none,
  everyCall: ours({ schedule: "everyCall" }),
  "sticky, faithful": ours({ schedule: "sticky", economy: "faithful" }),
  "sticky, balanced": ours({ schedule: "sticky" }),
  "sticky, thrifty": ours({ schedule: "sticky", economy: "thrifty" }),
  auto: ours({ schedule: "auto" }),
  "whole rounds 0.75 → 0.5": wholeRounds,
  "clear over 100k, keep 20": clearOver100k,
  "cold only": coldOnly,
  "mask all but 20, batches of 40": maskBatches,
};

/** The policy that stands for each schedule of ours. */
export const POLICY_OF = { auto: "auto", everyCall: "everyCall", sticky: "sticky, balanced" };

/** Our hook with these options, as a policy; it knows the prices it will be measured by. */
export function ours(options) {
  return ({ contextWindow, prices }) =>
    hook.createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });
}

/** Prices in dollars as the hook's option wants them, relative to input. */
export function cacheOf({ input, read, write, ttlSeconds }) {
  return input > 0 ? { read: read / input, write: write / input, ttlSeconds } : { ttlSeconds };
}
