// Measures the OpenClaw engine beside OpenClaw without edits and with `contextPruning`, on the public recordings or on your own
// sessions: `npm run bench:openclaw [-- SESSION…]`. Prints the table of `npm run bench:economy`. Summaries are not played.
import strata from "../index.js";
import { joinedText } from "../lib/hook/snapshot.js";
import plugin from "../lib/openclaw/index.js";
import { printComparison } from "./economy/compare.mjs";
import { publicRecordings } from "./public.mjs";
import { CONTEXT_WINDOW } from "./shared.mjs";

/** Tokens that OpenClaw keeps free for the answer (`reserveTokensFloor`) and that it does not offer to an engine. */
const RESERVE_TOKENS = 20_000;

/** OpenClaw asks its engine once a turn, with the messages before the question. Later messages of the turn follow as they are. */
function engine() {
  let makeEngine;
  plugin.register({ registerContextEngine: (_, factory) => (makeEngine = factory) });
  const session = { sessionId: "s", sessionKey: "s", tokenBudget: CONTEXT_WINDOW - RESERVE_TOKENS };
  const runtimeContext = { tokenBudget: CONTEXT_WINDOW };
  const runtimeSettings = { limits: { maxOutputTokens: RESERVE_TOKENS } };
  let turn = { start: -1, sent: [] };
  return async (messages) => {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const start = Math.max(0, asked);
    if (start !== turn.start) {
      const prompt = joinedText(messages[start].content);
      await makeEngine().bootstrap({ ...session, runtimeContext });
      const given = messages.slice(0, start);
      const assembled = await makeEngine().assemble({ ...session, runtimeSettings, messages: given, prompt });
      turn = { start, sent: assembled.messages };
    }
    return [...turn.sent, ...messages.slice(start)];
  };
}

/** OpenClaw's documented defaults. Pause in ms, shares of the window, UTF-16 code units of head and of tail, answers. */
const PRUNING = { ttlMs: 300_000, softRatio: 0.3, hardRatio: 0.5, endUnits: 1500, newestAnswers: 3 };

/** Cuts the results before the newest answers when the cache has expired, and clears them in a half-full window. */
function contextPruning() {
  const pruned = new Map();
  let lastAt = Number.POSITIVE_INFINITY;
  return async (messages) => {
    const now = messages.at(-1).timestamp;
    const isCold = now - lastAt > PRUNING.ttlMs;
    lastAt = now;
    if (isCold) {
      const answers = messages.filter(({ role }) => role === "assistant");
      const end = messages.indexOf(answers.at(-PRUNING.newestAnswers));
      const share = strata.countTokens(messages) / CONTEXT_WINDOW;
      for (const message of messages.slice(0, Math.max(0, end))) {
        if (message.role !== "toolResult" || share <= PRUNING.softRatio) continue;
        pruned.set(message, prunedResult(message, share > PRUNING.hardRatio));
      }
    }
    return messages.map((message) => pruned.get(message) ?? message);
  };
}

function prunedResult(message, isCleared) {
  const text = joinedText(message.content);
  const { endUnits } = PRUNING;
  if (!isCleared && text.length <= 2 * endUnits) return message;
  const ends = `${text.slice(0, endUnits)}\n...\n${text.slice(-endUnits)}`;
  return {
    ...message,
    content: [{ type: "text", text: isCleared ? "[Old tool result content cleared]" : ends }],
  };
}

const policies = {
  "legacy, no edits": () => (messages) => messages,
  "legacy, contextPruning": contextPruning,
  "pi-strata": engine,
};

const named = process.argv.slice(2);
const files = named.length > 0 ? named : await publicRecordings();
await printComparison(files, { contextWindow: CONTEXT_WINDOW, policies });
