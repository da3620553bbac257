// Does the agent still succeed? A paired experiment with the real pi and a model of one's own choice: the same tasks under
// each arm, `npm run bench:ab -- --model PROVIDER/ID --margin 0.1 --max-dollars 20`. docs/proof.md says how to run
// and read it. With `--scripted` the model is a script on a local server, and nothing is paid.

import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ARMS } from "./ab/arms.mjs";
import { Journal, RunFailure, UsageError } from "./ab/journal.mjs";
import {
  gradesIn,
  leaderboard,
  leaderboardText,
  listSessions,
  tasksIn,
  writePredictions,
} from "./ab/list.mjs";
import { findPi } from "./ab/pi.mjs";
import { goOn, LimitReached } from "./ab/run.mjs";
import { SCRIPTED_PRICES, startScripted } from "./ab/scripted/server.mjs";
import { summarize } from "./ab/summary.mjs";
import { languagesHere, ownSessions } from "./ab/tasks/index.mjs";
import { planText, resultsText } from "./ab/text.mjs";

const OPTIONS = {
  model: { type: "string" },
  thinking: { type: "string" },
  arms: { type: "string", default: Object.keys(ARMS).join(",") },
  sessions: { type: "string", default: "2" },
  languages: { type: "string" },
  seed: { type: "string", default: "1" },
  "context-window": { type: "string", default: "64000" },
  margin: { type: "string" },
  effect: { type: "string" },
  "max-dollars": { type: "string" },
  "max-steps": { type: "string", default: "40" },
  out: { type: "string" },
  pi: { type: "string" },
  "base-url": { type: "string" },
  api: { type: "string", default: "openai-completions" },
  key: { type: "string", default: "API_KEY" },
  prices: { type: "string" },
  scripted: { type: "boolean", default: false },
  plan: { type: "boolean", default: false },
  list: { type: "string" },
  instances: { type: "string" },
  repos: { type: "string" },
  graded: { type: "string" },
};

/** Dollars a run may spend where nothing is said; a script's are none. */
const USUAL_DOLLARS = "5";

/** Exit codes: a mistake of the user's, and a run that stopped at its limit. */
const MISTAKE = 2;
const AT_THE_LIMIT = 3;

async function main() {
  const flags = flagsOf(process.argv.slice(2));
  const list = flags.list === undefined ? undefined : listedTasks(flags);
  // Of a public list nothing is tested here, so no margin is asked for.
  const settings = settingsOf(list ? { ...flags, margin: "1" } : flags);
  const grades = gradesIn(flags.graded);
  const folder = folderOf(flags, list ? `list-${settings.model}` : settings.model);
  console.log(
    list
      ? `${list.length} tasks under each of ${settings.arms.join(", ")}, in ${folder}.`
      : planText(settings),
  );
  if (flags.plan) return;
  const pi = findPi(flags.pi);
  const journal = new Journal(folder, { ...settings, piVersion: pi.version });
  const sessions = list ? listSessions(list, settings, flags.repos) : ownSessions(settings);
  try {
    await run(journal, sessions, pi, flags, () => (list ? reportList(journal, grades) : report(journal)));
  } finally {
    journal.close();
  }
}

function listedTasks({ list, instances }) {
  if (instances === undefined)
    throw new UsageError("--list needs --instances: the data set, one JSON object a line.");
  return tasksIn(list, instances);
}

async function run(journal, sessions, pi, flags, tell) {
  const { settings, records } = journal;
  if (records.length > 0) console.log(`Going on after ${records.length} tasks that are settled.`);
  const limits = { dollars: numberOf(flags, "max-dollars"), steps: numberOf(flags, "max-steps") };
  const onTask = ({ session, arm, task, isSolved, steps, bill }) => {
    const outcome = isSolved === undefined ? "ended" : isSolved ? "solved" : "not solved";
    console.log(`${session}, ${arm}: ${task} ${outcome}, ${steps} steps, $${bill.dollars.toFixed(3)}`);
  };
  try {
    await served(flags, settings, (access) => goOn(journal, sessions, { pi, access, limits, onTask }));
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    process.exitCode = AT_THE_LIMIT;
    console.log(
      `Stopped at $${flags["max-dollars"]}. Go on with the same command and a higher --max-dollars.`,
    );
  } finally {
    tell();
  }
}

const folderOf = ({ out }, name) =>
  out ?? join(homedir(), ".cache", "pi-strata-ab", name.replace(/\W+/g, "-"));

/** Runs `work` with the access to the model: `{ baseUrl, keyVariable }`, of the script's server where it is asked for. */
async function served(flags, settings, work) {
  if (!flags.scripted || flags["base-url"])
    return work({ baseUrl: flags["base-url"], keyVariable: flags.key });
  const server = await startScripted(settings);
  const path = flags.api === "openai-completions" ? "/v1" : "";
  try {
    await work({ baseUrl: `${server.baseUrl}${path}`, keyVariable: "none" });
  } finally {
    server.close();
  }
}

function report(journal) {
  if (journal.records.length === 0) return;
  const results = summarize(journal.settings, journal.records);
  writeFileSync(join(journal.folder, "results.json"), `${JSON.stringify(results, null, 1)}\n`);
  console.log(`\n${resultsText(results)}`);
}

function reportList(journal, grades) {
  writePredictions(journal);
  const rows = leaderboard(journal.records, grades);
  writeFileSync(join(journal.folder, "leaderboard.json"), `${JSON.stringify(rows, null, 1)}\n`);
  console.log(
    `\n${leaderboardText(rows)}\n\nGrade predictions-ARM.jsonl with the list's own grader, then run again with --graded ARM=REPORT.json,…`,
  );
}

/** The settings that are the same in all of a run; a run cannot go on with other ones. */
function settingsOf(flags) {
  const { here, missing } = languagesHere(flags.languages?.split(","));
  for (const name of missing) console.log(`Without the tasks in ${name}: its interpreter is not here.`);
  if (here.length === 0) throw new UsageError("No language is left: node, python3 or sh must be here.");
  const margin = numberOf(flags, "margin");
  const isOwnServer = flags.scripted || flags["base-url"] !== undefined;
  const [provider, ...id] = (flags.scripted ? "scripted/scripted" : (flags.model ?? "")).split("/");
  if (id.length === 0)
    throw new UsageError("Name the model: --model PROVIDER/ID, as anthropic/claude-haiku-4-5.");
  const arms = flags.arms.split(",");
  for (const arm of arms) {
    if (!(arm in ARMS))
      throw new UsageError(`There is no arm ${arm}: choose of ${Object.keys(ARMS).join(", ")}.`);
  }
  return {
    margin,
    effect: flags.effect === undefined ? margin : numberOf(flags, "effect"),
    provider,
    model: id.join("/"),
    isScripted: flags.scripted,
    thinking: flags.thinking,
    arms,
    sessions: numberOf(flags, "sessions"),
    languages: here,
    seed: numberOf(flags, "seed"),
    window: numberOf(flags, "context-window"),
    maxSteps: numberOf(flags, "max-steps"),
    ...(isOwnServer && { api: flags.api, prices: pricesOf(flags) }),
  };
}

function pricesOf({ prices, scripted }) {
  if (scripted) return SCRIPTED_PRICES;
  const [input, output, cacheRead, cacheWrite] = (prices ?? "0,0,0,0").split(",").map(Number);
  return { input, output, cacheRead, cacheWrite };
}

function flagsOf(args) {
  try {
    const { values } = parseArgs({ args, options: OPTIONS });
    return { "max-dollars": values.scripted ? "1000000" : USUAL_DOLLARS, ...values };
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function numberOf(flags, name) {
  const number = Number(flags[name]);
  if (flags[name] === undefined || !(number > 0)) {
    const why =
      name === "margin"
        ? ", and before the run: the loss of success that would still be accepted, as 0.1"
        : "";
    throw new UsageError(`--${name} must be a number above 0${why}.`);
  }
  return number;
}

try {
  await main();
} catch (error) {
  process.exitCode = error instanceof UsageError ? MISTAKE : 1;
  const isExpected = error instanceof UsageError || error instanceof RunFailure;
  console.error(isExpected ? error.message : error);
}
