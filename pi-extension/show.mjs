// `/strata show`: the edited messages of the latest request, each with the file or command it is about, and the text it had.

import { whole } from "../lib/cli/numbers.mjs";
import { readable } from "../lib/inspector/text.js";
import { callsIn } from "../lib/shapes/text.js";
import { ACTIONS, NO_REQUEST } from "./panel.mjs";
import { read, table } from "./screen.mjs";

/** Lists the cuts, or opens the original of the one with this number. */
export async function show(session, what) {
  const { messages } = await session.latest();
  if (messages.length === 0) return NO_REQUEST;
  const cuts = await cutsOf(messages, session);
  if (cuts.length === 0) return "Nothing is cut.";
  if (what === undefined) return listOf(cuts);
  const cut = cuts.find(({ nth }) => String(nth) === what);
  if (cut === undefined) return [`There is no cut ${what.slice(0, 40)}; /strata show lists them.`, "warning"];
  const title = `${cut.subject}: ${cut.done}, ${cut.reason}`;
  const { hasUI, ui } = session.ctx;
  return hasUI && (await read(ui, title, cut.text)) ? undefined : `${title}\n\n${cut.text}`;
}

function listOf(cuts) {
  const rows = cuts.map(({ nth, saved, done, subject }) => [nth, saved, done, subject]);
  const list = table(["cut", "saved", "what was done", "file or command"], rows);
  return [...list, "", `Oldest first. /strata show ${cuts.length} opens the last one at its top.`].join("\n");
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
  const given = Object.values(call.arguments ?? {}).flat();
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
