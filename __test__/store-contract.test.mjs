// The contract of a store, on all there are: in memory, in a file, on a real Postgres server, and on the example of one's own.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { storeContract } from "../examples/own-store/contract.mjs";
import { LinesStore } from "../examples/own-store/lines-store.mjs";
import { PostgresServer } from "./support/postgres.mjs";

const require = createRequire(import.meta.url);
const { PostgresStore } = require("../lib/sessions/store/postgres.js");
const { SqliteStore } = require("../lib/sessions/store/sqlite.js");

const folder = mkdtempSync(join(tmpdir(), "pi-strata-contract-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("SQLite in memory", () => {
  for (const { name, run } of storeContract({ open: () => new SqliteStore(), keeps: false })) test(name, run);
});

describe("SQLite in a file", () => {
  const open = (place) => new SqliteStore(join(folder, `${place}.db`));
  for (const { name, run } of storeContract({ open })) test(name, run);
});

describe("a store of one's own", () => {
  const open = (place) => new LinesStore(join(folder, `${place}.jsonl`));
  for (const { name, run } of storeContract({ open, isShared: false })) test(name, run);
});

const server = await PostgresServer.start();
describe("Postgres", { skip: server === undefined && "there is no Postgres for this machine" }, () => {
  after(() => server?.remove());
  const urls = new Map();
  const open = async (place) => {
    if (!urls.has(place)) urls.set(place, await server.newDatabase());
    return new PostgresStore({ connectionString: urls.get(place), poolSize: 4 });
  };
  for (const { name, run } of storeContract({ open })) test(name, run);
});
