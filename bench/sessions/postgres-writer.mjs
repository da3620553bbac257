// A process that appends to many sessions in Postgres, some calls at once as the manager does, and says when it is done and how much CPU
// time that took it, in ms.
import { createRequire } from "node:module";
import { row } from "./message.mjs";

const { PostgresStore } = createRequire(import.meta.url)("../../lib/sessions/store/postgres.js");

const [url, name, count, batch, parallel] = process.argv.slice(2);
const SESSIONS = 100;

const store = new PostgresStore({ connectionString: url, poolSize: Number(parallel) });
await store.open(() => {});
let next = 0;

/** Appends batch by batch; each lane has sessions of its own, so that no two calls name the same one. */
async function lane(number) {
  while (next < Number(count)) {
    const first = next;
    next += Number(batch);
    const operations = Array.from({ length: Number(batch) }, (_, i) => ({
      namespace: "",
      key: `"${name} ${number} ${i % SESSIONS}"`,
      kind: "append",
      messages: [row(`${name} ${first + i}`, first + i)],
    }));
    await store.apply(operations);
  }
}

process.send("ready");
await new Promise((resolve) => process.once("message", resolve));
const before = process.cpuUsage();
await Promise.all(Array.from({ length: Number(parallel) }, (_, number) => lane(number)));
const { user, system } = process.cpuUsage(before);
process.send((user + system) / 1000);
await store.close();
process.disconnect();
