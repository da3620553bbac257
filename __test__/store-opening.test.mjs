// A store that could not be opened is opened as soon as that can be, and says why it is not until then.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { ContextManager } from "pi-strata/sessions";
import { PASSWORD, PostgresServer } from "./support/postgres.mjs";

const { Opening } = createRequire(import.meta.url)("../lib/sessions/store/opening.js");
const user = (content) => ({ role: "user", content });
const folder = mkdtempSync(join(tmpdir(), "pi-strata-opening-"));
after(() => rmSync(folder, { recursive: true }));

/** Tries `work` until it does not fail. */
async function patiently(work) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

test("tries again after a pause that grows, and not before", async () => {
  const reports = [];
  let tries = 0;
  const failing = async () => {
    tries += 1;
    throw new Error(`failure ${tries}`);
  };
  const opening = new Opening(failing, (error, tried) => reports.push([error.message, tried]));
  await assert.rejects(opening.ready(), /failure 1/);
  await assert.rejects(opening.ready(), /failure 1/);
  assert.equal(tries, 1);
  await new Promise((resolve) => setTimeout(resolve, 110));
  await Promise.all([1, 2, 3].map(() => assert.rejects(opening.ready(), /failure 2/)));
  assert.equal(tries, 2);
  assert.deepEqual(reports, [
    ["failure 1", { attempt: 1, retryInMs: 100 }],
    ["failure 2", { attempt: 2, retryInMs: 200 }],
  ]);
});

test("a file whose folder comes later is opened then", {
  skip: process.platform === "win32" && "a link there needs rights",
}, async () => {
  const store = join(folder, "sessions.db");
  symlinkSync(join(folder, "mounted later", "sessions.db"), store);
  const events = [];
  const manager = new ContextManager({ store, onEvent: (event) => events.push(event) });
  await assert.rejects(manager.addMessage("s", user("early")), { code: "ERR_DATABASE_CANNOT_OPEN" });
  assert.deepEqual(
    [events[0].type, events[0].code, events[0].attempt],
    ["storeFailed", "ERR_DATABASE_CANNOT_OPEN", 1],
  );
  mkdirSync(join(folder, "mounted later"));
  writeFileSync(join(folder, "mounted later", "sessions.db"), "");
  await patiently(() => manager.addMessage("s", user("late")));
  assert.deepEqual(
    (await manager.getMessages("s")).map(({ content }) => content),
    ["late"],
  );
  await manager.close();
});

const server = await PostgresServer.start();
describe("Postgres", { skip: server === undefined && "there is no Postgres for this machine" }, () => {
  after(() => server?.remove());

  test("a database that is made later is opened then", async () => {
    const events = [];
    const manager = new ContextManager({
      store: server.urlOf("made_later"),
      onEvent: (event) => events.push(event),
    });
    await assert.rejects(manager.addMessage("s", user("early")), { code: "ERR_DATABASE_CANNOT_OPEN" });
    assert.equal(events[0].code, "ERR_DATABASE_CANNOT_OPEN");
    assert.ok(!JSON.stringify(events).includes(PASSWORD));
    await server.query("CREATE DATABASE made_later");
    await patiently(() => manager.addMessage("s", user("late")));
    const { messages } = await manager.getOrCreateContext("s");
    assert.deepEqual(
      messages.map(({ content }) => content),
      ["late"],
    );
    await manager.close();
  });
});
