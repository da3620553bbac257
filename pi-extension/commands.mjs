// The commands after `/strata`, and what each does.

import { cutsOf } from "./cuts.mjs";
import { NO_REQUEST, panelText, statusText } from "./panel.mjs";
import { read, table } from "./screen.mjs";
import { switchOff } from "./settings.mjs";

/** Rows of one page of `/strata show`. */
const PAGE_ROWS = 40;
/** Most UTF-16 units of an original that a notice shows, if there is no screen to read it on. */
const MAX_SHOWN_UNITS = 20_000;

/** Each word after `/strata`: its description, and a function that returns what the user is told. */
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

/** Runs one command of `session` and shows its answer: a text for information, or `{ warning }`. */
export async function runCommand(session, argument) {
  const [word, what] = argument.trim().split(/\s+/);
  const [, run] = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : ["", unknown];
  try {
    const told = await run(session, what, word);
    if (told?.warning !== undefined) session.tell(told.warning, "warning");
    else if (told !== undefined) session.tell(told);
  } catch (error) {
    session.tell(`pi-strata: ${error.message}`, "warning");
  }
}

function unknown() {
  const names = Object.keys(COMMANDS).map((name) => `/strata ${name}`.trim());
  return { warning: `There is ${names.join(", ")}.` };
}

async function switchEdits(session, _what, word) {
  const isPaused = word === "pause" || word === "off";
  if (word === "on" || word === "off") switchOff(isPaused);
  session.pause(isPaused);
  const warning = isPaused ? await session.wholeWarning() : undefined;
  return warning === undefined ? SWITCHED[word] : { warning: `${SWITCHED[word]} ${warning}` };
}

async function show(session, what) {
  const { messages } = await session.latest();
  if (messages.length === 0) return NO_REQUEST;
  const cuts = await cutsOf(session);
  if (cuts.length === 0) return "Nothing is cut.";
  const range = /^(\d+)-(\d+)$/.exec(what ?? "");
  if (what === undefined || range !== null) return page(cuts, range?.slice(1).map(Number));
  const cut = cuts.find(({ nth, handle }) => String(nth) === what || handle === what);
  if (cut === undefined) return { warning: `There is no cut ${what.slice(0, 40)}; /strata show lists them.` };
  const title = `${cut.subject}: ${cut.done}, ${cut.reason}`;
  const { hasUI, ui } = session.ctx;
  if (hasUI && (await read(ui, title, cut.text))) return undefined;
  const isLong = cut.text.length > MAX_SHOWN_UNITS;
  return `${title}\n\n${isLong ? `${cut.text.slice(0, MAX_SHOWN_UNITS)}\n…` : cut.text}`;
}

/** A page of cuts, by default the newest ones. */
function page(cuts, [from, to] = [cuts.length - PAGE_ROWS + 1, cuts.length]) {
  const rows = cuts.filter(({ nth }) => nth >= from && nth <= to);
  if (rows.length === 0) return `There are ${cuts.length} cuts; /strata show lists the newest.`;
  const [first, last] = [rows[0].nth, rows.at(-1).nth];
  const others = [
    [Math.max(1, first - PAGE_ROWS), first - 1],
    [last + 1, Math.min(cuts.length, last + PAGE_ROWS)],
  ]
    .filter(([start, end]) => start <= end)
    .map(([start, end]) => `/strata show ${start}-${end}`);
  const cells = rows.map(({ nth, subject, done, saved, handle = "" }) => [nth, subject, done, saved, handle]);
  return [
    ...table(["cut", " file or command", " what was done", "saved", "handle"], cells),
    "",
    `Cuts ${first} to ${last} of ${cuts.length}, oldest first.${others.length > 0 ? ` More: ${others.join(", ")}.` : ""}`,
    `/strata show ${last} opens one at its top; /strata show and a handle does so, too.`,
  ].join("\n");
}
