// `/strata show`: the edited messages of the latest request, each with the file or command it is about, and the text it had.

import { whole } from "../lib/cli/numbers.mjs";
import { printable } from "../lib/cli/terminal.mjs";
import { readable } from "../lib/inspector/text.js";
import { callsIn } from "../lib/shapes/text.js";
import { ACTIONS, NO_REQUEST } from "./panel.mjs";
import { clipped, noticeColumns, pieces, table } from "./screen.mjs";

/** Rows of the terminal that a page leaves to its title, its hint and pi's footer. */
const PAGE_MARGIN = 14;
const LEAST_ROWS = 5;
const USUAL_ROWS = 24;
/** Arguments that say what a call was about, the most telling first. */
const SUBJECT_ARGUMENTS = ["path", "file_path", "filePath", "file", "command", "pattern", "query", "url"];

/** Lists the cuts, or shows a page of the original of the one with this number. */
export async function show(session, what, page = "1") {
  const { messages } = await session.latest();
  if (messages.length === 0) return NO_REQUEST;
  const cuts = await cutsOf(messages, session);
  if (cuts.length === 0) return "Nothing is cut.";
  if (what === undefined) return listOf(cuts);
  const cut = cuts.find(({ nth }) => String(nth) === what);
  if (cut === undefined) return [`There is no cut ${what.slice(0, 40)}; /strata show lists them.`, "warning"];
  return pageOf(cut, Math.max(1, Number.parseInt(page, 10) || 1));
}

/** A page of an original, small enough that its top is on the screen. */
function pageOf({ nth, subject, done, reason, text }, asked) {
  const lines = text
    .trimEnd()
    .split("\n")
    .flatMap((line) => pieces(printable(line), noticeColumns()));
  const rows = Math.max(LEAST_ROWS, (process.stdout.rows || USUAL_ROWS) - PAGE_MARGIN);
  const pages = Math.ceil(lines.length / rows);
  const page = Math.min(asked, pages);
  const more = page < pages ? ` /strata show ${nth} ${page + 1} shows the next.` : "";
  return [
    clipped(`${done}, ${reason}: ${printable(subject)}`),
    "",
    ...lines.slice((page - 1) * rows, page * rows),
    "",
    `Page ${page} of ${pages}.${more}`,
  ].join("\n");
}

function listOf(cuts) {
  const rows = cuts.map(({ nth, saved, done, subject }) => [nth, saved, done, subject]);
  const list = table(["cut", "saved", "what was done", "file or command"], rows);
  return [...list, "", `Oldest first. /strata show ${cuts.length} shows the last one.`].join("\n");
}

/** The cuts of a request, oldest first. */
async function cutsOf(messages, session) {
  const { edits } = await session.explain(messages);
  const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, call]));
  return edits
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, action, reason, tokensSaved }, at) => ({
      nth: at + 1,
      subject: subjectOf(messages[index], calls).split("\n", 1)[0],
      done: ACTIONS[action] ?? action,
      reason,
      saved: whole(tokensSaved),
      text: textOf(messages[index]),
    }));
}

/** A text whose first line says which message it is: a tool and what it was called with, else the role and the first words. */
function subjectOf(message, calls) {
  const call = calls.get(message.toolCallId) ?? callsIn(message)[0];
  if (call === undefined) return `${message.toolName ?? message.role}: ${textOf(message).trim()}`;
  const named = typeof call.arguments === "string" ? [call.arguments] : (call.arguments ?? {});
  const first = SUBJECT_ARGUMENTS.map((name) => named[name]).filter((value) => value !== undefined);
  const given = [...first, ...Object.values(named).filter((value) => !first.includes(value))].flat();
  const words = given.map((value) => (typeof value === "string" ? value.trim() : JSON.stringify(value)));
  return `${call.name} ${words.join(" ")}`;
}

/** The text of a message; a note for an answer that failed or was aborted before its first word. */
function textOf(message) {
  const { errorMessage, stopReason } = message;
  const text = readable(message);
  if (text.trim() !== "") return text;
  return errorMessage || (stopReason === "aborted" ? "(empty, aborted)" : "(empty)");
}
