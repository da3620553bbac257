// One compression of a session: what may go and what is said of it is worked out natively, the host's summariser is asked
// in between, and the store swaps if nobody else has meanwhile.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { frozen, newId } = require("./conversation.js");
const { MAX_TOKENS, callSummarizer } = require("./summarizer.js");

/** UTF-16 units of messages that are looked at here: well under a ms, where the way to a worker takes a tenth of one. */
const SHORT_UNITS = 16 * 1024;

/**
 * `{ effect, operation, by, tokensSaved, failure }` of a compression that is worked out; undefined where there is nothing
 * to let go, or it was aborted. `failure` says why the summariser's words were not taken.
 */
async function compressionOf(session, summarize, limits, signal) {
  const rows = session.rows.slice();
  const { prompt, stamp, digest } = session;
  const bodies = rows.map(rowOf);
  const units = bodies.reduce((sum, { body }) => sum + body.length, 0);
  const plan = await ask(units <= SHORT_UNITS ? "planCompressionNow" : "planCompression", {
    rows: bodies,
    keep: limits.maxCompressedMessages,
    keepTokens: limits.maxCompressedTokens,
    hasPrompt: prompt !== undefined,
    promptTokens: summarize === undefined ? undefined : limits.summarizeTokens,
    answerTokens: MAX_TOKENS,
    rules: summarize === undefined ? { digest, language: limits.language } : undefined,
  });
  const middle = plan.letGo.map((index) => rows[index]);
  if (middle.length === 0) return undefined;
  const { made, failure } = plan.made == null ? await hostsOwn() : plan;
  if (signal.aborted) return undefined;

  async function hostsOwn() {
    const messages = middle.map(({ message }) => message);
    const request = { timeoutMs: limits.summarizeTimeoutMs, signal };
    const answered = await callSummarizer(summarize, messages, plan.prompt, request);
    const asked = {
      digest,
      answer: answered.text,
      rows: plan.letGo.map((index) => bodies[index]),
      language: limits.language,
    };
    return { made: await ask("summariseSession", asked), failure: answered.failure };
  }

  const letGo = middle.map(({ message }) => message.id);
  const summary = frozen({
    id: newId(),
    role: "assistant",
    content: made.text,
    timestamp: new Date().toISOString(),
  });
  const { digest: next, tokensSaved } = made;
  return {
    effect: (view) => view.compress(letGo, summary, { digest: next, tokensSaved }),
    change: {
      kind: "compress",
      session: stamp?.session ?? 0,
      revision: stamp?.revision ?? 0,
      letGo,
      summary: { id: summary.id, body: JSON.stringify(summary) },
      digest: next,
      tokensSaved,
    },
    by: made.isFromHost ? "ai" : "rules",
    tokensSaved,
    failure,
  };
}

function rowOf({ message, isSummary }) {
  return { body: JSON.stringify(message), isSummary };
}

/** The answer of a native function that takes and gives JSON. */
async function ask(name, request) {
  const answer = native()[name](JSON.stringify(request));
  return JSON.parse(typeof answer === "string" ? answer : await withCode(answer));
}

module.exports = { ask, compressionOf, rowOf };
