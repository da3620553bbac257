// Measures what policies cost and what they keep, and where our own settings stand between them:
// `npm run bench:economy [-- SESSION…]`. Prints the table; `--save` writes bench/results/economy.json and economy.svg.
// With `--public` the sessions are public recordings at pinned commits, and the files are economy-public.json and .svg.
// With `--uncompacted SCALE` each is one transcript that its host never compacted, and the provider counts SCALE tokens for one
// of cl100k_base; the files end in -uncompacted.

import { basename } from "node:path";
import { parseArgs } from "node:util";
import { PRICES } from "../__test__/support/live/provider.mjs";
import { uncompacted } from "../__test__/support/recordings.mjs";
import { hookPolicy } from "../lib/cli/report/report.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { compare, compareTable } from "./economy/compare.mjs";
import { scatterPlot } from "./plot.mjs";
import { publicRecordings } from "./public.mjs";
import { CONTEXT_WINDOW, EXAMPLE, save } from "./shared.mjs";

/** Our settings: the schedule that recomputes, with more or less kept, and the sticky one by its economy. */
const SWEEP = [
  ...[12, 6, 3, 1].map((keepRecentToolResults) => ({ schedule: "everyCall", keepRecentToolResults })),
  ...[560, 280, 230, 170, 130, 90].map((economy) => ({ schedule: "sticky", economy })),
];

const nameOf = (settings) => Object.values(settings).join(" ");

const { values: flags, positionals: given } = parseArgs({
  allowPositionals: true,
  options: {
    public: { type: "boolean" },
    save: { type: "boolean" },
    uncompacted: { type: "string" },
    "context-window": { type: "string", default: String(CONTEXT_WINDOW) },
  },
});
const isPublic = flags.public === true;
const scale = flags.uncompacted === undefined ? undefined : Number(flags.uncompacted);
const named = given.length > 0 ? given : [EXAMPLE];
const files = isPublic ? await publicRecordings() : named;
const contextWindow = Number(flags["context-window"]);
const kinds = [
  isPublic && "public",
  scale !== undefined && "uncompacted",
  contextWindow !== CONTEXT_WINDOW && String(contextWindow),
];
const name = ["economy", ...kinds.filter(Boolean)].join("-");
const sessions = [];
for (const file of files) {
  const recording = await loadSession(file);
  sessions.push({
    name: basename(file),
    ...(scale === undefined ? { messages: recording } : uncompacted(recording)),
  });
}
const setting = { contextWindow, prices: PRICES, scale };

const rows = await compare(sessions, setting);
const sweep = await compare(sessions, {
  ...setting,
  policies: Object.fromEntries(SWEEP.map((settings) => [nameOf(settings), hookPolicy(settings)])),
});
console.log(compareTable(rows));
console.log("\nOur settings\n");
console.log(compareTable(sweep));

const whole = sessions.length > 1 ? "all" : sessions[0].name;
const points = (of, share, kind) =>
  of
    .filter(({ session }) => session === whole)
    .map((row) => ({ label: row.policy, x: row.dollarsWithRereads, y: 100 * row[share], kind }));
const plotOf = (what, share) =>
  scatterPlot({
    title: `Dollars and ${what}, ${sessions.map(({ name }) => name).join(", ")}`,
    xLabel: "dollars, with what reading again after blind edits would cost",
    yLabel: `${what}, %`,
    rings: "ours, other settings",
    points: [...points(rows, share, "policy"), ...points(sweep, share, "setting")],
  });
if (flags.save) {
  save(`${name}.json`, { ...setting, rows, sweep });
  save(`${name}.svg`, plotOf("recall", "recall"));
  if (isPublic && scale !== undefined) save("frontier.svg", plotOf("copied text in view", "copied"));
}
