// Sessions in this process: in memory 1 000 sessions × 1 000 messages, each added and read; in a file, appends and reads
// by themselves, from many callers at once and from one after the other; and the rolling memory.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ContextManager, RollingMemory } from "../../lib/sessions/index.js";
import { message, text } from "./message.mjs";
import { print, rate } from "./print.mjs";

const SESSIONS = 1000;
export const MESSAGES = 1000;
const FILE_MESSAGES = 50_000;
const FILE_SESSIONS = 100;
const SEARCHES = 200;

const perSecond = (count, { ms, cpuMs }) => `${rate(count, ms)}/s (${rate(count, cpuMs)} per second of CPU)`;
const shown = ({ ms, cpuMs }, count = 1) =>
  `${(ms / count).toFixed(2)} ms (${(cpuMs / count).toFixed(2)} ms of CPU)`;

function usedBytes() {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Wall-clock and CPU time of `work` over all threads, in ms: on a busy machine only the second means something. */
async function timed(work) {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return { ms, cpuMs: (user + system) / 1000 };
}

export async function inMemory(maxMessages, name) {
  const before = usedBytes();
  const manager = new ContextManager({ maxMessages });
  const adding = await timed(async () => {
    for (let n = 0; n < MESSAGES; n += 1) {
      for (let session = 0; session < SESSIONS; session += 1) {
        await manager.addMessage(`session ${session}`, message(n));
        await manager.getMessages(`session ${session}`);
      }
    }
  });
  print(`${name}: addMessage + getMessages`, perSecond(2 * SESSIONS * MESSAGES, adding));
  const bytes = (usedBytes() - before) / SESSIONS;
  const kept = (await manager.getMessages("session 0")).length;
  print(`${name}: memory per session of ${kept} messages`, `${(bytes / 1024).toFixed(1)} KB`);
  const searching = await timed(() => manager.search("修复 module_3", { limit: 20 }));
  print(`${name}: one search over all sessions`, shown(searching));
  await manager.close();
}

export async function inFile() {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-bench-"));
  const store = join(folder, "sessions.db");
  const manager = new ContextManager({ store, maxMessages: 1_000_000 });
  const id = (n) => `session ${n % FILE_SESSIONS}`;
  const together = await timed(() =>
    Promise.all(Array.from({ length: FILE_MESSAGES }, (_, n) => manager.addMessage(id(n), message(n)))),
  );
  print("file: messages added by many callers at once", perSecond(FILE_MESSAGES, together));
  const alone = await timed(async () => {
    for (let n = 0; n < FILE_MESSAGES / 10; n += 1) await manager.addMessage(id(n), message(n));
  });
  print("file: messages added one after the other", perSecond(FILE_MESSAGES / 10, alone));
  const reading = await timed(async () => {
    for (let n = 0; n < FILE_MESSAGES; n += 1) await manager.getMessages(id(n));
  });
  print("file: getMessages, looking for other processes' writes", perSecond(FILE_MESSAGES, reading));
  const searching = await timed(async () => {
    for (let n = 0; n < SEARCHES; n += 1) await manager.search(`第 module_${n % 97} 错误`);
  });
  print("file: one search over 55 000 messages", shown(searching, SEARCHES));
  await manager.close();
  print("file: bytes per message, with its index", Math.round(statSync(store).size / (FILE_MESSAGES * 1.1)));
  const opening = await timed(async () => {
    const again = new ContextManager({ store });
    await again.getMessages(id(0));
    return again.close();
  });
  print("file: opened, checked, one session read", shown(opening));
  rmSync(folder, { recursive: true });
}

export async function rolling() {
  const memory = new RollingMemory({ contextWindow: 200_000 });
  const messages = Array.from({ length: 2000 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: [{ type: "text", text: text(n).repeat(3) }],
    timestamp: n,
  }));
  const checked = await timed(() => memory.beforePrompt(messages.slice(0, 1000), "And now?"));
  print("rolling memory: a check of 1 000 messages", shown(checked));
  const { ratio } = memory.needsContextSummarization(messages);
  const roll = new RollingMemory({ contextWindow: 100_000 * ratio });
  const rolled = await timed(() => roll.afterReply(messages));
  print("rolling memory: 2 000 messages rolled over by rules", shown(rolled));
}
