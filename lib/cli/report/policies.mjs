// The settings that a report compares: none, and ours. Each is a maker of a policy, `(messages) => Promise<messages>`.

import hook from "../../hook/hook.js";
import { cacheOf } from "./prices.mjs";

/** The policy that edits nothing. */
export const NONE = "no compression";
/** Name of the policy with other options than those below. */
export const OWN = "these options";

/** Makers of policies by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  [NONE]: () => async (messages) => messages,
  everyCall: ours({ schedule: "everyCall" }),
  "sticky, faithful": ours({ schedule: "sticky", economy: "faithful" }),
  "sticky, balanced": ours({ schedule: "sticky" }),
  "sticky, thrifty": ours({ schedule: "sticky", economy: "thrifty" }),
};

/** The name of the policy with these options of the hook. */
export function policyName({ contextWindow, cache, schedule = "auto", economy = "balanced", ...others }) {
  if (Object.keys(others).length > 0) return OWN;
  if (schedule === "everyCall") return economy === "balanced" ? "everyCall" : OWN;
  return Object.keys(POLICIES).find((name) => name === `sticky, ${economy}`) ?? OWN;
}

/** Makes our hook with these options a policy. It gets the prices that its bill uses. */
export function ours(options) {
  return ({ contextWindow, prices }) =>
    hook.createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });
}
