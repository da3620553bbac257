// Plays a recorded session call by call through the hook, as the agent did when it was recorded. Measures, prints
// nothing.

import { Call, Hook, Layers } from "../hook.js";
import { checkHookOptions } from "../options.js";

/** Names of the layers, in the order in which they act. */
export const LAYERS = ["toolResults", "thinking", "window", "shrink"];

const LAYER_OF = {
  toolResultSummarized: "toolResults",
  thinkingStripped: "thinking",
  messagesDropped: "window",
  shrunk: "shrink",
};

/** Positions at which a call was made: each assistant message answers what stands before it. */
export function callsOf(messages) {
  return messages.flatMap((message, index) => (message.role === "assistant" && index > 0 ? [index] : []));
}

/**
 * One report per call: sizes before and after, what each layer saved, times. `watch(call, edits)` is told
 * what was done to each message.
 */
export async function* replay(messages, options, watch) {
  let events = [];
  const onEvent = (event) => events.push(event);
  const hook = new Hook(new Layers(checkHookOptions("replay", { ...options, onEvent })));
  for (const [call, at] of callsOf(messages).entries()) {
    events = [];
    const given = messages.slice(0, at);
    await hook.transform(given);
    if (watch !== undefined) {
      const { plan } = await hook.planFor(given, hook.contextWindow(), new Call());
      watch(call + 1, plan.edits);
    }
    yield reportOf(call + 1, events);
  }
}

function reportOf(call, events) {
  const saved = Object.fromEntries(LAYERS.map((layer) => [layer, 0]));
  for (const event of events) {
    const layer = LAYER_OF[event.type];
    if (layer !== undefined) saved[layer] += event.tokensSaved;
  }
  const failure = events.find((event) => event.type === "failed");
  if (failure !== undefined) throw new Error(`call ${call} failed: ${failure.message}`);
  const { type, ...sizes } = events.find((event) => event.type === "transformed");
  const overflow = events.some((event) => event.type === "contextOverflow");
  return { call, ...sizes, saved, overflow };
}

/** What a whole replay amounts to. */
export function summarize(reports) {
  const sum = (value) => reports.reduce((total, report) => total + value(report), 0);
  const last = reports.at(-1);
  return {
    calls: reports.length,
    messages: { before: last?.messagesBefore ?? 0, after: last?.messagesAfter ?? 0 },
    tokensSent: { before: sum((report) => report.tokensBefore), after: sum((report) => report.tokensAfter) },
    peakTokens: { before: peak(reports, "tokensBefore"), after: peak(reports, "tokensAfter") },
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, sum((report) => report.saved[layer])])),
    overflows: reports.filter((report) => report.overflow).length,
    totalMs: quantiles(reports.map((report) => report.totalMs)),
    blockedMs: quantiles(reports.map((report) => report.blockedMs)),
  };
}

function peak(reports, field) {
  return reports.reduce((most, report) => Math.max(most, report[field]), 0);
}

function quantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
