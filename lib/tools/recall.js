// The tool by which the model reads back what was summarised: it looks its handle up among the tool results that the
// agent still holds. Reading and searching run on a worker; the transcript crosses in batches, newest first.
"use strict";

const { Shapes } = require("../shapes/index.js");
const { native } = require("../native/native.js");
const { Batch, joinedText } = require("../hook/snapshot.js");
const { hookOptions, recallOptions } = require("../contract.js");

const NAME = "recall";
/** UTF-16 units of a page where the model asks for no other size, and of the largest. */
const PAGE_CHARS = recallOptions.recallPageChars.default;
const MAX_PAGE_CHARS = recallOptions.recallMaxPageChars.default;
const MAX_CHARS = 0xffff_ffff;
/** Longest pattern that is looked for, in UTF-16 units: more is no pattern a model writes. */
const MAX_PATTERN_CHARS = 1_000;
/** Text that crosses to a worker in one go, in UTF-16 units. */
const BATCH_UNITS = 1024 * 1024;
/** Handles named when the model asks for one that does not exist. */
const NAMED_HANDLES = 10;
/** Shorter results are never summarised by default, so nobody asks for them. UTF-16 units. */
const MIN_NAMED_CHARS = hookOptions.minSummaryChars.default;

const DESCRIPTION =
  "Read the original of a tool result that was shortened. Shortened results hold a marker line that ends with a " +
  "handle of eight characters. Reads a page of characters from `offset`; with `pattern` (a regular expression) it " +
  "lists the matching places instead, each with the offset to read at.";

const PARAMETERS = {
  type: "object",
  properties: {
    handle: { type: "string", description: "The handle at the end of the marker line" },
    offset: { type: "integer", minimum: 0, description: "First character to read or search; default 0" },
    limit: {
      type: "integer",
      minimum: 1,
      description: `Characters to read; default ${PAGE_CHARS}, at most ${MAX_PAGE_CHARS}`,
    },
    pattern: { type: "string", description: "Regular expression to search for, without look-around" },
  },
  required: ["handle"],
};

function createRecallTool(messages) {
  if (typeof messages !== "function") {
    throw new TypeError("createRecallTool: messages must be a function that returns the agent's messages");
  }
  const shapes = new Shapes();
  return {
    name: NAME,
    label: "Recall",
    description: DESCRIPTION,
    parameters: PARAMETERS,
    async execute(_toolCallId, params, signal) {
      const query = queryOf(params);
      const held = messages();
      const all = Array.isArray(held) ? shapes.read(held) : [];
      const [results, pages] = toolResults(all);
      const first = await lookUp(results, query, signal);
      if (first.found !== undefined) return answer(query.handle, first.found);
      const own = await lookUp(pages, query, signal);
      if (own.found === undefined) return notFound(query.handle, results, first.handles, wasCompacted(all));
      // A page that was itself shortened: what it was a page of says more.
      const source = sourceOf(own.message, query);
      const { found } = source === undefined ? {} : await lookUp(results, source, signal);
      return found === undefined ? answer(query.handle, own.found) : answer(source.handle, found);
    },
  };
}

/** The question of the model, made sound: a model writes numbers as text and handles with what stood around them. */
function queryOf(params) {
  const { handle, offset, limit, pattern } = params ?? {};
  const text = String(handle ?? "").trim();
  return {
    handle: /\b[0-9a-f]{8}\b/.exec(text)?.[0] ?? text,
    offset: wholeNumber(offset, 0),
    limit: wholeNumber(limit, PAGE_CHARS),
    pattern: typeof pattern === "string" && pattern !== "" ? pattern.slice(0, MAX_PATTERN_CHARS) : undefined,
  };
}

function wholeNumber(value, fallback) {
  const number = Math.floor(Number(value ?? fallback));
  return number >= 0 ? Math.min(number, MAX_CHARS) : fallback;
}

/** The tool results, newest first: those of other tools, and the pages that this one has read. */
function toolResults(messages) {
  const results = messages.filter((message) => message?.role === "toolResult").reverse();
  return [
    results.filter(({ toolName }) => toolName !== NAME),
    results.filter(({ toolName }) => toolName === NAME),
  ];
}

function wasCompacted(messages) {
  return messages.some((message) => message?.role === "compactionSummary");
}

/** The query for what a page was read of; undefined where it does not say. */
function sourceOf({ content, details }, query) {
  const [, start] = /^\[characters (\d+) to /.exec(joinedText(content)) ?? [];
  if (details?.found !== true || typeof details.handle !== "string" || start === undefined) return undefined;
  return { ...query, handle: details.handle, offset: Math.min(Number(start) + query.offset, MAX_CHARS) };
}

/** The answer and the message that it was found in; else the handles of all results. */
async function lookUp(results, { handle, offset, limit, pattern }, signal) {
  let handles = [];
  for (let from = 0; from < results.length; ) {
    signal?.throwIfAborted?.();
    const batch = new Batch();
    let to = from;
    for (; to < results.length && batch.units < BATCH_UNITS; to += 1) batch.add(results[to]);
    const { numbers, strings } = batch;
    const { found, handles: own } = await native().recall(numbers, strings, handle, offset, limit, pattern);
    if (found) return { found, message: results[from + own.length - 1] };
    handles = handles.concat(own);
    from = to;
  }
  return { handles };
}

function answer(handle, { text, toolName, chars, next, matches }) {
  const details = {
    found: true,
    handle,
    toolName,
    chars,
    next: next ?? null,
    ...(matches != null && { matches }),
  };
  return { content: [{ type: "text", text }], details };
}

function notFound(handle, results, handles, isCompacted) {
  const named = results
    .map(({ toolName, content }, i) => ({ toolName, chars: joinedText(content).length, handle: handles[i] }))
    .filter(({ chars }) => chars > MIN_NAMED_CHARS)
    .slice(0, NAMED_HANDLES)
    .map(({ toolName, chars, handle }) => `${handle} (${toolName}, ${chars} characters)`);
  const gone = isCompacted
    ? "The conversation was compacted: what came before that is only in its summary, and must be read or run again. "
    : "";
  const none = isCompacted
    ? "No result since then is long enough to have been shortened."
    : "No result here is long enough to have been shortened.";
  const text =
    `There is no tool result with the handle ${JSON.stringify(handle.slice(0, 100))}. ${gone}A handle has eight ` +
    "characters and stands at the end of the marker line of a shortened result. " +
    (named.length === 0 ? none : `The newest are:\n${named.join("\n")}`);
  return { content: [{ type: "text", text }], details: { found: false, handle } };
}

module.exports = { createRecallTool };
