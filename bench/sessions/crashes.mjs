// What is left of what was acknowledged: processes killed with -9 while they add, compress and clear, and a server that is
// restarted, every other time without a shutdown, under their load. Any loss, double or resurrection fails the bench.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PostgresServer } from "../../__test__/support/postgres.mjs";
import sessions from "../../lib/sessions/index.js";
import { print } from "./print.mjs";

const WRITER = fileURLToPath(new URL("crash-writer.mjs", import.meta.url));
/** Sessions under load at once, each by a process of its own. */
const WRITERS = 3;
/** Calls that a writer makes before it is killed: at random up to this. */
const CALLS = 60;
/** Calls, over all writers, between two restarts of the server. */
const CALLS_PER_RESTART = 60;

/** What may and what must be in one session, by what its writers said. */
class Account {
  must = new Set();
  may = new Set();
  gone = new Set();
  calls = 0;
  next = 0;
  #pending;

  hear([word, n]) {
    this.next = Math.max(this.next, n + 1);
    if (word === "add" || word === "clear") this.#begun(word, n);
    else this.#ended(word, n);
  }

  #begun(call, n) {
    this.#pending = call;
    if (call === "add") this.may.add(n);
    // From the moment it is asked for, a clear may have happened.
    else for (const id of this.must) this.#unsure(id);
  }

  #ended(word, n) {
    this.calls += 1;
    if (word === "uncertain") return;
    if (this.#pending === "add") {
      this.may.delete(n);
      (word === "done" ? this.must : this.gone).add(n);
    } else if (word === "done") {
      for (const id of this.may) this.gone.add(id);
      this.may.clear();
    }
  }

  #unsure(id) {
    this.must.delete(id);
    this.may.add(id);
  }

  /** Losses, doubles and resurrections in what is stored. */
  faults(stored) {
    const there = new Set(stored);
    return {
      lost: [...this.must].filter((id) => !there.has(id)).length,
      doubled: stored.length - there.size,
      resurrected: stored.filter((id) => this.gone.has(id)).length,
    };
  }
}

export async function kills(times) {
  if (times === 0) return;
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-kills-"));
  await killing("sqlite", join(folder, "sessions.db"), times);
  rmSync(folder, { recursive: true });
  const server = await PostgresServer.start();
  await killing("postgres", await server.newDatabase(), times);
  await server.remove();
}

async function killing(name, store, times) {
  const accounts = Array.from({ length: WRITERS }, () => new Account());
  let left = times;
  const lane = async (account, i) => {
    while (left > 0) {
      left -= 1;
      const child = fork(WRITER, [store, `s ${i}`, `${account.next}`]);
      const end = account.calls + Math.ceil(Math.random() * CALLS);
      child.on("message", (said) => {
        account.hear(said);
        if (account.calls >= end) child.kill("SIGKILL");
      });
      await once(child, "exit");
    }
  };
  await Promise.all(accounts.map(lane));
  await judge(`${name}: ${times} × kill -9`, store, accounts);
}

export async function restarts(times) {
  const server = await PostgresServer.start();
  const store = await server.newDatabase();
  const accounts = Array.from({ length: WRITERS }, () => new Account());
  const children = accounts.map((account, i) => {
    const child = fork(WRITER, [store, `s ${i}`, "0"]);
    child.on("message", (said) => account.hear(said));
    return child;
  });
  const calls = () => accounts.reduce((sum, account) => sum + account.calls, 0);
  for (let n = 0; n < times; n += 1) {
    const end = calls() + CALLS_PER_RESTART;
    while (calls() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    await server.end(n % 2 === 0 ? "SIGQUIT" : "SIGINT");
    await server.startAgain();
  }
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await judge(`postgres: ${times} restarts of the server`, store, accounts);
  await server.remove();
}

async function judge(name, store, accounts) {
  const manager = await sessions.ContextManager.open({ store });
  const sum = { lost: 0, doubled: 0, resurrected: 0 };
  for (const [i, account] of accounts.entries()) {
    const stored = [];
    for await (const line of manager.export(`s ${i}`)) {
      for (const [, n] of line.matchAll(/"message (\d+)"/g)) stored.push(Number(n));
    }
    const faults = account.faults(stored);
    for (const fault of Object.keys(sum)) sum[fault] += faults[fault];
  }
  await manager.close();
  const calls = accounts.reduce((total, account) => total + account.calls, 0);
  print(
    name,
    `${calls} calls answered: ${sum.lost} lost, ${sum.doubled} doubled, ${sum.resurrected} resurrected`,
  );
  if (Object.values(sum).some((count) => count > 0)) process.exitCode = 1;
}
