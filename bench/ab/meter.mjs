// Loaded into pi before itself: writes down the usage of every call to a model as the provider reports it, those too that
// pi keeps to itself (the calls that summarise, and what was refused). A call is sent once the bench allows it, so that no
// limit is passed by more than one; nothing of what is sent or received is changed.

import { appendFileSync } from "node:fs";
import { usageOf } from "./usage.mjs";

const file = process.env.STRATA_BENCH_CALLS;
let send = globalThis.fetch;
let calls = 0;

// pi puts a `fetch` of its own in place when it starts; that one is metered then.
Object.defineProperty(globalThis, "fetch", {
  configurable: true,
  get: () => meteredFetch,
  set(fetch) {
    send = fetch;
  },
});

async function meteredFetch(input, init) {
  const call = callOf(init?.body);
  if (call === undefined) return send(input, init);
  calls += 1;
  const id = `${process.pid}-${calls}`;
  await allowed(id, init.signal);
  const note = (what) => appendFileSync(file, `${JSON.stringify({ id, atMs: Date.now(), ...what })}\n`);
  // A process that is killed leaves this line alone: a call whose bill nobody knows.
  note({ began: call });
  let response;
  try {
    response = await send(input, init);
  } catch (error) {
    note({ status: 0, error: String(error?.message ?? error) });
    throw error;
  }
  const { status, statusText, headers } = response;
  if (!response.ok || response.body === null) {
    note({ status, error: await response.clone().text() });
    return response;
  }
  const body = response.body.pipeThrough(watch((usage) => note({ status, ...usage }), init.signal));
  return new Response(body, { status, statusText, headers });
}

/** Calls that wait for the bench's word, by id. */
const waiting = new Map();
process.on("message", ({ allow }) => waiting.get(allow)?.());
// The channel alone shall not keep pi alive.
process.channel.unref();

/** Resolves when the bench allows the call; it never does so for one beyond a limit, which it aborts. */
function allowed(id, signal) {
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    process.send({ ask: id });
  });
}

/** Of a request to a model: which, and whether it offers tools, as all calls of the agent do and no summary does. */
function callOf(body) {
  if (typeof body !== "string") return undefined;
  try {
    const { model, messages, input, contents, tools } = JSON.parse(body);
    if (![messages, input, contents].some(Array.isArray)) return undefined;
    return { model, hasTools: Array.isArray(tools) && tools.length > 0 };
  } catch {
    return undefined;
  }
}

/** Ends of a stream, as the events say them that the clients of pi stop at. */
const ENDS = /^event: message_stop|^data: \[DONE\]|^event: response\.completed/m;

/** Passes a stream on, and tells its usage before its end is seen: pi goes on as soon as it sees that. */
function watch(tell, signal) {
  const decoder = new TextDecoder();
  const texts = [];
  let isTold = false;
  const once = () => {
    if (isTold) return;
    isTold = true;
    tell(usageOf(texts.join("")));
  };
  signal?.addEventListener("abort", once, { once: true });
  return new TransformStream({
    transform(chunk, controller) {
      texts.push(decoder.decode(chunk, { stream: true }));
      if (ENDS.test(texts.slice(-2).join(""))) once();
      controller.enqueue(chunk);
    },
    flush: once,
  });
}
