// Groups of messages: a tool call and its results stay together. Takes messages of sessions, of pi and of OpenAI.
"use strict";

const { answeredId, callsIn, isResult } = require("./text.js");

/** Returns for each message the index of the first one in its group: for a result, its call. */
function groupStarts(messages) {
  const callers = new Map();
  return messages.map((message, index) => {
    for (const call of callsIn(message)) callers.set(String(call?.id ?? ""), index);
    const caller = isResult(message) ? callers.get(String(answeredId(message) ?? "")) : undefined;
    return caller ?? index;
  });
}

/** Moves `start` back until no group begins before it and ends between it and `end`. */
function withCalls(starts, start, end = starts.length) {
  let from = start;
  for (let index = end - 1; index >= from; index -= 1) from = Math.min(from, starts[index]);
  return from;
}

module.exports = { groupStarts, withCalls };
