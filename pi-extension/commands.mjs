// The commands after `/strata`, and what each does.

import { panelText, statusText } from "./panel.mjs";
import { switchOff } from "./settings.mjs";
import { show } from "./show.mjs";

/** Each word after `/strata`: its description, and a function that returns the answer: a text, or a text and its kind. */
const COMMANDS = {
  "": ["shows the last request, what was cut and why", panelText],
  show: ["lists what was cut; /strata show 3 opens the third", show],
  now: [
    "cuts before the next request, as on a cold cache: for the end of a task",
    (session) => session.cut(),
  ],
  status: ["lists every option in force and where it comes from", statusText],
  pause: ["sends requests whole, until /strata resume", switchEdits],
  resume: ["edits requests again", switchEdits],
  off: ["the same for every session to come, until /strata on", switchEdits],
  on: ["edits requests again, in every session", switchEdits],
};
/** Confirmation of each switch. */
const SWITCHED = {
  pause: "pi-strata paused: requests are sent whole until /strata resume.",
  resume: "pi-strata edits requests again.",
  off: "pi-strata is off, in later sessions too, until /strata on.",
  on: "pi-strata is on.",
};
export const DESCRIPTION = `what the context holds, what was cut and why; ${Object.keys(COMMANDS).slice(1).join(", ")}`;

/** A complete word gets no completion: else Enter takes it, and only a second Enter runs the command. */
export function completions(prefix) {
  return Object.entries(COMMANDS)
    .filter(([name]) => name.startsWith(prefix) && name !== prefix)
    .map(([name, [description]]) => ({ value: name, label: name, description }));
}

/** Runs one command of `session` and shows its answer. */
export async function runCommand(session, argument) {
  const [word, what] = argument.trim().split(/\s+/);
  const [, run] = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : ["", unknown];
  try {
    const told = await run(session, what, word);
    if (told !== undefined) session.tell(...[told].flat());
  } catch (error) {
    session.tell(`pi-strata: ${error.message}`, "warning");
  }
}

function unknown() {
  const names = Object.keys(COMMANDS).map((name) => `/strata ${name}`.trim());
  return [`There is ${names.join(", ")}.`, "warning"];
}

async function switchEdits(session, _what, word) {
  const isPaused = word === "pause" || word === "off";
  if (word === "on" || word === "off") switchOff(isPaused);
  session.pause(isPaused);
  const warning = isPaused ? await session.wholeWarning() : undefined;
  return warning === undefined ? SWITCHED[word] : [`${SWITCHED[word]} ${warning}`, "warning"];
}
