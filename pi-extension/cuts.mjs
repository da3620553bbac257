// The edited messages of a request, for `/strata show`: each with the file or command it is about, and the text it had.

import { readable } from "../lib/inspector/text.js";
import { callsIn } from "../lib/shapes/text.js";
import { ACTIONS } from "./panel.mjs";
import { clipped } from "./screen.mjs";
import { PATH_ARGUMENTS } from "./settings.mjs";

/** Other arguments that say what a call was about, the most telling first. */
const SUBJECT_ARGUMENTS = ["command", "cmd", "pattern", "query", "url", "handle"];

/** The edits that `explained` names, oldest first; `seen` returns the sent form of a message. */
export function cutsOf(messages, { edits }, seen) {
  const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, call]));
  return edits
    .map((edit) => ({ ...edit, message: messages[edit.index] }))
    .sort((a, b) => a.index - b.index)
    .map(({ action, reason, tokensSaved, message }, at) => ({
      nth: at + 1,
      subject: clipped(subjectOf(message, calls), Number.POSITIVE_INFINITY),
      done: ACTIONS[action] ?? action,
      reason,
      tokensSaved,
      handle: handleIn(seen(message).message),
      text: readable(message) || emptyNote(message),
    }));
}

/** One line that says which message it is: a tool and its file or command, else the role and the first words. */
function subjectOf(message, calls) {
  const call = calls.get(message.toolCallId) ?? callsIn(message)[0];
  if (call !== undefined) return `${call.name} ${argumentOf(call.arguments).trim()}`.trimEnd();
  return `${message.toolName ?? message.role}: ${readable(message).trim() || emptyNote(message)}`;
}

/** Stands for a message without text: an answer that failed or was aborted before its first word. */
function emptyNote({ errorMessage, stopReason }) {
  return errorMessage || (stopReason === "aborted" ? "(empty, aborted)" : "(empty)");
}

function argumentOf(given) {
  for (const name of [...PATH_ARGUMENTS, ...SUBJECT_ARGUMENTS]) {
    const value = given?.[name];
    if (typeof value === "string" && value !== "") return value;
    if (Array.isArray(value)) return value.join(" ");
  }
  return given === undefined ? "" : JSON.stringify(given);
}

function handleIn(message) {
  return /(?:handle: |句柄：)([0-9a-f]{8})/.exec(message ? readable(message) : "")?.[1];
}
