// Tool calls in pi's form, ours or OpenAI's, and their arguments as JSON.
"use strict";

const { randomBytes } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { json } = require("../hook/snapshot.js");

/** Name of a tool whose call is not in the list. */
const UNKNOWN = "unknown";

/** Stands for -0 until the text is written: JSON can say -0, and JSON.stringify does not. */
const MINUS_ZERO = `-0 ${randomBytes(9).toString("base64url")}`;

/** JSON that keeps -0. */
function written(value) {
  let hasMinusZero = false;
  const text = JSON.stringify(value, (_, inner) => {
    if (!Object.is(inner, -0)) return inner;
    hasMinusZero = true;
    return MINUS_ZERO;
  });
  return hasMinusZero ? text.replaceAll(JSON.stringify(MINUS_ZERO), "-0") : text;
}

/** A tool call in pi's form, ours or OpenAI's: its id, its name and its arguments as JSON. */
function readCall(call) {
  const named = call?.function ?? call;
  const given = named?.argumentsText ?? named?.arguments;
  const text = typeof given === "string" ? given : argumentsText(given === undefined ? {} : given);
  return { id: String(call?.id ?? ""), name: String(named?.name ?? UNKNOWN), arguments: text };
}

function argumentsText(given) {
  try {
    return written(given);
  } catch {
    return json(given);
  }
}

module.exports = { UNKNOWN, readCall, written };
