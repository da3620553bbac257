// The commands after `/strata`, and what each does. The panel itself is in panel.mjs.

import { whole } from "../lib/cli/numbers.mjs";
import { OWN_TYPE } from "../lib/cli/recording/pi.mjs";
import { read, table } from "./screen.mjs";
import { switchOff } from "./settings.mjs";

/** Rows of one page of `/strata show`. */
const PAGE_ROWS = 40;
/** Most UTF-16 units of an original that a notice shows, if there is no screen to read it on. */
const MAX_SHOWN_UNITS = 20_000;

/** Each word after `/strata` with its description. `run` returns what the user is told, as `[kind, text]`. */
const COMMANDS = {
  show: { says: "lists what was cut; /strata show 3 opens the third", run: show },
  now: { says: "cuts before the next request, as on a cold cache: for the end of a task", run: now },
  status: {
    says: "lists every option in force and where it comes from",
    run: ({ session }) => ["info", session.status()],
  },
  pause: { says: "sends requests whole, until /strata resume", run: pause },
  resume: { says: "edits requests again", run: resume },
  off: { says: "the same for every session to come, until /strata on", run: pause },
  on: { says: "edits requests again, in every session", run: resume },
};
/** Confirmation of each switch. */
const SWITCHED = {
  pause: "pi-strata paused: requests are sent whole until /strata resume.",
  resume: "pi-strata edits requests again.",
  off: "pi-strata is off, in later sessions too, until /strata on.",
  on: "pi-strata is on.",
};
export const DESCRIPTION = `what the context holds, what was cut and why; ${Object.keys(COMMANDS).join(", ")}`;

/** A complete word gets no completion: else Enter takes it, and only a second Enter runs the command. */
export function completions(prefix) {
  return Object.entries(COMMANDS)
    .filter(([name]) => name.startsWith(prefix) && name !== prefix)
    .map(([name, { says }]) => ({ value: name, label: name, description: says }));
}

/** Runs one command of `session`; returns what the user is told, as `[kind, text]`. */
export async function answer(argument, session, ctx, pi) {
  const [word, what] = argument.split(/\s+/);
  if (word === "") return ["info", await session.panel()];
  if (Object.hasOwn(COMMANDS, word)) return COMMANDS[word].run({ word, what, session, ctx, pi });
  const names = Object.keys(COMMANDS).map((name) => `, /strata ${name}`);
  return ["warning", `There is /strata${names.join("")}.`];
}

async function pause({ word, session }) {
  if (word === "off") switchOff(true);
  session.pause(true);
  const warning = await session.wholeWarning();
  return warning === undefined ? ["info", SWITCHED[word]] : ["warning", `${SWITCHED[word]} ${warning}`];
}

function resume({ word, session }) {
  if (word === "on") switchOff(false);
  session.pause(false);
  return ["info", SWITCHED[word]];
}

/** Notes the time in the session file, so that a restarted process decides the same. */
async function now({ session, pi }) {
  const cutAt = Date.now();
  const told = await session.cut(cutAt);
  pi.appendEntry?.(OWN_TYPE, { cutAt });
  return ["info", told];
}

async function show({ what, session, ctx }) {
  const cuts = await session.cuts();
  if (cuts === undefined) return ["info", "pi-strata has seen no request of this session yet."];
  if (cuts.length === 0) return ["info", "Nothing is cut."];
  const range = /^(\d+)-(\d+)$/.exec(what ?? "");
  if (what === undefined || range !== null) return ["info", page(cuts, range)];
  const cut = cuts.find(({ nth, handle }) => String(nth) === what || handle === what);
  if (cut === undefined) return ["warning", `There is no cut ${what.slice(0, 40)}; /strata show lists them.`];
  const title = `${cut.subject}: ${cut.done}, ${cut.reason}`;
  if (ctx.hasUI && (await read(ctx.ui, title, cut.text))) return undefined;
  const isLong = cut.text.length > MAX_SHOWN_UNITS;
  return ["info", `${title}\n\n${isLong ? `${cut.text.slice(0, MAX_SHOWN_UNITS)}\n…` : cut.text}`];
}

/** One page of cuts: a range of rows, or the newest ones. */
function page(cuts, range) {
  const [, from = cuts.length - PAGE_ROWS + 1, to = cuts.length] = range?.map(Number) ?? [];
  const rows = cuts.filter(({ nth }) => nth >= from && nth <= to);
  if (rows.length === 0) return `There are ${cuts.length} cuts; /strata show lists the newest.`;
  const [first, last] = [rows[0].nth, rows.at(-1).nth];
  const others = pagesBeside(first, last, cuts.length).map((name) => `/strata show ${name}`);
  const cells = rows.map(({ nth, subject, done, tokensSaved, handle = "" }) => [
    String(nth),
    subject,
    done,
    whole(tokensSaved),
    handle,
  ]);
  return [
    ...table(["cut", " file or command", " what was done", "saved", "handle"], cells),
    "",
    `Cuts ${first} to ${last} of ${cuts.length}, oldest first.${others.length > 0 ? ` More: ${others.join(", ")}.` : ""}`,
    `/strata show ${last} opens one at its top; /strata show and a handle does so, too.`,
  ].join("\n");
}

/** The ranges before and after a page. */
function pagesBeside(first, last, count) {
  const pages = [];
  if (first > 1) pages.push(`${Math.max(1, first - PAGE_ROWS)}-${first - 1}`);
  if (last < count) pages.push(`${last + 1}-${Math.min(count, last + PAGE_ROWS)}`);
  return pages;
}
