// The tasks of one session: the projects of all languages, done in turns, so that what a task needs of an earlier one
// lies several tasks back.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { orderOf } from "../arms.mjs";
import { UsageError } from "../journal.mjs";
import { LANGUAGES } from "./languages.mjs";
import { projectOf } from "./project.mjs";

/** A deciding test that takes longer has failed. */
const CHECK_TIMEOUT_MS = 20_000;

/** `{ projects, tasks }` of the session with this seed, in the languages named. */
export function sessionOf(seed, languages) {
  const projects = languages.map((name) => projectOf(name, LANGUAGES[name], seed));
  const rounds = projects[0].tasks.map((_, i) => projects.map(({ tasks }) => tasks[i]));
  return { projects, tasks: rounds.flat() };
}

/** The sessions of a run with these settings. */
export function ownSessions({ sessions, arms, languages, seed }) {
  return Array.from({ length: sessions }, (_, i) => {
    const { projects, tasks } = sessionOf(`${seed}-${i}`, languages);
    const outcomeOf = (task) => (folder) => {
      const { language, kind } = task;
      return { language, kind, isSolved: isSolved(task, folder) };
    };
    return {
      name: `session-${i + 1}`,
      seed: seed + i,
      arms: orderOf(arms, i),
      prepare: (folder) => writeProjects(projects, folder),
      tasks: tasks.map((task) => ({ ...task, outcomeOf: outcomeOf(task) })),
    };
  });
}

/** Languages whose interpreter is on this machine, and those without: `{ here, missing }`. */
export function languagesHere(names = Object.keys(LANGUAGES)) {
  const unknown = names.find((name) => !Object.hasOwn(LANGUAGES, name));
  if (unknown !== undefined)
    throw new UsageError(`There is no language ${unknown}: choose of ${Object.keys(LANGUAGES).join(", ")}.`);
  const isHere = (name) => LANGUAGES[name].isHere();
  return { here: names.filter(isHere), missing: names.filter((name) => !isHere(name)) };
}

/** Writes the repositories of these projects under `folder`. */
function writeProjects(projects, folder) {
  for (const { folder: name, files } of projects) {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
}

/** Decides a task by its test, which the agent never sees. */
function isSolved(task, folder) {
  const root = join(folder, task.language);
  if (task.absent.some(({ file, text }) => readOrNothing(join(root, file)).includes(text))) return false;
  const own = mkdtempSync(join(tmpdir(), "pi-strata-check-"));
  try {
    const file = join(own, task.check.file);
    writeFileSync(file, task.check.text);
    const { status } = spawnSync(task.check.command, [file, root], {
      stdio: "ignore",
      timeout: CHECK_TIMEOUT_MS,
    });
    return status === 0;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function readOrNothing(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
