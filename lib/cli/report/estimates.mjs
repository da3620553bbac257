// Estimates the tokens of any request at a recorded call as the provider would have counted them: one linear estimate per
// call, learned from the recorded usage as the hook learns it.

import { Call, Hook, Layers } from "../../hook/hook.js";
import options from "../../hook/options.js";

/**
 * One `{ tokensBefore, estimate: { base, scale } }` per call of a recording. A request of `n` cl100k tokens is estimated
 * at `base + scale * n` tokens, so the whole transcript comes to `tokensBefore`, which is what the replay tells.
 */
export async function estimatesOf(recording, { contextWindow }) {
  const hook = new Hook(new Layers(options.checkHookOptions("replay", { contextWindow })));
  const estimates = [];
  for (const call of recording.calls) {
    const { tokensBefore, scale } = await hook.planFor(recording.messagesBefore(call), new Call(), false);
    const counted = recording.numbersBefore(call).reduce((sum, number) => sum + recording.tokens(number), 0);
    estimates.push({ tokensBefore, estimate: { base: tokensBefore - scale * counted, scale } });
  }
  return estimates;
}

/** Tokens of a request whose versions these are, in whole tokens, as a provider counts. */
export function promptTokens({ base, scale }, versions) {
  return Math.round(Math.max(0, base + scale * versions.reduce((sum, version) => sum + version.counted, 0)));
}
