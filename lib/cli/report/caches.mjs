// The two ways providers cache prompts: an unchanged prefix, or only whole earlier requests.

import { promptTokens } from "./estimates.mjs";

/** Of these providers and models a cache serves whole earlier requests only. */
const WITH_BREAKPOINTS = /anthropic|claude/i;

/** The kind of cache that the provider of most recorded answers has: "prefix" where nothing speaks for the other. */
export function cacheModelOf(recording) {
  const said = recording.calls
    .map(({ at }) => recording.message(at))
    .filter(({ model }) => model !== undefined)
    .map(({ api, provider, model }) => WITH_BREAKPOINTS.test([api, provider, model].join(" ")));
  if (said.length === 0) return WITH_BREAKPOINTS.test(recording.format) ? "breakpoint" : "prefix";
  return said.filter(Boolean).length * 2 > said.length ? "breakpoint" : "prefix";
}

/** The longest common run of unchanged messages with the previous request is read. */
export class PrefixCache {
  #last;

  /** Tokens of `request` (an array of versions), by `estimate`, that are read from the cache at `timeMs`. */
  read(request, timeMs, ttlMs, estimate) {
    const last = this.#last;
    this.#last = { request, timeMs };
    if (last === undefined || timeMs - last.timeMs > ttlMs) return 0;
    return promptTokens(estimate, request.slice(0, commonRun(request, last.request)));
  }
}

/** Only a whole earlier request can be read; reading it keeps it alive. */
export class BreakpointCache {
  #entries = [];

  read(request, timeMs, ttlMs, estimate) {
    const alive = this.#entries.filter((entry) => timeMs - entry.timeMs <= ttlMs);
    const isWhole = ({ request: earlier }) => commonRun(request, earlier) === earlier.length;
    const [hit] = alive.filter(isWhole).sort((a, b) => b.request.length - a.request.length);
    if (hit !== undefined) hit.timeMs = timeMs;
    this.#entries = [...alive, { request, timeMs }];
    return hit === undefined ? 0 : promptTokens(estimate, hit.request);
  }
}

function commonRun(request, earlier) {
  const end = Math.min(request.length, earlier.length);
  let at = 0;
  while (at < end && request[at] === earlier[at]) at += 1;
  return at;
}
