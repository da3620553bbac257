// Measures how well calls are predicted: `npm run bench:ledger [-- SESSION…]`. Of each session as it was recorded, and played again
// in the closed loop, with the hook at work: estimated against reported prompts. With `--public` the sessions are public recordings at pinned commits.

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { Loop, play } from "../__test__/support/live/loop.mjs";
import { Provider } from "../__test__/support/live/provider.mjs";
import { ledgerOf } from "../lib/cli/cache.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { textTable, whole } from "../lib/cli/table.mjs";
import { Book } from "../lib/tools/ledger_book.js";
import { publicRecordings } from "./public.mjs";

const EXAMPLE = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));
const OPTIONS = { schedule: "sticky" };

/** The ledger of a recording played in the closed loop. */
async function liveLedger(recording) {
  const loop = new Loop(new Provider({ basePrompt: 12_000 }), OPTIONS);
  const book = new Book("bench", OPTIONS);
  const lists = [];
  let [list, from] = [loop.messages, 0];
  const onChange = () => {
    lists.push([list, from]);
    [list, from] = [loop.messages, loop.messages.length];
  };
  for await (const record of play(recording, loop, { onChange })) {
    if (record.failure !== undefined) throw new Error(`call ${record.call} failed: ${record.failure}`);
  }
  lists.push([list, from]);
  for (const [messages, first] of lists) await book.enter(messages, first);
  return book.report();
}

const share = (value) => `${(100 * value).toFixed(2)} %`;

function row(name, how, { calls, dollars, misses, predicted: { count, median, p95 } }) {
  const told = count > 0 ? [share(median), share(p95)] : ["–", "–"];
  const billed = dollars.billed === undefined ? "–" : `$ ${dollars.billed.toFixed(2)}`;
  return [name, how, whole(calls), billed, whole(misses.length), ...told];
}

const given = process.argv.slice(2);
const files = given[0] === "--public" ? await publicRecordings() : given.length > 0 ? given : [EXAMPLE];
const rows = [];
for (const file of files) {
  const session = await loadSession(file);
  const name = basename(file);
  rows.push(row(name, "recorded", await ledgerOf(session, OPTIONS)));
  rows.push(row(name, "closed loop", await liveLedger(session)));
}
const heads = ["session", "", "calls", "billed", "misses", "prompt, median", "p95"];
console.log(textTable(heads, rows));
