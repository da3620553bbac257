// The settings that a report compares: none, and ours. Each is a maker of a policy, `(messages) => Promise<messages>`.

import hook from "../../hook/hook.js";
import { cacheOf } from "./prices.mjs";

/** The policy that edits nothing. */
export const NONE = "no compression";
/** Name of the policy with other options than those below. */
const OWN = "these options";
const SETTINGS = {
  everyCall: { schedule: "everyCall" },
  "sticky, faithful": { economy: "faithful" },
  "sticky, balanced": {},
  "sticky, thrifty": { economy: "thrifty" },
};

/** Makes our hook with these options a policy. It gets the prices that its bill uses. */
export const ours =
  (options) =>
  ({ contextWindow, prices }) =>
    hook.createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });

/** Makers of policies by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  [NONE]: () => async (messages) => messages,
  ...Object.fromEntries(Object.entries(SETTINGS).map(([name, options]) => [name, ours(options)])),
};

/** The name of the policy with these options of the hook. */
export function policyName({ contextWindow, cache, schedule, economy = "balanced", ...others }) {
  const name = schedule === "everyCall" ? schedule : `sticky, ${economy}`;
  return name in SETTINGS && Object.keys(others).length === 0 ? name : OWN;
}
