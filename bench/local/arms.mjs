// Ways to keep a context small on a local server. Each maker gets `{ window, tokensOf, summarize, onEvent }` and returns
// `(messages) => Promise<messages>`; `summarize(messages)` has the server write a summary, and returns it.

import { cutPoint } from "../../__test__/support/live/compaction.mjs";
import strata from "../../index.js";
import { textOf } from "./stretches.mjs";

/** Share of the window that stays free for the answer. */
const FREE_SHARE = 0.25;
/** pi's compaction with settings that fit a small window: its own (16,384 and 20,000 tokens) are for large ones. */
const PI_RESERVE_SHARE = 0.25;
const PI_KEEP_SHARE = 0.25;
const CHARS_PER_TOKEN = 4;
/** Newest results that the mask keeps, and how many more gather before it moves. */
const MASK_KEEP = 5;
const MASK_BATCH = 10;
const MASKED = [{ type: "text", text: "[Old tool result content cleared]" }];

export const ARMS = {
  pi: piCompaction,
  "rounds 0.75 → 0.5": rounds(0.75),
  "rounds when full": rounds(1 - FREE_SHARE / 4),
  mask,
  everyCall: hook({ schedule: "everyCall" }),
  faithful: hook({ economy: "faithful" }),
  balanced: hook({}),
  thrifty: hook({ economy: "thrifty" }),
};

function hook(options) {
  return ({ window, onEvent }) =>
    strata.createTransformContext({ contextWindow: window, marker: "en", onEvent, ...options });
}

/** Above `from` of the window, drops the oldest messages down to half of it, up to a question or an answer. */
function rounds(from) {
  return ({ window, tokensOf }) => {
    let start = 0;
    return async (messages) => {
      if (tokensOf(messages.slice(start)) > from * window)
        start = cutTo(messages, start, 0.5 * window, tokensOf);
      return messages.slice(start);
    };
  };
}

/** The first message that stays: a question if one is left, else an answer. */
function cutTo(messages, start, most, tokensOf) {
  let least = messages.length - 1;
  while (least > start && tokensOf(messages.slice(least - 1)) <= most) least -= 1;
  const next = (role) => messages.findIndex((message, at) => at >= least && message.role === role);
  const found = [next("user"), next("assistant")].find((at) => at !== -1);
  return found ?? start;
}

/** Clears all tool results but the newest, in batches; then drops rounds where that is not enough. */
function mask(context) {
  const drop = rounds(0.75)(context);
  let cleared = 0;
  return async (messages) => {
    const results = messages.filter(({ role }) => role === "toolResult");
    if (results.length - cleared >= MASK_KEEP + MASK_BATCH) cleared = results.length - MASK_KEEP;
    const old = new Set(results.slice(0, cleared));
    return drop(messages.map((message) => (old.has(message) ? { ...message, content: MASKED } : message)));
  };
}

/** pi's own: what the last call reported and a quarter of the characters since, against the window less the reserve. */
function piCompaction({ window, summarize }) {
  let [start, summary, answeredFrom] = [0, undefined, 0];
  return async (messages) => {
    const last = messages.findLastIndex(({ usage }) => usage !== undefined);
    const { input = 0, output = 0, cacheRead = 0 } = messages[last]?.usage ?? {};
    const since = messages
      .slice(last + 1)
      .reduce((sum, message) => sum + textOf(message).length / CHARS_PER_TOKEN, 0);
    const isFull =
      last >= answeredFrom && input + output + cacheRead + since > (1 - PI_RESERVE_SHARE) * window;
    if (isFull || messages.at(-1).stopReason === "error") {
      const cut = start + cutPoint(messages.slice(start), PI_KEEP_SHARE * window);
      if (cut > start) {
        const old = [...(summary ? [summary] : []), ...messages.slice(start, cut)];
        const content = [{ type: "text", text: await summarize(old) }];
        summary = { role: "compactionSummary", content, timestamp: messages[cut].timestamp };
        [start, answeredFrom] = [cut, messages.length];
      }
    }
    return [...(summary ? [summary] : []), ...messages.slice(start)];
  };
}
