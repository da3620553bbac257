// Sessions in a file: there again after a restart or a crash, shared by processes, and none the worse for a bad file.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ContextManager } from "pi-strata/sessions";
import { calls, result, user } from "./support/said.mjs";
import { addAll, contents, filesOfTest } from "./support/session-files.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const { folder, newFile } = filesOfTest(after);

const numbered = (count, from = 0) => Array.from({ length: count }, (_, n) => user(`message ${from + n}`));

describe("a file", () => {
  test("holds everything when it is opened again", async () => {
    const store = newFile();
    const first = new ContextManager({ store });
    await first.getOrCreateContext("s", "Be brief.");
    first.setMetadata("s", { goal: "ship", planId: "p1" });
    await addAll(first, "s", [calls("1", "ls"), result("1", "a\0b \ud800", true), ...numbered(60)]);
    const [messages, stats] = [await first.getMessages("s"), await first.getStats("s")];
    await first.close();
    const again = new ContextManager({ store });
    assert.deepEqual(await again.getMessages("s"), messages);
    assert.deepEqual(await again.getStats("s"), stats);
    const { metadata } = await again.getOrCreateContext("s", "Another prompt changes nothing.");
    assert.deepEqual([metadata.goal, metadata.planId], ["ship", "p1"]);
    assert.deepEqual(await again.getMessages("s"), messages);
    const [hit] = await again.search('"message 0"');
    assert.deepEqual(
      [hit.message.content, hit.isCurrent],
      ["message 0", false],
      "what was let go is still found",
    );
    await again.close();
  });

  test("is private", { skip: process.platform === "win32" }, async () => {
    const store = newFile();
    const manager = new ContextManager({ store });
    await manager.addMessage("s", user("a"));
    for (const suffix of ["", "-wal", "-shm"])
      assert.equal(statSync(store + suffix).mode & 0o777, 0o600, suffix);
    await manager.close();
  });

  test("loses no acknowledged message when the process is killed", async () => {
    const store = newFile();
    const child = spawn(process.execPath, [
      join(ROOT, "__test__/support/session-writer.mjs"),
      store,
      "s",
      "1000000",
    ]);
    let output = "";
    await new Promise((resolve) =>
      child.stdout.on("data", (data) => {
        output += data;
        if (output.length > 2000) resolve();
      }),
    );
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    const acknowledged = output.slice(0, output.lastIndexOf("\n")).split("\n").length;
    const manager = new ContextManager({ store, maxMessages: 1_000_000 });
    const stored = await contents(manager, "s");
    assert.ok(acknowledged > 100 && stored.length >= acknowledged, `${stored.length} of ${acknowledged}`);
    assert.deepEqual(
      stored,
      stored.map((_, n) => `${child.pid} ${n}`),
    );
    await manager.close();
  });

  test("is shared by two processes, and each sees what the other adds", async () => {
    const store = newFile();
    const manager = new ContextManager({ store, maxMessages: 1_000_000 });
    await manager.addMessage("s", user("here"));
    const writer = join(ROOT, "__test__/support/session-writer.mjs");
    const children = [1, 2].map(() => spawn(process.execPath, [writer, store, "s", "100"]));
    const ends = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of children) child.stdout.resume();
    for (let n = 0; n < 100; n += 1) await manager.addMessage("s", user(`here ${n}`));
    assert.deepEqual(await Promise.all(ends), [0, 0]);
    const stored = await contents(manager, "s");
    assert.equal(stored.length, 301);
    for (const { pid } of [...children, { pid: "here" }]) {
      const own = stored.filter((content) => content.startsWith(`${pid} `));
      assert.deepEqual(
        own,
        own.map((_, n) => `${pid} ${n}`),
      );
      assert.equal(own.length, 100);
    }
    await manager.close();
  });

  test("is compressed once when two of its users try", async () => {
    const store = newFile();
    const [one, two] = [new ContextManager({ store }), new ContextManager({ store })];
    await addAll(one, "s", numbered(30));
    assert.equal((await two.getMessages("s")).length, 30);
    const results = await Promise.all([one.compressContext("s"), two.compressContext("s")]);
    assert.deepEqual(results.map(({ by }) => by).sort(), ["none", "rules"]);
    for (const manager of [one, two]) assert.equal((await manager.getMessages("s")).length, 21);
    await Promise.all([one.close(), two.close()]);
  });

  test("is set aside when it is damaged, and work goes on", async () => {
    const store = newFile();
    writeFileSync(store, Buffer.alloc(2000, 0xff));
    const events = [];
    const manager = new ContextManager({ store, onEvent: (event) => events.push(event) });
    await manager.addMessage("s", user("a"));
    const [{ message, ...event }] = events;
    assert.deepEqual(event, { type: "storeSetAside", store, movedTo: `${store}.corrupt-1`, salvaged: 0 });
    assert.match(message, /was moved to .*corrupt-1; 0 of its messages/);
    assert.deepEqual(readFileSync(events[0].movedTo), Buffer.alloc(2000, 0xff));
    await manager.close();
    const own = basename(store);
    const names = readdirSync(folder).filter((name) => name.startsWith(own));
    assert.deepEqual(names.sort(), [own, `${own}.corrupt-1`], "closing tidies the log up");
  });

  test("that cannot be one is refused with a code", () => {
    assert.throws(() => new ContextManager({ store: folder }), { code: "ERR_DATABASE_CANNOT_OPEN" });
    assert.throws(() => new ContextManager({ store: join(folder, "none/a.db") }), {
      code: "ERR_DATABASE_CANNOT_OPEN",
    });
    assert.throws(() => new ContextManager({ store: "a\0b" }), { code: "ERR_DATABASE_BAD_PATH" });
    for (const store of ["", ":memory:", 7]) assert.throws(() => new ContextManager({ store }), TypeError);
  });

  test("is complete when it is closed, whatever was still on its way", async () => {
    const store = newFile();
    const manager = new ContextManager({ store, maxMessages: 10_000 });
    const adding = numbered(3000).map((message) => manager.addMessage("s", message));
    manager.setMetadata("s", { goal: "last" });
    await manager.close();
    await Promise.all(adding);
    const again = new ContextManager({ store });
    assert.equal((await again.getMessages("s")).length, 3000);
    assert.equal((await again.getOrCreateContext("s")).metadata.goal, "last");
    await again.close();
  });
});
