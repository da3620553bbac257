// The experiment on a public list of tasks, such as SWE-bench Verified: one agent, each task under each arm in a fresh checkout. The
// agent's patch goes into a predictions file; the list's official grader decides, and its report is read back.

import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { modelsFile } from "../../__test__/support/models-file.mjs";
import { textTable } from "../../lib/cli/table.mjs";
import { ARMS } from "./arms.mjs";
import { billOf, readCalls, spentOn } from "./calls.mjs";
import { RunFailure, UsageError } from "./journal.mjs";
import { Pi } from "./pi.mjs";

/** Columns of public leaderboards of context compression. */
const HEADS = ["arm", "tasks", "solved", "dollars", "$ a solved task", "prompt", "cached", "output", "steps"];
const REQUEST =
  "Solve the issue below in this repository. Change the code, not the tests, and finish when the change is complete.\n\n";
const HOST = "https://github.com";
/** A task that takes longer is stopped; its patch so far counts. */
const TASK_MS = 30 * 60_000;

/** The tasks named in `listFile`, from a file of the data set with one JSON object a line. */
export function tasksIn(listFile, instancesFile) {
  const linesOf = (file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"));
  const instances = new Map(
    linesOf(instancesFile)
      .map((line) => JSON.parse(line))
      .map((one) => [one.instance_id, one]),
  );
  return linesOf(listFile).map((id) => {
    const { repo, base_commit: commit, problem_statement: statement } = instances.get(id) ?? {};
    if (![repo, commit, statement].every((text) => typeof text === "string"))
      throw new UsageError(
        `${instancesFile} has no task ${id} with repo, base_commit and problem_statement.`,
      );
    return { id, repo, commit, statement };
  });
}

/** Goes on with a run in `folder`: what is settled is not done again. Returns the records, `{ id, arm, bill, patch }` each. */
export async function runList(tasks, { folder, arms, pi, settings, access, repos, limits, onTask }) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "records.jsonl");
  const records = existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];
  for (const task of tasks) {
    for (const arm of arms) {
      if (records.some((record) => record.id === task.id && record.arm === arm)) continue;
      const spent = records.reduce((sum, { bill }) => sum + bill.dollars, 0);
      if (spent >= limits.dollars) return records;
      const left = { ...limits, dollars: limits.dollars - spent };
      const record = await settle(task, arm, { folder, pi, settings, access, repos, limits: left });
      appendFileSync(file, `${JSON.stringify(record)}\n`);
      const prediction = {
        instance_id: task.id,
        model_name_or_path: `${settings.model}-${arm}`,
        model_patch: record.patch,
      };
      appendFileSync(join(folder, `predictions-${arm}.jsonl`), `${JSON.stringify(prediction)}\n`);
      records.push(record);
      onTask(record);
    }
  }
  return records;
}

async function settle(task, arm, { folder, pi, settings, access, repos, limits }) {
  const at = (name) => join(folder, task.id, arm, name);
  const [workFolder, agentFolder, sessionFolder] = ["work", "agent", "sessions"].map(at);
  for (const path of [agentFolder, sessionFolder]) mkdirSync(path, { recursive: true });
  if (!existsSync(workFolder)) checkOut(task, workFolder, repos);
  writeFileSync(join(agentFolder, "settings.json"), JSON.stringify(ARMS[arm].settings));
  writeFileSync(join(agentFolder, "models.json"), JSON.stringify(modelsFile({ ...settings, ...access })));
  const callsFile = at("calls.jsonl");
  let prices = {};
  let steps = 0;
  const isOver = () => steps >= limits.steps || spentOn(readCalls(callsFile), prices) >= limits.dollars;
  const agent = new Pi(
    { script: pi.script, cwd: workFolder, agentFolder, sessionFolder, callsFile },
    {
      model: { provider: settings.provider, id: settings.model, thinking: settings.thinking },
      seed: settings.seed,
      extensions: ARMS[arm].extensions,
      continues: false,
    },
    {
      onEvent: ({ type, message }) => {
        if (type === "message_end" && message.role === "assistant") steps += 1;
      },
      mayCall: () => {
        if (isOver()) agent.ask("abort").catch(() => {});
        return !isOver();
      },
    },
  );
  const timer = setTimeout(() => agent.ask("abort").catch(() => {}), TASK_MS);
  try {
    const { model } = await agent.ask("get_state");
    if (model?.id !== settings.model)
      throw new RunFailure(`pi knows no model ${settings.provider}/${settings.model} with a key.`);
    prices = model.cost;
    await agent.prompt(REQUEST + task.statement);
  } finally {
    clearTimeout(timer);
    await agent.end();
  }
  const { bill } = billOf(readCalls(callsFile), prices);
  git(workFolder, "add", "--all");
  return { id: task.id, arm, steps, bill, patch: git(workFolder, "diff", "--cached", task.commit) };
}

/** A checkout of the task's commit: of a clone in the user's folder, else of the public repository. */
function checkOut({ repo, commit }, workFolder, repos) {
  const own = repos && join(repos, repo.replace("/", "__"));
  const source = own && existsSync(own) ? own : `${HOST}/${repo}`;
  git(undefined, "clone", "--quiet", source, workFolder);
  git(workFolder, "checkout", "--quiet", commit);
}

function git(cwd, ...args) {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd, encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) throw new RunFailure(`git ${args[0]} failed: ${stderr?.trim()}`);
  return stdout;
}

/** The ids that a grader's report calls resolved, by arm: `ARM=FILE,…`. */
export function gradesIn(given) {
  const pairs = (given ?? "")
    .split(",")
    .filter(Boolean)
    .map((pair) => pair.split("="));
  return Object.fromEntries(
    pairs.map(([arm, file]) => {
      const ids = JSON.parse(readFileSync(file, "utf8")).resolved_ids;
      if (!Array.isArray(ids)) throw new UsageError(`${file} has no resolved_ids: give the grader's report.`);
      return [arm, new Set(ids)];
    }),
  );
}

/** One row per arm, with raw numbers; `solved` is undefined until the grader has decided. */
export function leaderboard(records, grades) {
  const arms = [...new Set(records.map(({ arm }) => arm))];
  return arms.map((arm) => {
    const own = records.filter((record) => record.arm === arm);
    const sum = (pick) => own.reduce((total, record) => total + pick(record), 0);
    const solved = grades[arm] && own.filter(({ id }) => grades[arm].has(id)).length;
    const dollars = sum(({ bill }) => bill.dollars);
    return {
      arm,
      tasks: own.length,
      solved,
      dollars,
      dollarsPerSolved: solved > 0 ? dollars / solved : undefined,
      promptTokens: sum(({ bill: { tokens } }) => tokens.input + tokens.cacheRead + tokens.cacheWrite),
      cachedTokens: sum(({ bill }) => bill.tokens.cacheRead),
      outputTokens: sum(({ bill }) => bill.tokens.output),
      steps: sum(({ steps }) => steps),
    };
  });
}

/** The leaderboard for a terminal. */
export function leaderboardText(rows) {
  const known = (value, digits) => (value === undefined ? "–" : value.toFixed(digits));
  const cells = rows.map((row) => [
    row.arm,
    String(row.tasks),
    known(row.solved, 0),
    row.dollars.toFixed(2),
    known(row.dollarsPerSolved, 2),
    String(row.promptTokens),
    String(row.cachedTokens),
    String(row.outputTokens),
    String(row.steps),
  ]);
  return textTable(HEADS, cells);
}
