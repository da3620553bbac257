// Runs the experiment: each session under each arm, task after task, from where the journal says it stands.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { billOf, readCalls, spentOn } from "./calls.mjs";
import { RunFailure } from "./journal.mjs";
import { Pi } from "./pi.mjs";

/** A task that takes longer is stopped, and what is there decides. */
const TASK_TIMEOUT_MS = 30 * 60_000;

/** Said to a session that was cut off within a task. */
const GO_ON = "You were interrupted. Go on with the task.";

/** Code units of a request that tell it from the others of a session. */
const TOLD_BY = 40;

/** Errors that mean the request was longer than the model takes: the arm's doing, not the provider's. */
const TOO_LONG =
  /too long|too large|context.{0,20}(length|window|limit)|maximum.{0,30}tokens|token count.{0,30}exceeds/i;

/** The run has spent what it may. */
export class LimitReached extends Error {}

/**
 * Goes on with the run of `journal` until all tasks are settled. A session is `{ name, seed, arms, prepare(folder), tasks }`, its
 * arms in the order they run, and a task `{ id, request, outcomeOf(folder) }`. `limits` are `{ dollars, steps }`, `access` is
 * `{ baseUrl, keyVariable }` for a server of one's own; `onTask` is told each record.
 */
export async function goOn(journal, sessions, { onTask, ...how }) {
  const spent = new Map();
  for (const session of sessions) {
    for (const [place, arm] of session.arms.entries()) {
      const isOwn = (record) => record.session === session.name && record.arm === arm;
      const records = journal.records.filter(isOwn);
      const open = session.tasks.slice(records.length);
      if (open.length === 0) continue;
      const run = new ArmRun(journal, { sessions, session, arm, place, spent, ...how });
      await run.settle(open, records, onTask);
    }
  }
}

/** One session under one arm. */
class ArmRun {
  #journal;
  /** `{ sessions, session, arm, place, limits, access, pi }`; `spent` holds dollars of other runs, by the file of their calls. */
  #how;
  #files;
  #pi;
  /** Calls that belong to tasks already settled, and dollars of all of the run's other sessions. */
  #settled = 0;
  #elsewhere = 0;
  #last;
  #task;
  #failure;

  constructor(journal, how) {
    this.#journal = journal;
    this.#how = how;
    this.#files = journal.place(how.session.name, how.arm);
  }

  async settle(tasks, records, onTask) {
    await this.#start();
    this.#resume(records);
    try {
      for (const task of tasks) {
        this.#checkDollars();
        await this.#work(task);
        const record = this.#recordOf(task);
        this.#journal.add(record);
        onTask(record);
      }
    } finally {
      await this.#pi.end();
    }
  }

  async #start() {
    const { workFolder, sessionFolder, isNew, markReady } = this.#files;
    if (isNew) {
      this.#how.session.prepare(workFolder);
      markReady();
    }
    const how = {
      script: this.#how.pi.script,
      access: this.#how.access,
      seed: this.#how.session.seed,
      continues: existsSync(sessionFolder) && readdirSync(sessionFolder).length > 0,
    };
    this.#pi = await Pi.open(this.#files, this.#how.arm, this.#journal.settings, how, {
      event: (event) => this.#watch(event),
      call: () => this.#mayCall(),
    });
  }

  /** Puts together what was spent and settled before this process. */
  #resume(records) {
    const calls = readCalls(this.#files.callsFile);
    this.#settled = records.reduce((sum, { bill }) => sum + bill.calls, 0);
    this.#last = billOf(calls.slice(0, this.#settled), this.#pi.prices).last;
    const places = this.#how.sessions.flatMap(({ name, arms }) =>
      arms.map((arm) => this.#journal.place(name, arm).callsFile),
    );
    const others = places.filter((file) => file !== this.#files.callsFile);
    this.#how.spent.delete(this.#files.callsFile);
    this.#elsewhere = others.reduce((sum, file) => sum + this.#dollarsIn(file), 0);
  }

  /** Of another run, which does not grow meanwhile. */
  #dollarsIn(file) {
    if (!this.#how.spent.has(file)) this.#how.spent.set(file, spentOn(readCalls(file), this.#pi.prices));
    return this.#how.spent.get(file);
  }

  #spent() {
    return this.#elsewhere + spentOn(readCalls(this.#files.callsFile), this.#pi.prices);
  }

  #checkDollars() {
    if (this.#spent() >= this.#how.limits.dollars) throw new LimitReached();
  }

  async #work(task) {
    this.#task = { steps: 0, startedMs: Date.now(), stop: undefined, error: undefined, isInterrupted: false };
    const state = stateOf(task, this.#files.sessionFolder);
    const timer = setTimeout(() => this.#stop("time"), TASK_TIMEOUT_MS);
    try {
      if (state.isBegun) {
        this.#task.isInterrupted = true;
        this.#task.steps = state.steps;
        // An answer that ended the task was paid for; only its record is missing.
        if (!state.isDone) await this.#pi.prompt(GO_ON);
      } else await this.#pi.prompt(task.request);
    } finally {
      clearTimeout(timer);
    }
    if (this.#failure !== undefined) {
      throw new RunFailure(
        `The arm ${this.#how.arm} does not work, so nothing is compared: ${this.#failure}`,
      );
    }
    if (this.#task.stop === "dollars") throw new LimitReached();
    const { error } = this.#task;
    if (error !== undefined && !TOO_LONG.test(error)) {
      throw new RunFailure(
        `The provider failed in ${task.id} under ${this.#how.arm}: ${error.replace(/\.+$/, "")}. Run again to go on.`,
      );
    }
  }

  #watch(event) {
    const { type, message } = event;
    const failure = failureIn(event);
    if (failure !== undefined) {
      this.#failure ??= failure;
      return;
    }
    if (type !== "message_end" || message.role !== "assistant" || this.#task === undefined) return;
    const { stopReason, errorMessage } = message;
    if (stopReason === "aborted") return;
    if (stopReason !== "error" && readCalls(this.#files.callsFile).length === 0) {
      this.#failure =
        "this provider's calls do not go through fetch, so they can be neither metered nor limited";
      this.#stop("failure");
      return;
    }
    this.#task.steps += 1;
    this.#task.error = stopReason === "error" ? (errorMessage ?? "an error without words") : undefined;
  }

  /** Between two calls all is written down and no tool runs: the place to stop. */
  #mayCall() {
    if (this.#failure !== undefined) this.#stop("failure");
    else if (this.#spent() >= this.#how.limits.dollars) this.#stop("dollars");
    else if (this.#task.steps >= this.#how.limits.steps) this.#stop("steps");
    return this.#task.stop === undefined;
  }

  #stop(why) {
    this.#task.stop ??= why;
    this.#pi.ask("abort").catch(() => {});
  }

  #recordOf(task) {
    const calls = readCalls(this.#files.callsFile).slice(this.#settled);
    const { bill, last } = billOf(calls, this.#pi.prices, this.#last);
    this.#settled += calls.length;
    this.#last = last;
    const { steps, startedMs, stop, error, isInterrupted } = this.#task;
    return {
      session: this.#how.session.name,
      arm: this.#how.arm,
      place: this.#how.place,
      task: task.id,
      ...task.outcomeOf(this.#files.workFolder),
      steps,
      bill,
      seconds: Math.round((Date.now() - startedMs) / 1000),
      ...(stop !== undefined && { stop }),
      ...(error !== undefined && { error }),
      ...(isInterrupted && { isInterrupted }),
    };
  }
}

/** An extension that threw, or ours saying that it is off: then the arm is another one than its name. */
function failureIn({ type, error, statusText, message }) {
  if (type === "extension_error") return String(error);
  const said = type === "extension_ui_request" ? (statusText ?? message) : undefined;
  return typeof said === "string" && /ERR_[A-Z_]+/.test(said) ? said : undefined;
}

/** How far pi's own session file says a task is: whether it was asked for, steps taken since, and whether it ended. */
function stateOf(task, sessionFolder) {
  const [name] = readdirSync(sessionFolder);
  if (name === undefined) return { isBegun: false };
  const lines = readFileSync(join(sessionFolder, name), "utf8").split("\n");
  const entries = lines.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const asked = messages.findLastIndex(
    ({ role, content }) => role === "user" && textOf(content).startsWith(task.request.slice(0, TOLD_BY)),
  );
  if (asked === -1) return { isBegun: false };
  const since = messages
    .slice(asked + 1)
    .filter(({ role, stopReason }) => role === "assistant" && stopReason !== "aborted");
  return { isBegun: true, steps: since.length, isDone: messages.at(-1).stopReason === "stop" };
}

function textOf(content) {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");
}
