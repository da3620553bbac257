// Measures how fast sessions are, what they take, and what survives: `npm run bench:sessions`. Named parts alone:
// `npm run bench:sessions -- memory sqlite rolling stalls postgres crashes`. `--rows 10000000` is how far Postgres is filled,
// `--searchable 1000000` how far with its index of words; `--kills 1000 --restarts 100` how often something is ended.
import { parseArgs } from "node:util";
import { kills, restarts } from "./sessions/crashes.mjs";
import { inFile, inMemory, MESSAGES, rolling } from "./sessions/local.mjs";
import { postgres } from "./sessions/postgres.mjs";
import { stalls } from "./sessions/stalls.mjs";

const PARTS = {
  async memory() {
    await inMemory(50, "50 messages at most");
    await inMemory(MESSAGES, "1 000 messages at most");
  },
  sqlite: inFile,
  rolling,
  stalls,
  postgres: ({ rows, searchable }) => postgres({ largest: rows, searchable }),
  async crashes(options) {
    await kills(options.kills);
    await restarts(options.restarts);
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: "string", default: "100000" },
    searchable: { type: "string", default: "1000000" },
    kills: { type: "string", default: "30" },
    restarts: { type: "string", default: "6" },
  },
});
const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
  if (!Object.hasOwn(PARTS, name))
    throw new TypeError(`there is no part ${name}; there are ${Object.keys(PARTS).join(", ")}`);
  await PARTS[name](options);
}
