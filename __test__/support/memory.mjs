// Many calls of the hook in one process, as a long-lived host makes them, and what stays resident: growing sessions that
// start anew, fresh copies of the same messages, and a hook dropped now and then. Needs --expose-gc.

import { createTransformContext } from "../../index.js";
import { conversation } from "./transcripts.mjs";

/** Different conversations, over and over: what a call leaves behind cannot hide behind new content. */
const CONVERSATIONS = 64;
/** Calls after which a host opens a new hook. */
const CALLS_PER_HOOK = 5000;

const MEGABYTE = 1024 * 1024;

export async function residentGrowth({ calls, warmUp }) {
  const options = { contextWindow: 3000, reserveTokens: 200, keepRecentMessages: 6 };
  let hook = createTransformContext(options);
  const call = async (number) => {
    if (number % CALLS_PER_HOOK === 0) hook = createTransformContext(options);
    await hook(conversation(number % CONVERSATIONS, { length: 24 }));
    if (number % 1000 === 0) await settle();
  };
  for (let number = 0; number < warmUp; number += 1) await call(number);
  const before = await resident();
  for (let number = 0; number < calls; number += 1) await call(number);
  const after = await resident();
  return { before: before / MEGABYTE, after: after / MEGABYTE, growth: (after - before) / MEGABYTE };
}

/** Lets the collector run, and the callbacks that free native facts after it. */
export async function settle() {
  globalThis.gc();
  await new Promise((resolve) => setImmediate(resolve));
}

async function resident() {
  for (let i = 0; i < 5; i += 1) {
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage.rss();
}
