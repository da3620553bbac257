// How long the main thread is held while a file of 64 MB is opened, read, searched and listed: the longest turn of the event
// loop during each call, the least of some runs, because other processes hold it too.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import strata from "../../index.js";
import { text } from "./message.mjs";
import { print } from "./print.mjs";

const { ContextManager } = strata;

const BYTES = 64 * 1024 * 1024;
/** Sessions of as many messages as the manager keeps unless told otherwise, each of about 1 000 characters. */
const SESSION_MESSAGES = 50;
const REPEAT = 10;
/** Sessions filled at once. */
const ROUND = 100;
const RUNS = 5;

/** ms of the longest turn of the event loop while `work` is under way. */
async function longestTurn(work) {
  let longest = 0;
  let isOver = false;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await new Promise(setImmediate);
  last = performance.now();
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
    "one session read on the worker": (manager) => manager.loadContext(any()),
    "one session read at once": (manager) => manager.getMessages(any()),
    "one session read at once during a search": async (manager) => {
      const searching = manager.searchAsync("module 错误 第", { limit: 100 });
      manager.getMessages(any());
      await searching;
    },
    "a search for a common word": (manager) => manager.searchAsync("module", { limit: 20 }),
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
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < RUNS; run += 1) {
      const manager = new ContextManager({ store });
      if (!name.startsWith("opened")) {
        await manager.list({ limit: 1 });
        await manager.loadContext(any());
      }
      least = Math.min(least, await longestTurn(() => work(manager)));
      await manager.close();
    }
    print(`main thread held at most, ${name}`, `${least.toFixed(1)} ms`);
  }
  rmSync(folder, { recursive: true });
}
