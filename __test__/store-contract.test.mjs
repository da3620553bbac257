// The contract of a store, on all three: in memory, in a file, and on a real Postgres server.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { storeContract } from "pi-strata/store-contract";
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
