// The commands after `/strata`, and what each does.

import { panelText, statusText } from "./panel.mjs";
import { show } from "./show.mjs";

/** Each word after `/strata`: its description, and a function that returns the answer: a text, or a text and its kind. */
const COMMANDS = {
  "": ["shows the last request, what was cut and why", panelText],
  show: ["lists what was cut; /strata show 3 shows the third whole", show],
  now: [
    "cuts before the next request, as on a cold cache: for the end of a task",
    (session) => session.cut(),
  ],
  status: ["lists every option in force and where it comes from", statusText],
  pause: ["sends requests whole, until /strata resume", pause],
  resume: ["edits requests again", resume],
};
const PAUSED = "pi-strata paused: requests are sent whole until /strata resume.";
export const DESCRIPTION = `what the context holds, what was cut and why; ${Object.keys(COMMANDS).slice(1).join(", ")}`;

/** A complete word gets no completion: else Enter takes it, and only a second Enter runs the command. */
export function completions(prefix) {
  return Object.entries(COMMANDS)
    .filter(([name]) => name.startsWith(prefix) && name !== prefix)
    .map(([name, [description]]) => ({ value: name, label: name, description }));
}

/** Runs one command of `session` and shows its answer. */
export async function runCommand(session, argument) {
  const [word, ...more] = argument.trim().split(/\s+/);
  const [, run] = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : ["", unknown];
  try {
    const told = await run(session, ...more);
    if (told !== undefined) session.tell(...[told].flat());
  } catch (error) {
    session.tell(`pi-strata: ${error.message}`, "warning");
  }
}

function unknown() {
  const names = Object.keys(COMMANDS).map((name) => `/strata ${name}`.trim());
  return [`There is ${names.join(", ")}.`, "warning"];
}

async function pause(session) {
  session.pause(true);
  const warning = await session.wholeWarning();
  return warning === undefined ? PAUSED : [`${PAUSED} ${warning}`, "warning"];
}

function resume(session) {
  session.pause(false);
  return "pi-strata edits requests again.";
}
