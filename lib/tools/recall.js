// The tool by which the model reads back shortened tool results. It finds the result of a handle among the agent's messages,
// and returns a page of its text or the matches of a pattern. Handles are hashes, which a worker computes, newest messages
// first.
"use strict";

const { hookOptions } = require("../contract.js");
const { Batch, joinedText } = require("../hook/snapshot.js");
const { native } = require("../native/native.js");
const { Shapes } = require("../shapes/index.js");
const { splitsPair } = require("../shapes/text.js");

/** The tool as the model sees it. A page has `pageChars` UTF-16 units by default, at most `mostPageChars`; its text says so, too. */
const { tool: TOOL, pageChars: PAGE_CHARS, mostPageChars: MAX_PAGE_CHARS } = require("./recall.json");
/** Size of the text handed to a worker at a time, in UTF-16 units. */
const BATCH_UNITS = 1024 * 1024;
/** Longest pattern, in UTF-16 units; the rest is ignored. */
const MAX_PATTERN_CHARS = 1_000;
/** Most matches in one answer, and the UTF-16 units shown on each side of one. */
const MAX_MATCHES = 50;
const AROUND_CHARS = 200;
/** Number of handles that the answer to an unknown handle names. */
const NAMED_HANDLES = 10;
/** UTF-16 units. Shorter results are not summarised by default, so they are not named. */
const MIN_NAMED_CHARS = hookOptions.minSummaryChars.default;

function createRecallTool(messages) {
  if (typeof messages !== "function") {
    throw new TypeError("createRecallTool: messages must be a function that returns the agent's messages");
  }
  const shapes = new Shapes();
  return {
    ...TOOL,
    async execute(_toolCallId, params, signal) {
      const query = queryOf(params);
      const held = messages();
      const all = Array.isArray(held) ? shapes.read(held) : [];
      const results = all.filter((message) => message?.role === "toolResult").reverse();
      const { found, handles } = await lookUp(results, query.handle, signal);
      const answer = found === undefined ? notFound(query.handle, results, handles) : read(found, query);
      const { text, ...details } = answer;
      return { content: [{ type: "text", text }], details };
    },
  };
}

/** The model's query, normalised: models write numbers as text, and handles with words around them. */
function queryOf(params) {
  const { handle, offset, limit, pattern } = params ?? {};
  const text = String(handle ?? "").trim();
  return {
    handle: /\b[0-9a-f]{8}\b/.exec(text)?.[0] ?? text,
    offset: wholeNumber(offset, 0),
    limit: Math.min(Math.max(wholeNumber(limit, PAGE_CHARS), 2), MAX_PAGE_CHARS),
    // The texts between the stars.
    parts: typeof pattern === "string" ? pattern.slice(0, MAX_PATTERN_CHARS).split("*").filter(Boolean) : [],
  };
}

function wholeNumber(value, fallback) {
  const number = Math.floor(Number(value ?? fallback));
  return number >= 0 ? Math.min(number, Number.MAX_SAFE_INTEGER) : fallback;
}

/** Finds the result with this handle, or of the call with this id. Returns all handles if there is none. */
async function lookUp(results, wanted, signal) {
  const handles = [];
  while (handles.length < results.length) {
    signal?.throwIfAborted?.();
    const batch = new Batch();
    for (let at = handles.length; at < results.length && batch.units < BATCH_UNITS; at += 1)
      batch.add(results[at]);
    handles.push(...(await native().handles(batch)));
    const at = handles.findIndex((handle, i) => handle === wanted || results[i].toolCallId === wanted);
    if (at !== -1) return { found: results[at] };
  }
  return { handles };
}

function read({ content, toolName }, { handle, offset, limit, parts }) {
  const whole = joinedText(content);
  const start = betweenPairs(whole, Math.min(offset, whole.length));
  const found = parts.length > 0 ? search(whole, start, parts) : page(whole, start, limit);
  return { found: true, handle, toolName, chars: whole.length, ...found };
}

/** A page of up to `limit` units from `start` on. It ends after a line if a line ends in its second half. */
function page(whole, start, limit) {
  let end = betweenPairs(whole, Math.min(start + limit, whole.length));
  const line = whole.lastIndexOf("\n", end - 1) + 1;
  if (end < whole.length && line - start > (end - start) / 2) end = line;
  const left = whole.length - end;
  const more = left > 0 ? `\n[${left} more characters; go on with offset ${end}]` : "";
  const text = `[characters ${start} to ${end} of ${whole.length}]\n${whole.slice(start, end)}${more}`;
  return { text, offset: start, next: left > 0 ? end : null };
}

/** The matches from `start` on, each with its surroundings in the line. */
function search(whole, start, parts) {
  const shown = [];
  let [chars, next] = [0, null];
  for (const { hit, excerpt } of matches(whole, start, parts)) {
    chars += excerpt.length;
    if (shown.length === MAX_MATCHES || chars > MAX_PAGE_CHARS) {
      next = hit;
      break;
    }
    shown.push(excerpt);
  }
  const head = `[matches from character ${start} on; @N is an offset to read at]`;
  const none = `[no match from character ${start} on; the text has ${whole.length} characters]`;
  const more = next === null ? [] : [`[more matches; go on with offset ${next}]`];
  const text = shown.length === 0 ? none : [head, ...shown, ...more].join("\n");
  return { text, next, matches: shown.length };
}

/** Yields the matches from `start` on: the parts follow each other in one line. */
function* matches(whole, start, [first, ...others]) {
  for (let hit = whole.indexOf(first, start); hit !== -1; ) {
    const newline = whole.indexOf("\n", hit);
    const lineEnd = newline === -1 ? whole.length : newline;
    let end = hit + first.length;
    for (const part of others) {
      const found = whole.slice(end, lineEnd).indexOf(part);
      end = found === -1 ? -1 : end + found + part.length;
      if (end === -1) break;
    }
    // A later start in this line finds no more.
    let shownTo = lineEnd + 1;
    if (end !== -1) {
      const line = whole.lastIndexOf("\n", hit - 1) + 1;
      const from = betweenPairs(whole, Math.max(Math.min(line, hit), hit - AROUND_CHARS));
      shownTo = betweenPairs(whole, Math.min(lineEnd, Math.min(end, hit + AROUND_CHARS) + AROUND_CHARS));
      yield { hit, excerpt: `@${from}: ${whole.slice(from, shownTo)}` };
    }
    hit = whole.indexOf(first, Math.max(shownTo, hit + 1));
  }
}

/** `at`, or one unit earlier if it splits a surrogate pair. */
const betweenPairs = (text, at) => (splitsPair(text, at) ? at - 1 : at);

function notFound(handle, results, handles) {
  const named = results.flatMap(({ toolName, content }, i) => {
    const chars = joinedText(content).length;
    const isNamed = chars > MIN_NAMED_CHARS && toolName !== TOOL.name;
    return isNamed ? [`${handles[i]} (${toolName}, ${chars} characters)`] : [];
  });
  const none = "No result here is long enough to have been shortened.";
  const newest = `The newest are:\n${named.slice(0, NAMED_HANDLES).join("\n")}`;
  const text =
    `There is no tool result with the handle ${JSON.stringify(handle.slice(0, 100))}. A handle has eight characters and ` +
    `stands at the end of the marker line of a shortened result. ${named.length === 0 ? none : newest}`;
  return { text, found: false, handle };
}

module.exports = { createRecallTool };
