// Measures how long the main thread is held while a file of 64 MB is opened, read, searched and listed: the longest turn of the event
// loop during each call, by the clock and by the thread's CPU time, the least of some runs: other processes hold it too.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { ContextManager } from "../../lib/sessions/index.js";
import { text } from "./message.mjs";
import { print } from "./print.mjs";

const BYTES = 64 * 1024 * 1024;
/** Sessions of as many messages as the manager keeps unless told otherwise, each of about 1 000 characters. */
const SESSION_MESSAGES = 50;
const REPEAT = 10;
/** Sessions filled at once. */
const ROUND = 100;
const RUNS = 5;

const ownStat = `/proc/self/task/${process.pid}/schedstat`;
const isLinux = process.platform === "linux";
/** ms this thread has run; 0 where that is not known. */
const cpuMs = () => (isLinux ? Number.parseInt(readFileSync(ownStat, "latin1"), 10) / 1e6 : 0);

/** ms of the longest turn of the event loop while `work` is under way, by the clock and of CPU. */
async function longestTurn(work) {
  const longest = { ms: 0, cpuMs: 0 };
  let isOver = false;
  let last;
  const look = () => {
    const now = { ms: performance.now(), cpuMs: cpuMs() };
    for (const name of Object.keys(longest)) longest[name] = Math.max(longest[name], now[name] - last[name]);
    last = now;
    if (!isOver) setImmediate(look);
  };
  await new Promise(setImmediate);
  last = { ms: performance.now(), cpuMs: cpuMs() };
  setImmediate(look);
  await work();
  isOver = true;
  await new Promise(setImmediate);
  return longest;
}

async function filled(store) {
  const manager = new ContextManager({ store });
  let sessions = 0;
  do {
    const adding = Array.from({ length: ROUND * SESSION_MESSAGES }, (_, n) =>
      manager.addMessage(`session ${sessions + (n % ROUND)}`, {
        role: "user",
        content: text(n + sessions).repeat(REPEAT),
      }),
    );
    await Promise.all(adding);
    sessions += ROUND;
  } while (statSync(store).size < BYTES);
  await manager.close();
  return sessions;
}

export async function stalls() {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-stalls-"));
  const store = join(folder, "sessions.db");
  const sessions = await filled(store);
  print("file", `${Math.round(statSync(store).size / 1024 / 1024)} MB, ${sessions} sessions`);
  const any = () => `session ${Math.floor(Math.random() * sessions)}`;
  const CASES = {
    "opened on the worker": (manager) => manager.list({ limit: 1 }),
    "opened at once and one session read": (manager) => manager.getMessages(any()),
    "one session read on the worker": (manager) => manager.getOrCreateContext(any()),
    "one session read at once": (manager) => manager.getMessages(any()),
    "one session read at once during a search": async (manager) => {
      const searching = await manager.search("module 错误 第", { limit: 100 });
      await manager.getMessages(any());
      await searching;
    },
    "a search for a common word": (manager) => manager.search("module", { limit: 20 }),
    "a list of 100 sessions": (manager) => manager.list({ limit: 100 }),
    "a message added": (manager) => manager.addMessage(any(), { role: "user", content: "one more" }),
    "a message added and the session compressed": async (manager) => {
      const id = any();
      for (let n = 0; n < 2; n += 1)
        await manager.addMessage(id, { role: "user", content: text(n).repeat(REPEAT) });
    },
    "a session cleared": (manager) => manager.clearContext(any()),
    "everything exported": async (manager) => {
      for await (const _ of manager.export());
    },
  };
  for (const [name, work] of Object.entries(CASES)) {
    const least = { ms: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY };
    for (let run = 0; run < RUNS; run += 1) {
      const manager = new ContextManager({ store });
      if (!name.startsWith("opened")) {
        await manager.list({ limit: 1 });
        await manager.getOrCreateContext(any());
        await manager.getMessages(any());
      }
      const longest = await longestTurn(() => work(manager));
      for (const unit of Object.keys(least)) least[unit] = Math.min(least[unit], longest[unit]);
      await manager.close();
    }
    print(
      `main thread held at most, ${name}`,
      `${least.ms.toFixed(1)} ms (${least.cpuMs.toFixed(1)} ms of CPU)`,
    );
  }
  rmSync(folder, { recursive: true });
}
