// Many calls of the hook in one process, as a long-lived host makes them, and what stays resident: fresh copies of the
// same messages, a hook dropped now and then, and always a call under way. The collector runs when it likes; it is called
// only to measure, for which --expose-gc is needed.

import { createTransformContext } from "../../index.js";
import { Conversation } from "../../lib/hook/conversation.js";
import { conversation } from "./transcripts.mjs";

/** Different conversations, over and over: what a call leaves behind cannot hide behind new content. */
const CONVERSATIONS = 64;
/** Calls after which a host opens a new hook. */
const CALLS_PER_HOOK = 5000;
/** Agents that share the hook: while one call ends, others go on. */
const AGENTS = 4;

const MEGABYTE = 1024 * 1024;

export async function residentGrowth({ calls, warmUp }) {
  const options = { contextWindow: 3000, reserveTokens: 200, keepRecentMessages: 6 };
  let hook = createTransformContext(options);
  const call = async (number) => {
    if (number % CALLS_PER_HOOK === 0) hook = createTransformContext(options);
    await hook(conversation(number % CONVERSATIONS, { length: 24 }));
  };
  const makeCalls = async (count) => {
    let number = 0;
    const agent = async () => {
      while (number < count) await call(number++);
    };
    await Promise.all(Array.from({ length: AGENTS }, agent));
  };
  await makeCalls(warmUp);
  const before = await resident();
  await makeCalls(calls);
  const after = await resident();
  return { before: before / MEGABYTE, after: after / MEGABYTE, growth: (after - before) / MEGABYTE };
}

/** Lets the collector run, and the callbacks that free native facts after it. */
export async function collect() {
  for (let i = 0; i < 5; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc();
  }
}

async function resident() {
  await collect();
  return process.memoryUsage.rss();
}

/** Watches the forks made from now on. Returns a function that counts those still in memory. */
export function watchForks() {
  const { fork } = Conversation.prototype;
  const forks = [];
  Conversation.prototype.fork = function () {
    const made = fork.call(this);
    forks.push(new WeakRef(made));
    return made;
  };
  return () => forks.filter((of) => of.deref() !== undefined).length;
}
