// The tasks of one session: the projects of all languages, done in turns, so that what a task needs of an earlier one
// lies several tasks back.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

/** Languages whose interpreter is on this machine, and those without: `{ here, missing }`. */
export function languagesHere(names = Object.keys(LANGUAGES)) {
  const isHere = (name) => LANGUAGES[name].isHere();
  return { here: names.filter(isHere), missing: names.filter((name) => !isHere(name)) };
}

/** Writes the repositories of these projects under `folder`. */
export function writeProjects(projects, folder) {
  for (const { folder: name, files } of projects) {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, name, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
  }
}

/** Decides a task by its test, which the agent never sees. */
export function isSolved(task, folder) {
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
