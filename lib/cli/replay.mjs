// Plays a recorded session call by call through the hook's engine, as the agent did when it was recorded. Every recorded
// call is played, with the transcript and the usage it had. Tokens are the provider's, estimated. Measures, prints nothing.

import contract from "../contract.js";
import { scheduleOf } from "../hook/events.js";
import { Call, Hook, Layers } from "../hook/hook.js";
import { checkHookOptions } from "../hook/options.js";
import { shared } from "./numbers.mjs";
import { Recording } from "./recording.mjs";

const { LAYERS } = contract;

/** Positions at which a call was made: each assistant message answers what stands before it. */
export function callsOf(messages) {
  return messages.flatMap((message, index) => (message.role === "assistant" && index > 0 ? [index] : []));
}

/** One report per call: sizes before and after, what each layer saved, times. `recording` is one, or a list of messages. */
export async function* replay(recording, options) {
  const played = Recording.of(recording);
  const hook = new Hook(new Layers(checkHookOptions("replay", options)));
  for (const call of played.calls) {
    const contextWindow = hook.contextWindow();
    const timed = new Call();
    const messages = played.messagesBefore(call);
    const plan = await hook.planFor(messages, timed, false);
    timed.end();
    yield {
      ...reportOf(call.number, messages.length, plan, { ...plan, contextWindow }),
      scale: plan.scale,
      ...timed.times(),
    };
  }
}

/** Sizes before and after a plan, what it decided, and what each layer saved; the layers add up to the difference. */
export function reportOf(call, messagesBefore, plan, { tokensBefore, tokensAfter, contextWindow }) {
  const { saved: raw, dropped } = plan.totals(LAYERS.length);
  const saved = shared(tokensBefore - tokensAfter, raw);
  const { mode, why } = scheduleOf(plan);
  return {
    call,
    messagesBefore,
    messagesAfter: messagesBefore - dropped,
    tokensBefore,
    tokensAfter,
    schedule: mode,
    reason: why,
    saved: Object.fromEntries(LAYERS.map((layer, i) => [layer, saved[i]])),
    overWindow: { before: tokensBefore > contextWindow, after: tokensAfter > contextWindow },
  };
}

/** The sums of a whole replay, added call by call: it keeps no report. */
export class Summary {
  #last;
  #sent = { before: 0, after: 0 };
  #peak = { before: 0, after: 0 };
  #over = { before: 0, after: 0 };
  #saved = Object.fromEntries(LAYERS.map((layer) => [layer, 0]));
  #totalMs = [];
  #blockedMs = [];

  add(report) {
    this.#last = report;
    const tokens = { before: report.tokensBefore, after: report.tokensAfter };
    for (const when of ["before", "after"]) {
      this.#sent[when] += tokens[when];
      this.#peak[when] = Math.max(this.#peak[when], tokens[when]);
      this.#over[when] += report.overWindow[when] ? 1 : 0;
    }
    for (const layer of LAYERS) this.#saved[layer] += report.saved[layer];
    this.#totalMs.push(report.totalMs);
    this.#blockedMs.push(report.blockedMs);
  }

  finish() {
    return {
      calls: this.#totalMs.length,
      messages: { before: this.#last?.messagesBefore ?? 0, after: this.#last?.messagesAfter ?? 0 },
      tokensSent: this.#sent,
      peakTokens: this.#peak,
      saved: this.#saved,
      callsOverWindow: this.#over,
      totalMs: quantiles(this.#totalMs),
      blockedMs: quantiles(this.#blockedMs),
    };
  }
}

function quantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
