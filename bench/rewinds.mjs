// Plays recorded sessions live to their end, goes back to behind each call, and judges the request that is made there:
// `npm run bench:rewinds -- [--every N] FILE…` prints the table. Each place is tried with another result, with the same one, and
// with a question asked anew.

import { parseArgs } from "node:util";
import { brokenRules } from "../__test__/support/request-rules.mjs";
import { countTokens, createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { EXAMPLE } from "./shared.mjs";

/** What a provider counts beside the messages, and for each token of cl100k_base. */
const BESIDE = 8000;
const SCALE = 1.27;
const KEPT_RESULTS = 6;

const SETTINGS = {
  default: {},
  thrifty: { economy: "thrifty" },
  "64k window": { contextWindow: 64_000 },
  copies: {},
  everyCall: { schedule: "everyCall" },
};

const WAYS = {
  "another result": (list, from) =>
    list.map((message, at) =>
      at < from ? message : { ...message, content: [{ type: "text", text: `another result ${at}` }] },
    ),
  "the same result": (list) => list,
  "asked anew": (list) => [
    ...list,
    { role: "user", content: "Another way, please.", timestamp: list.at(-1).timestamp + 1 },
  ],
};

const { values, positionals } = parseArgs({
  options: { every: { type: "string", default: "1" } },
  allowPositionals: true,
});
const every = Number(values.every);
const files = positionals.length > 0 ? positionals : [EXAMPLE];
const sessions = await Promise.all(files.map(async (file) => (await loadSession(file)).messages));

for (const [name, options] of Object.entries(SETTINGS)) {
  const rows = Object.fromEntries(
    Object.keys(WAYS).map((way) => [way, { places: 0, invalid: 0, resultsCut: 0 }]),
  );
  for (const messages of sessions) await rewound(messages, options, name === "copies", rows);
  console.log(`\n${name}\n`);
  console.table(rows);
}

/** Tries every place of a session that is played live first. */
async function rewound(recorded, options, copies, rows) {
  const hook = createTransformContext(options);
  const given = (list) => (copies ? structuredClone(list) : list.slice());
  const messages = recorded.slice();
  const calls = messages.flatMap(({ role }, at) => (role === "assistant" && at > 0 ? [at] : []));
  for (const at of calls) {
    const tokens = Math.round(BESIDE + SCALE * countTokens(await hook(given(messages.slice(0, at)))));
    const usage = { ...messages[at].usage, input: 10, cacheRead: tokens - 10, cacheWrite: 0 };
    messages[at] = { ...messages[at], usage };
  }
  const whole = messages.slice(0, calls.at(-1));
  for (const at of calls.filter((_, nth) => nth % every === 0)) {
    let end = at + 1;
    while (whole[end]?.role === "toolResult") end += 1;
    if (end === at + 1 || end > whole.length) continue;
    for (const [way, change] of Object.entries(WAYS)) {
      // The longer branch is called again before each try, so that it is the latest.
      await hook(given(whole));
      const list = given(change(whole.slice(0, end), at + 1));
      const sent = await hook(list);
      const kept = new Set(sent);
      const newest = list.filter(({ role }) => role === "toolResult").slice(-KEPT_RESULTS);
      rows[way].places += 1;
      rows[way].invalid += Number(brokenRules(sent, list).length > 0);
      rows[way].resultsCut += newest.filter((message) => !kept.has(message)).length;
    }
  }
}
