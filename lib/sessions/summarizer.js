// Calls the host's summariser and hands back its text, or nothing: it may throw, reject, hang, or answer with
// something else than text. The request it gets is complete: a prompt, the sampling settings and a signal.
"use strict";

/** Sampling temperature asked for: close to the facts. */
const TEMPERATURE = 0.3;
/** Longest summary asked for, tokens. */
const MAX_TOKENS = 500;

/**
 * The summary; undefined where there is none to be had. Settles at the latest after `timeoutMs`, or as soon as
 * `signal` is aborted; the summariser is told through the signal of its request.
 */
async function callSummarizer(summarize, messages, prompt, { timeoutMs, signal }) {
  if (summarize === undefined || signal?.aborted) return undefined;
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener?.("abort", stop, { once: true });
  const stopped = new Promise((resolve) =>
    controller.signal.addEventListener("abort", () => resolve(undefined)),
  );
  const request = { prompt, temperature: TEMPERATURE, maxTokens: MAX_TOKENS, signal: controller.signal };
  try {
    const summary = await Promise.race([summarize(messages, request), stopped]);
    return typeof summary === "string" && summary.trim() !== "" ? summary : undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener?.("abort", stop);
  }
}

module.exports = { callSummarizer };
