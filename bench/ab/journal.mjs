// The settled part of a run, on disk: its settings, which cannot change once it has begun, and one line per task.

import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A mistake of the user's, told in one sentence. */
export class UsageError extends Error {}

/** A failure that stops a run and is no mistake of the program's: a provider or a pi that fails. It can go on later. */
export class RunFailure extends Error {}

/** The run in `folder`. */
export class Journal {
  folder;
  #lock;

  /** Opens or begins it; a run with other settings is refused, so a margin stands before the results are known. */
  constructor(folder, settings) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.#takeLock();
    const file = join(folder, "run.json");
    if (!existsSync(file)) {
      writeFileSync(file, `${JSON.stringify({ ...settings, begunAt: new Date().toISOString() }, null, 1)}\n`);
    }
    this.settings = JSON.parse(readFileSync(file, "utf8"));
    for (const [name, value] of Object.entries(settings)) {
      const begun = JSON.stringify(this.settings[name]);
      if (begun !== JSON.stringify(value)) {
        this.close();
        throw new UsageError(
          `The run in ${folder} began with ${name} ${begun}, not ${JSON.stringify(value)}: go on with that, or name another folder with --out.`,
        );
      }
    }
  }

  /** Two processes on one run would pay for the same task. */
  #takeLock() {
    this.#lock = join(this.folder, "lock");
    if (existsSync(this.#lock) && isAlive(Number(readFileSync(this.#lock, "utf8")))) {
      throw new UsageError(`Another process goes on with the run in ${this.folder}; end it first.`);
    }
    writeFileSync(this.#lock, String(process.pid));
  }

  close() {
    rmSync(this.#lock, { force: true });
  }

  /** The records of all tasks that are settled. */
  get records() {
    const file = join(this.folder, "journal.jsonl");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  add(record) {
    appendFileSync(join(this.folder, "journal.jsonl"), `${JSON.stringify(record)}\n`, { flush: true });
  }

  /** The folder of one session or task under one arm, and what is in it. */
  place(name, arm) {
    const at = (part) => join(this.folder, `${name}-${arm}`, part);
    const folders = { workFolder: at("work"), agentFolder: at("agent"), sessionFolder: at("sessions") };
    return {
      ...folders,
      callsFile: at("calls.jsonl"),
      isNew: !existsSync(at("ready")),
      markReady: () => writeFileSync(at("ready"), ""),
    };
  }
}

function isAlive(pid) {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
