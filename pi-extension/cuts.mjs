// The edited messages of a request, for `/strata show`: each with the file or command it is about, and the text it had.

import { whole } from "../lib/cli/numbers.mjs";
import { readable } from "../lib/inspector/text.js";
import { callsIn } from "../lib/shapes/text.js";
import { sentOf } from "./compaction.mjs";
import { ACTIONS } from "./panel.mjs";
import { PATH_ARGUMENTS } from "./paths.mjs";
import { clipped } from "./screen.mjs";

/** Arguments that say what a call was about, the most telling first. */
const SUBJECT_ARGUMENTS = [...PATH_ARGUMENTS, "command", "cmd", "pattern", "query", "url", "handle"];

/** The cuts of the latest request, oldest first. */
export async function cutsOf(session) {
  const latest = await session.latest();
  const { messages } = latest;
  const { edits } = await session.explain(messages);
  const seen = sentOf(latest);
  const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, call]));
  return edits
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, action, reason, tokensSaved }, at) => ({
      nth: at + 1,
      subject: clipped(subjectOf(messages[index], calls)),
      done: ACTIONS[action] ?? action,
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
  return readable(message).trim() === ""
    ? errorMessage || (stopReason === "aborted" ? "(empty, aborted)" : "(empty)")
    : readable(message);
}

function argumentOf(given) {
  const values = SUBJECT_ARGUMENTS.map((name) => given?.[name]);
  const value = values.find((each) => Array.isArray(each) || (typeof each === "string" && each !== ""));
  return (Array.isArray(value) ? value.join(" ") : value) ?? JSON.stringify(given) ?? "";
}

const handleIn = (message) => /(?:handle: |句柄：)([0-9a-f]{8})/.exec(readable(message ?? {}))?.[1];
