// One compression of a session: what may go and what is said of it is worked out natively, the host's summariser is asked
// in between, and the store swaps if nobody else has meanwhile.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { newId, readCall, written } = require("./conversation.js");
const { MAX_TOKENS, callSummarizer } = require("./summarizer.js");
const { callsIn } = require("./text.js");

/** UTF-16 units of messages written as JSON before the event loop gets its turn: less than a ms. */
const TURN_UNITS = 128 * 1024;

/**
 * `{ change, by, failure }` of a compression that is worked out; undefined where there is nothing to let go, or it was
 * aborted. `failure` says why the summariser's words were not taken.
 */
async function compressionOf(session, summarize, limits, signal) {
  const rows = session.rows.slice();
  const { prompt, stamp, digest } = session;
  const keep = {
    messages: limits.maxCompressedMessages,
    tokens: limits.maxCompressedTokens,
    hasPrompt: prompt !== undefined,
  };
  const promptTokens = summarize && limits.summarizeTokens;
  const plan = await askAbout("planCompression", rows, keep, promptTokens, MAX_TOKENS);
  const middle = plan.letGo.map((index) => rows[index]);
  if (middle.length === 0) return undefined;
  const messages = middle.map(({ message }) => message);
  const request = { timeoutMs: limits.summarizeTimeoutMs, signal };
  const { text, failure } = await callSummarizer(summarize, messages, plan.prompt, request);
  const made = await askAbout("summariseSession", middle, digest, text, limits.language);
  if (signal.aborted) return undefined;
  const summary = { id: newId(), role: "assistant", content: made.text, timestamp: new Date().toISOString() };
  const change = {
    kind: "compress",
    session: stamp.session,
    revision: stamp.revision,
    letGo: messages.map(({ id }) => id),
    summary: { id: summary.id, body: written(summary) },
    digest: made.digest,
    tokensSaved: made.tokensSaved,
  };
  return { change, by: made.isFromHost ? "ai" : "rules", failure };
}

/** Asks the core about rows of a session and what belongs to the question, on a worker. */
async function askAbout(name, rows, ...more) {
  const parts = [];
  let units = 0;
  for (const row of rows) {
    const part = JSON.stringify(readable(row));
    parts.push(part);
    units += part.length;
    if (units > TURN_UNITS) {
      units = 0;
      await new Promise(setImmediate);
    }
  }
  const rest = JSON.stringify(more).slice(1);
  return JSON.parse(await withCode(native()[name](`[[${parts.join(",")}],${rest}`)));
}

/** A message as the core reads it (src/sessions/message.rs). */
function readable({ message, isSummary }) {
  const { role, content, blocks = [], toolCallId, isError } = message;
  const images = blocks.filter((block) => block?.type === "image").length;
  return { role, content, toolCalls: callsIn(message).map(readCall), toolCallId, isError, images, isSummary };
}

module.exports = { askAbout, compressionOf };
