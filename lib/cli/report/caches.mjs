// The two ways providers cache prompts: an unchanged prefix, or only whole earlier requests. A request is an array of versions.

/** Providers and models whose cache serves whole earlier requests only. */
const WITH_BREAKPOINTS = /anthropic|claude/i;

/** The kind of cache of most recorded answers' provider; "prefix" if that is unknown. */
export function cacheModelOf(recording) {
  const said = recording.calls
    .map(({ at }) => recording.message(at))
    .filter(({ model }) => model !== undefined)
    .map(({ api, provider, model }) => WITH_BREAKPOINTS.test([api, provider, model].join(" ")));
  if (said.length === 0) return WITH_BREAKPOINTS.test(recording.format) ? "breakpoint" : "prefix";
  return said.filter(Boolean).length * 2 > said.length ? "breakpoint" : "prefix";
}

/** Reads the longest unchanged beginning that a request shares with the one before it. */
export class PrefixCache {
  #last;

  /** The part of `request` that is read from the cache at `timeMs`; undefined if nothing is, not even the system prompt. */
  read(request, timeMs, ttlMs) {
    const last = this.#last;
    this.#last = { request, timeMs };
    if (last === undefined || timeMs - last.timeMs > ttlMs) return undefined;
    return request.slice(0, commonRun(request, last.request));
  }
}

/** Reads the longest whole earlier request; reading keeps an entry alive. */
export class BreakpointCache {
  #entries = [];

  read(request, timeMs, ttlMs) {
    const alive = this.#entries.filter((entry) => timeMs - entry.timeMs <= ttlMs);
    const isWhole = ({ request: earlier }) => commonRun(request, earlier) === earlier.length;
    const [hit] = alive.filter(isWhole).sort((a, b) => b.request.length - a.request.length);
    if (hit !== undefined) hit.timeMs = timeMs;
    this.#entries = [...alive, { request, timeMs }];
    return hit?.request;
  }
}

function commonRun(request, earlier) {
  const end = Math.min(request.length, earlier.length);
  let at = 0;
  while (at < end && request[at] === earlier[at]) at += 1;
  return at;
}
