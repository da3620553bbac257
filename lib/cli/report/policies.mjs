// The settings that a report compares: none, and ours. Each is a maker of a policy, `(messages) => Promise<messages>`.

import hook from "../../hook/hook.js";
import { cacheOf } from "./prices.mjs";

/** The policy that edits nothing. */
export const NONE = "no compression";
/** The one that is reported, where its options are none of those below. */
export const OWN = "these options";

/** Makers of policies by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  [NONE]: () => async (messages) => messages,
  everyCall: ours({ schedule: "everyCall" }),
  "sticky, faithful": ours({ schedule: "sticky", economy: "faithful" }),
  "sticky, balanced": ours({ schedule: "sticky" }),
  "sticky, thrifty": ours({ schedule: "sticky", economy: "thrifty" }),
};

/** The name of the policy that these options of the hook make. */
export function policyName({ contextWindow, cache, schedule = "auto", economy = "balanced", ...others }) {
  if (Object.keys(others).length > 0) return OWN;
  if (schedule === "everyCall") return economy === "balanced" ? "everyCall" : OWN;
  return Object.keys(POLICIES).find((name) => name === `sticky, ${economy}`) ?? OWN;
}

/** Our hook with these options, as a policy; it knows the prices it will be measured by. */
export function ours(options) {
  return ({ contextWindow, prices }) =>
    hook.createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });
}
