// `/strata show`: the edited messages of the latest request, each with the file or command it is about, and the text it had.

import { whole } from "../lib/cli/numbers.mjs";
import contract from "../lib/contract.js";
import { readable } from "../lib/inspector/text.js";
import { callsIn } from "../lib/shapes/text.js";
import { sentOf } from "./compaction.mjs";
import { NO_REQUEST } from "./panel.mjs";
import { PATH_ARGUMENTS } from "./paths.mjs";
import { clipped, read, table } from "./screen.mjs";

const { actionWords } = contract;
/** Rows of one page of the list. */
const PAGE_ROWS = 40;
/** Most UTF-16 units of an original that a notice shows, if there is no screen to read it on. */
const MAX_SHOWN_UNITS = 20_000;
/** Arguments that identify a call, the most specific first. */
const SUBJECT_ARGUMENTS = [...PATH_ARGUMENTS, "command", "cmd", "pattern", "query", "url", "handle"];

/** Lists the cuts, or opens the original of one that its number or handle names. */
export async function show(session, what) {
  const latest = await session.latest();
  if (latest.messages.length === 0) return NO_REQUEST;
  const cuts = await cutsOf(latest, session);
  if (cuts.length === 0) return "Nothing is cut.";
  const range = /^(\d+)-(\d+)$/.exec(what ?? "");
  if (what === undefined || range !== null) return page(cuts, range?.slice(1).map(Number));
  const cut = cuts.find(({ nth, handle }) => String(nth) === what || handle === what);
  if (cut === undefined) return [`There is no cut ${what.slice(0, 40)}; /strata show lists them.`, "warning"];
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
    ...table(["cut", "file or command", "what was done", "saved", "handle"], cells),
    "",
    `Cuts ${first} to ${last} of ${cuts.length}, oldest first.${others.length > 0 ? ` More: ${others.join(", ")}.` : ""}`,
    `/strata show ${last} opens one at its top; /strata show and a handle does so, too.`,
  ].join("\n");
}

/** The cuts of a request, oldest first. */
async function cutsOf(latest, session) {
  const { messages } = latest;
  const { edits } = await session.explain(messages);
  const seen = sentOf(latest);
  const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, call]));
  return edits
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, action, reason, tokensSaved }, at) => ({
      nth: at + 1,
      subject: clipped(subjectOf(messages[index], calls)),
      done: actionWords[action].en,
      reason,
      saved: whole(tokensSaved),
      handle: handleIn(seen(messages[index])),
      text: textOf(messages[index]),
    }));
}

/** One line that says which message it is: a tool and its file or command, else the role and the first words. */
function subjectOf(message, calls) {
  const call = calls.get(message.toolCallId) ?? callsIn(message)[0];
  if (call !== undefined) return `${call.name} ${argumentOf(call.arguments).trim()}`.trimEnd();
  return `${message.toolName ?? message.role}: ${textOf(message).trim()}`;
}

/** The text of a message; a note for an answer that failed or was aborted before its first word. */
function textOf(message) {
  const { errorMessage, stopReason } = message;
  const text = readable(message);
  if (text.trim() !== "") return text;
  return errorMessage || (stopReason === "aborted" ? "(empty, aborted)" : "(empty)");
}

function argumentOf(given) {
  const values = SUBJECT_ARGUMENTS.map((name) => given?.[name]);
  const value = values.find((each) => Array.isArray(each) || (typeof each === "string" && each !== ""));
  return (Array.isArray(value) ? value.join(" ") : value) ?? JSON.stringify(given) ?? "";
}

const handleIn = (message) => /(?:handle: |句柄：)([0-9a-f]{8})/.exec(readable(message ?? {}))?.[1];
