// The experiment on a public list of tasks, such as SWE-bench Verified: one agent, each task under each arm in a fresh checkout. The
// agent's patch goes into a predictions file; the list's official grader decides, and its report is read back.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textTable } from "../../lib/cli/terminal.mjs";
import { RunFailure, UsageError } from "./journal.mjs";
import { armOf } from "./summary.mjs";

/** Columns of public leaderboards of context compression. */
const HEADS = ["arm", "tasks", "solved", "dollars", "$ a solved task", "prompt", "cached", "output", "steps"];
const REQUEST =
  "Solve the issue below in this repository. Change the code, not the tests, and finish when the change is complete.\n\n";
const HOST = "https://github.com";

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

/** A session for each task, in a fresh checkout. What comes of it is a patch. */
export function listSessions(tasks, { arms, seed }, repos) {
  return tasks.map((task) => ({
    name: task.id,
    seed,
    arms,
    prepare: (folder) => checkOut(task, folder, repos),
    tasks: [{ id: task.id, request: REQUEST + task.statement, outcomeOf: (folder) => patchOf(task, folder) }],
  }));
}

function patchOf({ commit }, folder) {
  git(folder, "add", "--all");
  return { patch: git(folder, "diff", "--cached", commit) };
}

/** Writes `predictions-ARM.jsonl` for the list's own grader. */
export function writePredictions({ folder, settings, records }) {
  for (const arm of settings.arms) {
    const lines = records
      .filter((record) => record.arm === arm)
      .map(({ task, patch }) => ({
        instance_id: task,
        model_name_or_path: `${settings.model}-${arm}`,
        model_patch: patch,
      }));
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    writeFileSync(join(folder, `predictions-${arm}.jsonl`), text);
  }
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
  return [...new Set(records.map(({ arm }) => arm))].map((arm) => {
    const { tasks, steps, dollars, tokens } = armOf(arm, records);
    const solved =
      grades[arm] && records.filter((record) => record.arm === arm && grades[arm].has(record.task)).length;
    return {
      arm,
      tasks,
      solved,
      dollars,
      dollarsPerSolved: solved > 0 ? dollars / solved : undefined,
      promptTokens: tokens.input + tokens.cacheRead + tokens.cacheWrite,
      cachedTokens: tokens.cacheRead,
      outputTokens: tokens.output,
      steps,
    };
  });
}

/** The leaderboard for a terminal. */
export function leaderboardText(rows) {
  const digits = { solved: 0, dollars: 2, dollarsPerSolved: 2 };
  const cell = ([name, value]) =>
    value === undefined ? "–" : name in digits ? value.toFixed(digits[name]) : String(value);
  return textTable(
    HEADS,
    rows.map((row) => Object.entries(row).map(cell)),
  );
}
