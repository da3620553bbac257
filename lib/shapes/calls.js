// Reads tool calls of pi, of sessions and of OpenAI, with their arguments as JSON.
"use strict";

const { randomBytes } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { json } = require("../hook/snapshot.js");

/** Name of an unknown tool. */
const UNKNOWN = "unknown";

/** Placeholder for -0: JSON can hold -0, but JSON.stringify writes 0. */
const MINUS_ZERO = `-0 ${randomBytes(9).toString("base64url")}`;

/** Writes JSON that keeps -0. */
function written(value) {
  let hasMinusZero = false;
  const text = JSON.stringify(value, (_, inner) => {
    if (!Object.is(inner, -0)) return inner;
    hasMinusZero = true;
    return MINUS_ZERO;
  });
  return hasMinusZero ? text.replaceAll(JSON.stringify(MINUS_ZERO), "-0") : text;
}

/** Returns the id, the name and the arguments (as JSON) of a call. */
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
