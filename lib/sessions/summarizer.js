// Calls the host's summariser. It can throw, reject, hang, or return no text. Its request has a prompt, sampling settings and
// a signal.
"use strict";

const { storable } = require("../shapes/text.js");

/** Sampling temperature of the request: low, to stay close to the facts. */
const TEMPERATURE = 0.3;
/** Longest summary that the request asks for, tokens. */
const MAX_TOKENS = 500;

/**
 * Resolves with `{ text }`, with `{ failure }`, or with neither if there is no summariser or the host aborted. Settles after
 * `timeoutMs` at the latest, or when `signal` aborts; both abort the signal of the request. `prompt` can be a promise.
 */
async function callSummarizer(summarize, messages, prompt, { timeoutMs, signal }) {
  if (summarize === undefined || signal?.aborted) return {};
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener?.("abort", stop, { once: true });
  const stopped = new Promise((resolve) =>
    controller.signal.addEventListener("abort", () => resolve(controller)),
  );
  try {
    const sampling = { temperature: TEMPERATURE, maxTokens: MAX_TOKENS, signal: controller.signal };
    const request = { prompt: await prompt, ...sampling };
    const answer = await Promise.race([answerOf(summarize, messages, request), stopped]);
    if (signal?.aborted) return {};
    if (answer === controller) return failed(`the summariser did not answer within ${timeoutMs} ms`);
    if (typeof answer !== "string") return failed(`the summariser returned ${typeof answer}, not a string`);
    if (answer.trim() === "") return failed("the summariser returned an empty text");
    // A model's text can end in half a surrogate pair.
    return { text: storable(answer) };
  } catch (cause) {
    if (signal?.aborted) return {};
    return failed(`the summariser failed: ${cause?.message ?? cause}`, cause);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener?.("abort", stop);
  }
}

/** Calls a function, or a service with `callAI(prompt, provider, useTools)`. */
async function answerOf(summarize, messages, request) {
  if (typeof summarize === "function") return summarize(messages, request);
  const provider = await summarize.getCurrentProvider?.();
  if (provider == null && summarize.getCurrentProvider !== undefined)
    throw new Error("the service has no current provider");
  return summarize.callAI(request.prompt, provider, false);
}

const failed = (message, cause) => ({ failure: summarizeError(message, cause) });

function summarizeError(message, cause) {
  return Object.assign(new Error(message, { cause }), { code: "ERR_SUMMARIZE" });
}

module.exports = { MAX_TOKENS, callSummarizer, summarizeError };
