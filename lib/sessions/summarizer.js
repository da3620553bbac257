// Calls the host's summariser and hands back its text, or why there is none: it may throw, reject, hang, or answer with
// something else than text. The request it gets is complete: a prompt, the sampling settings and a signal.
"use strict";

const { storable } = require("../shapes/text.js");

/** Sampling temperature asked for: close to the facts. */
const TEMPERATURE = 0.3;
/** Longest summary asked for, tokens. */
const MAX_TOKENS = 500;

/**
 * `{ text }`, or `{ failure }` with an error where there is none to be had; neither without a summariser or after an
 * abort. Settles at the latest after `timeoutMs`, or as soon as `signal` is aborted; the summariser is told through the
 * signal of its request. `prompt` may be a promise.
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
    // A cut at a length may have left half a surrogate pair.
    return { text: storable(answer) };
  } catch (cause) {
    if (signal?.aborted) return {};
    return failed(`the summariser failed: ${cause?.message ?? cause}`, cause);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener?.("abort", stop);
  }
}

/** The answer of a function, or of a service with `callAI(prompt, provider, useTools)`. */
async function answerOf(summarize, messages, request) {
  if (typeof summarize === "function") return summarize(messages, request);
  const provider = await summarize.getCurrentProvider?.();
  if (provider == null && summarize.getCurrentProvider !== undefined)
    throw new Error("the service has no current provider");
  return summarize.callAI(request.prompt, provider, false);
}

function failed(message, cause) {
  return { failure: Object.assign(new Error(message, { cause }), { code: "ERR_SUMMARIZE" }) };
}

module.exports = { MAX_TOKENS, callSummarizer };
